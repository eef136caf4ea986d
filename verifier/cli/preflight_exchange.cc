// See preflight_exchange.h.
#include "verifier/cli/preflight_exchange.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "verifier/cli/command.h"
#include "verifier/cli/output.h"
#include "verifier/cli/terminal.h"

namespace rdmaguard::cli {
namespace {

using nccl::ExchangeRun;
using nccl::HcaResult;

std::string portText(const std::string& name, int port) {
  return name.empty() ? "none" : printable(fmt::format("{}:{}", name, port), 80);
}

std::string bytesText(double bytes) {
  constexpr std::array kUnits{"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit > 0 ? 1 : 0, kUnits[unit]);
}

std::string hcaLine(const HcaResult& r, const nccl::ExchangeShape& shape) {
  std::string line = fmt::format("  {:<12} with {:<12} ", portText(r.name, r.port),
                                 portText(r.peerName, r.peerPort));
  if (!r.failure.empty()) return line + "FAILED: " + printable(r.failure, 1000);
  line += fmt::format("{:.2f} Gb/s", r.bandwidthGbps);
  if (shape.bidirectional) line += " each way";
  if (r.lineRateGbps > 0)
    line += fmt::format(" ({:.0f} % of the line's {:g})", 100 * r.bandwidthGbps / r.lineRateGbps,
                        r.lineRateGbps);
  return line + fmt::format(", latency {:.1f} us, {} sent and {} received, all right", r.latencyUs,
                            bytesText(static_cast<double>(r.sentBytes)),
                            bytesText(static_cast<double>(r.receivedBytes)));
}

std::size_t passed(const ExchangeRun& run) {
  return static_cast<std::size_t>(
      std::count_if(run.hcas.begin(), run.hcas.end(),
                    [](const HcaResult& r) { return r.verified && r.failure.empty(); }));
}

int usage(const std::string& sentence) {
  fmt::print(stderr, "rdmaguard preflight: {}\n", sentence);
  return kUsage;
}

bool isBetween(double value, double least, double most) {
  return std::isfinite(value) && value >= least && value <= most;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

nlohmann::ordered_json hcaJson(const HcaResult& r) {
  using Json = nlohmann::ordered_json;
  const auto known = [](double value) { return value > 0 ? Json(value) : Json(); };
  const auto text = [](const std::string& t) { return t.empty() ? Json() : Json(t); };
  return {{"name", text(r.name)},
          {"port", r.name.empty() ? Json() : Json(r.port)},
          {"peer_name", text(r.peerName)},
          {"peer_port", r.peerName.empty() ? Json() : Json(r.peerPort)},
          {"line_rate_gbps", known(r.lineRateGbps)},
          {"bandwidth_gbps", known(r.bandwidthGbps)},
          {"latency_us", known(r.latencyUs)},
          {"bytes", r.sentBytes + r.receivedBytes},
          {"sent_bytes", r.sentBytes},
          {"received_bytes", r.receivedBytes},
          {"sent_messages", r.sentMessages},
          {"received_messages", r.receivedMessages},
          {"verified", r.verified},
          {"failure", text(r.failure)}};
}

}  // namespace

void addExchangeOptions(CLI::App& sub, ExchangeOptions& options) {
  auto* const listen =
      sub.add_option_function<std::string>(
             "--listen",
             [&options](const std::string& text) {
               options.listens = true;
               if (text.empty()) return;
               const auto [end, error] =
                   std::from_chars(text.data(), text.data() + text.size(), options.port);
               if (error != std::errc() || end != text.data() + text.size() || options.port < 0 ||
                   options.port > 65535)
                 throw CLI::ValidationError("--listen", text + " is no port");
             },
             fmt::format("Wait at this TCP port (default {}) for --peer on another node, then "
                         "exchange messages with it through NCCL's own IB transport.",
                         nccl::kExchangePort))
          ->type_name("[PORT]")
          ->expected(0, 1);
  auto* const peer = sub.add_option("--peer", options.peer,
                                    "Exchange messages with --listen on that node, HCA after HCA.")
                         ->type_name("HOST[:PORT]");
  listen->excludes(peer);
  const auto ofExchange = [](CLI::Option* option) { option->group("With --listen or --peer"); };
  ofExchange(
      sub.add_option("--hca", options.hca, "This HCA alone: NAME[:PORT], as NCCL names it."));
  ofExchange(sub.add_option("--bytes", options.bytes,
                            "Bytes of a message, up to 64 MiB; --peer's side decides.")
                 ->transform(CLI::AsSizeValue(false))
                 ->capture_default_str());
  ofExchange(sub.add_option("--seconds", options.seconds,
                            "Seconds to measure each HCA; --peer's side decides.")
                 ->capture_default_str());
  ofExchange(sub.add_option("--timeout", options.timeout,
                            "Seconds without the other side, or without a message, after which "
                            "it, or the HCA, is given up.")
                 ->capture_default_str());
  ofExchange(sub.add_flag("--bidirectional", options.bidirectional,
                          "Measure both ways at once; --peer's side decides."));
}

bool splitPeer(const std::string& peer, std::string& host, int& port) {
  std::string portPart;
  if (peer.starts_with('[')) {
    const auto end = peer.find(']');
    if (end == std::string::npos) return false;
    host = peer.substr(1, end - 1);
    portPart = peer.substr(end + 1);
  } else if (std::count(peer.begin(), peer.end(), ':') > 1) {
    host = peer;  // an IPv6 address
  } else {
    const auto colon = std::min(peer.find(':'), peer.size());
    host = peer.substr(0, colon);
    portPart = peer.substr(colon);
  }
  if (host.empty()) return false;
  if (portPart.empty()) return true;
  if (portPart.front() != ':') return false;
  const char* const end = portPart.data() + portPart.size();
  const auto [at, error] = std::from_chars(portPart.data() + 1, end, port);
  return error == std::errc() && at == end && port > 0 && port <= 65535;
}

std::string exchangeText(const ExchangeRun& run) {
  if (run.hcas.empty()) return "";
  std::string text = fmt::format(
      "NCCL {} on {} and {}: messages of {} bytes through its IB transport, host memory\n",
      printable(run.versionText, 40), printable(run.host, 80), printable(run.peerHost, 80),
      run.shape.bytes);
  for (const HcaResult& r : run.hcas) text += hcaLine(r, run.shape) + '\n';
  return text + fmt::format("{} of {} HCAs moved the right bytes.\n", passed(run), run.hcas.size());
}

std::string exchangeJson(const ExchangeRun& run) {
  using Json = nlohmann::ordered_json;
  const auto text = [](const std::string& t) { return t.empty() ? Json() : Json(t); };
  Json hcas = Json::array();
  for (const HcaResult& r : run.hcas) hcas.push_back(hcaJson(r));
  constexpr std::array kOutcomes{"done", "failed", "cannot_tell"};
  const Json all{{"outcome", kOutcomes.at(static_cast<std::size_t>(run.outcome))},
                 {"exit_code", exchangeExitCode(run)},
                 {"failure", text(run.failure)},
                 {"host", text(run.host)},
                 {"peer_host", text(run.peerHost)},
                 {"library", text(run.library)},
                 {"how", text(run.how)},
                 {"nccl_version", text(run.versionText)},
                 {"message_bytes", run.shape.bytes},
                 {"bidirectional", run.shape.bidirectional},
                 {"seconds", run.seconds},
                 {"hcas", std::move(hcas)},
                 {"log", run.log}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

int exchangeExitCode(const ExchangeRun& run) {
  if (run.outcome == ExchangeRun::Outcome::CannotTell) return 3;
  if (run.outcome == ExchangeRun::Outcome::Failed || passed(run) == 0) return 2;
  return passed(run) == run.hcas.size() ? kOk : 1;
}

int exchange(const ExchangeOptions& options) {
  nccl::ExchangeRequest request;
  request.listens = options.listens;
  request.port = options.port;
  if (!options.listens) {
    request.port = nccl::kExchangePort;
    if (!splitPeer(options.peer, request.host, request.port))
      return usage("--peer " + printable(options.peer) + " is no HOST[:PORT]");
  }
  if (options.bytes < 1 || options.bytes > nccl::kMostMessageBytes)
    return usage("--bytes takes 1 to 64 MiB");
  if (!isBetween(options.seconds, 0, nccl::kMostSeconds)) return usage("--seconds takes 0 to 3600");
  if (!isBetween(options.timeout, 0.1, 3600)) return usage("--timeout takes 0.1 to 3600 seconds");
  request.library = options.nccl.empty() ? "auto" : options.nccl;
  request.hca = options.hca;
  request.shape = {options.bytes, options.seconds, options.bidirectional,
                   milliseconds(options.timeout)};
  ::signal(SIGPIPE, SIG_IGN);
  const nccl::Fd remarks(options.quiet ? -1 : ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  request.remarks = remarks.get();
  const ExchangeRun run = nccl::exchange(request);
  if (!options.quiet && !run.failure.empty() && !run.remarked)
    fmt::print(stderr, "rdmaguard preflight: {}\n", printable(run.failure, 1200));
  if (options.quiet) return exchangeExitCode(run);
  return print(options.json ? exchangeJson(run) : exchangeText(run)) ? exchangeExitCode(run)
                                                                     : kCannotWrite;
}

}  // namespace rdmaguard::cli
