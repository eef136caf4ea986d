// See exchange.h.
#include "verifier/nccl/exchange.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "verifier/nccl/exchange_meeting.h"
#include "verifier/nccl/exchange_session.h"
#include "verifier/nccl/find_library.h"
#include "verifier/nccl/library.h"
#include "verifier/probe/in_child.h"

namespace rdmaguard::nccl {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kStartLimit{20'000};   // to open NCCL and list its devices
constexpr milliseconds kLeastToStart{5'000};  // whatever the time limit is
constexpr milliseconds kSlack{10'000};        // for what ends by its own limit to say so
constexpr milliseconds kToTellLimit{3'000};   // to tell the other side that this one cannot
// What NCCL prints is cut at lines that begin with this, one for each step.
constexpr std::string_view kCut = "\x1e";

// --- in the child ------------------------------------------------------------------------------

void writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// This side's process: what it does is told to the parent before it is done.
class Child {
 public:
  Child(const ExchangeRequest& request, const Listener* listener, int fd)
      : request_(request), listener_(listener), fd_(fd) {}

  void run(const std::string& library) {
    try {
      open(library);
      meet();
    } catch (const std::exception& e) {
      emit({{"failure", e.what()}});
    }
  }

 private:
  void emit(const Json& fact) {
    writeAll(fd_, fact.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n');
  }

  milliseconds startLimit() const {
    return std::clamp(request_.shape.timeout, kLeastToStart, kStartLimit);
  }

  /// A call that does not come back ends this process at its limit: SIGALRM does it by default.
  void step(const std::string& what, milliseconds most) {
    emit({{"step", what}, {"most_ms", most.count()}});
    std::fflush(nullptr);
    writeAll(STDOUT_FILENO, fmt::format("{}{}\n", kCut, ++steps_));
    itimerval timer{};
    timer.it_value.tv_sec = most.count() / 1000;
    timer.it_value.tv_usec = most.count() % 1000 * 1000;
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }

  void remark(const std::string& text) const {
    if (request_.remarks >= 0)
      writeAll(request_.remarks, fmt::format("rdmaguard preflight: {}\n", text));
  }

  void cannot(const std::string& why, bool cannotTell) {
    hello_.failure = why;
    hello_.cannotTell = cannotTell;
  }

  void open(const std::string& name) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    hello_.host = host.data();
    hello_.shape = request_.shape;
    step("opened " + name, startLimit());
    library_ = openLibrary(name);
    hello_.ncclVersion = library_.version;
    hello_.ncclText = library_.versionText;
    hello_.netAbi = library_.netAbi;
    emit({{"library", library_.path}, {"version", library_.versionText}, {"host", hello_.host}});
    if (!library_)
      cannot(fmt::format("{}: {}", library_.path, library_.failure), true);
    else
      start();
  }

  void start() {
    step("started its IB transport", startLimit());
    if (!startLibrary(library_)) {
      const char* const named = std::getenv("NCCL_SOCKET_IFNAME");
      return cannot(
          fmt::format("NCCL finds no network interface for its own handshake{}.",
                      named != nullptr ? fmt::format(" (NCCL_SOCKET_IFNAME={})", named) : ""),
          false);
    }
    net_ = netAt(library_.ib, library_.netAbi);
    const bool initialised = net_->init(1, logger(), nullptr);
    const int count = initialised ? net_->devices() : 0;
    const char* const disabled = std::getenv("NCCL_IB_DISABLE");
    if (disabled != nullptr && std::atoi(disabled) != 0)
      return cannot(fmt::format("NCCL_IB_DISABLE={} switches NCCL's IB transport off.", disabled),
                    false);
    if (count <= 0)
      return cannot("NCCL finds no HCA here that it can use: rdmaguard preflight names the cause.",
                    false);
    std::string names;
    for (int i = 0; i < count && hello_.hcas.size() < kMostHcas; ++i) {
      const ExchangeHca hca = hcaOf(net_->device(i));
      names += (names.empty() ? "" : ", ") + portName(hca);
      if (!request_.hca.empty() && request_.hca != hca.name && request_.hca != portName(hca))
        continue;
      hello_.hcas.push_back(hca);
      devices_.push_back(i);
    }
    if (hello_.hcas.empty())
      cannot(fmt::format("--hca {} is none of those that NCCL uses here: {}.", request_.hca, names),
             false);
  }

  static ExchangeHca hcaOf(const Device& device) {
    ExchangeHca hca{device.name, device.port, device.speedMbps, ""};
    // NICs that NCCL merged are joined by '+' and share a link layer.
    const std::string first = device.name.substr(0, device.name.find('+'));
    std::ifstream file(
        fmt::format("/sys/class/infiniband/{}/ports/{}/link_layer", first, device.port));
    std::getline(file, hca.linkLayer);
    return hca;
  }

  void meet() {
    const bool able = hello_.failure.empty();
    if (!able) {
      const bool remarked = request_.listens && request_.remarks >= 0;
      emit({{"failure", hello_.failure},
            {"cannot_tell", hello_.cannotTell},
            {"remarked", remarked}});
      if (remarked) remark(hello_.failure + " Waiting, to tell the other side.");
    }
    const milliseconds most = able || request_.listens
                                  ? request_.shape.timeout
                                  : std::min(request_.shape.timeout, kToTellLimit);
    step("waited for the other side", most + kSlack);
    if (request_.listens && able)
      remark(fmt::format("listening at port {} of {} for {}", listener_->port, hello_.host,
                         secondsText(most)));
    try {
      Meeting met = request_.listens
                        ? awaitPeer(*listener_, hello_, Clock::now() + most)
                        : visitPeer(request_.host, request_.port, hello_, Clock::now() + most);
      if (able) work(met);
    } catch (const PeerFailure&) {
      if (able) throw;  // else there is a better reason
    }
  }

  void work(Meeting& met) {
    const ExchangeShape& shape = request_.listens ? met.theirs.shape : hello_.shape;
    emit({{"peer", met.theirs.host},
          {"bytes", shape.bytes},
          {"seconds", shape.seconds},
          {"bidirectional", shape.bidirectional}});
    const std::string disagree = disagreement(hello_, met.theirs);
    if (!disagree.empty()) {
      emit({{"failure", disagree}, {"cannot_tell", met.theirs.cannotTell}});
      return;
    }
    const SessionSide side{hello_, met.theirs, !request_.listens, devices_};
    const bool closed = runSession(
        *net_, met.control, side,
        [this](const std::string& what, milliseconds most) { step(what, most); },
        [this](const HcaResult& r) { emit(asFact(r)); });
    emit({{"done", true}});
    if (!closed) return;
    step("ended", startLimit());
    net_->finalize();
  }

  Json asFact(const HcaResult& r) const {
    return {{"hca", r.name},
            {"port", r.port},
            {"peer_hca", r.peerName},
            {"peer_port", r.peerPort},
            {"line_rate_gbps", r.lineRateGbps},
            {"bandwidth_gbps", r.bandwidthGbps},
            {"latency_us", r.latencyUs},
            {"sent_bytes", r.sentBytes},
            {"received_bytes", r.receivedBytes},
            {"sent_messages", r.sentMessages},
            {"received_messages", r.receivedMessages},
            {"verified", r.verified},
            {"failure_here", r.failure},
            {"at_step", steps_}};
  }

  const ExchangeRequest& request_;
  const Listener* listener_;
  int fd_;
  int steps_ = 0;
  Library library_;
  std::unique_ptr<Net> net_;
  Hello hello_;
  std::vector<int> devices_;
};

// --- in the parent -----------------------------------------------------------------------------

/// NCCL's last warning after the cut of step `step`, without its line header; empty: none.
std::string lastWarning(std::string_view log, int step) {
  constexpr std::string_view kWarn = " NCCL WARN ";
  const auto begin = log.find(fmt::format("{}{}\n", kCut, step));
  if (begin == std::string_view::npos) return "";
  log.remove_prefix(begin + 1);
  log = log.substr(0, log.find(kCut));
  const auto at = log.rfind(kWarn);
  if (at == std::string_view::npos) return "";
  log.remove_prefix(at + kWarn.size());
  return std::string(log.substr(0, std::min(log.find('\n'), std::size_t{300})));
}

struct Told {
  bool done = false;
  bool cannotTell = false;
  std::string step;
  milliseconds stepLimit{0};
  int steps = 0;
};

HcaResult resultOf(const Json& fact) {
  const auto count = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max(0.0, numberOf(fact, key)));
  };
  HcaResult r;
  r.name = textOf(fact, "hca");
  r.port = static_cast<int>(numberOf(fact, "port"));
  r.peerName = textOf(fact, "peer_hca");
  r.peerPort = static_cast<int>(numberOf(fact, "peer_port"));
  r.lineRateGbps = numberOf(fact, "line_rate_gbps");
  r.bandwidthGbps = numberOf(fact, "bandwidth_gbps");
  r.latencyUs = numberOf(fact, "latency_us");
  r.sentBytes = count("sent_bytes");
  r.receivedBytes = count("received_bytes");
  r.sentMessages = count("sent_messages");
  r.receivedMessages = count("received_messages");
  r.verified = flagOf(fact, "verified");
  r.failure = textOf(fact, "failure_here");
  return r;
}

Told takeFacts(const probe::ChildRun& run, ExchangeRun& out) {
  Told told;
  std::string_view rest = run.result;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const Json fact = Json::parse(rest.substr(0, end), nullptr, false);
    rest.remove_prefix(end + 1);
    if (!fact.is_object()) continue;
    if (fact.contains("library")) {
      out.library = textOf(fact, "library");
      out.versionText = textOf(fact, "version");
      out.host = textOf(fact, "host");
    }
    if (fact.contains("step")) {
      told.step = textOf(fact, "step");
      told.stepLimit = milliseconds(std::llround(numberOf(fact, "most_ms")));
      ++told.steps;
    }
    if (fact.contains("peer")) {
      out.peerHost = textOf(fact, "peer");
      out.shape.bytes = static_cast<std::size_t>(numberOf(fact, "bytes", 1));
      out.shape.seconds = numberOf(fact, "seconds");
      out.shape.bidirectional = flagOf(fact, "bidirectional");
    }
    if (fact.contains("hca")) {
      HcaResult r = resultOf(fact);
      const std::string said =
          lastWarning(run.printed, static_cast<int>(numberOf(fact, "at_step")));
      if (!r.failure.empty() && !said.empty()) r.failure += fmt::format(" NCCL says: {}", said);
      out.hcas.push_back(std::move(r));
    }
    if (fact.contains("failure") && out.failure.empty()) {
      out.failure = textOf(fact, "failure");
      told.cannotTell = flagOf(fact, "cannot_tell");
      out.remarked = flagOf(fact, "remarked");
    }
    told.done = told.done || flagOf(fact, "done");
  }
  return told;
}

std::string whyItEnded(const probe::ChildRun& run, const Told& told) {
  if (!run.started) return "No process could be started for NCCL.";
  if (run.timedOut)
    return fmt::format("It did not end within {}, while it {}.",
                       secondsText(std::chrono::duration<double>(run.seconds)), told.step);
  if (run.signal == SIGALRM)
    return fmt::format("It did not come back within {}, while it {}.", secondsText(told.stepLimit),
                       told.step);
  if (run.signal != 0)
    return fmt::format("NCCL's process was ended by signal {} ({}) while it {}.", run.signal,
                       ::strsignal(run.signal), told.step);
  return fmt::format("NCCL's process ended by itself with exit code {} while it {}.", run.exitCode,
                     told.step);
}

std::string withoutCuts(std::string log) {
  for (auto at = log.find(kCut); at != std::string::npos; at = log.find(kCut, at)) {
    const auto end = log.find('\n', at);
    log.erase(at, end == std::string::npos ? end : end - at + 1);
  }
  return log;
}

}  // namespace

ExchangeRun exchange(const ExchangeRequest& request) {
  ExchangeRun out;
  out.shape = request.shape;
  Listener listener;
  try {
    if (request.listens) listener = listenAt(request.port);
  } catch (const PeerFailure& e) {
    out.failure = e.what();
    return out;
  }
  FoundLibrary found{request.library, "as named"};
  if (request.library == "auto") found = findLibrary();
  out.library = found.name;
  out.how = found.how;
  // Each step has a limit of its own in the child; this one is for a child that cannot keep them.
  const milliseconds most = 3 * kStartLimit + kSlack + request.shape.timeout +
                            longestSession(request.listens ? kMostTimeout : request.shape.timeout,
                                           request.listens ? kMostSeconds : request.shape.seconds);
  const probe::ChildRun run = probe::runInChild(most, [&](int fd) {
    // What NCCL says is evidence, and a conf file cannot take it away: the environment goes first.
    ::setenv("NCCL_DEBUG", "INFO", 1);
    ::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,ENV", 1);
    ::setenv("NCCL_DEBUG_FILE", "/dev/stdout", 1);
    ::signal(SIGALRM, SIG_DFL);
    Child(request, &listener, fd).run(found.name);
  });
  const Told told = takeFacts(run, out);
  out.log = withoutCuts(run.printed);
  out.seconds = run.seconds;
  if (out.failure.empty() && !told.done) {
    out.failure = whyItEnded(run, told);
    const std::string said = lastWarning(run.printed, told.steps);
    if (!said.empty()) out.failure += fmt::format(" NCCL says: {}", said);
  }
  if (told.done && out.failure.empty()) out.outcome = ExchangeRun::Outcome::Done;
  if (told.cannotTell) out.outcome = ExchangeRun::Outcome::CannotTell;
  return out;
}

}  // namespace rdmaguard::nccl
