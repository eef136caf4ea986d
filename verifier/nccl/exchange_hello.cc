// See exchange_hello.h.
#include "verifier/nccl/exchange_hello.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verifier/nccl/exchange_control.h"

namespace rdmaguard::nccl {
namespace {

using Json = nlohmann::json;

// Longest name that is taken from the other side: NCCL joins the names of merged NICs.
constexpr std::size_t kMostName = 512;

std::string nameOf(const Json& message, const char* key) {
  std::string text = textOf(message, key);
  if (text.size() > kMostName) text.resize(kMostName);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

double within(double value, double least, double most) {
  return std::isfinite(value) ? std::clamp(value, least, most) : least;
}

ExchangeHca hcaOf(const Json& one) {
  ExchangeHca hca;
  hca.name = nameOf(one, "name");
  hca.port = static_cast<int>(within(numberOf(one, "port"), 0, 255));
  hca.speedMbps = static_cast<int>(within(numberOf(one, "speed_mbps"), 0, 1e9));
  hca.linkLayer = nameOf(one, "link_layer");
  return hca;
}

}  // namespace

std::string portName(const ExchangeHca& hca) {
  return fmt::format("{}:{}", hca.name, hca.port);
}

Json toJson(const Hello& hello) {
  Json hcas = Json::array();
  for (const ExchangeHca& h : hello.hcas)
    hcas.push_back({{"name", h.name},
                    {"port", h.port},
                    {"speed_mbps", h.speedMbps},
                    {"link_layer", h.linkLayer}});
  return {{"is", "hello"},
          {"host", hello.host},
          {"nccl", hello.ncclVersion},
          {"nccl_text", hello.ncclText},
          {"net", hello.netAbi},
          {"hcas", std::move(hcas)},
          {"bytes", hello.shape.bytes},
          {"seconds", hello.shape.seconds},
          {"bidirectional", hello.shape.bidirectional},
          {"timeout_ms", hello.shape.timeout.count()},
          {"failure", hello.failure},
          {"cannot_tell", hello.cannotTell}};
}

std::optional<Hello> helloOf(const Json& message) {
  if (textOf(message, "is") != "hello") return std::nullopt;
  Hello out;
  out.host = nameOf(message, "host");
  out.ncclVersion = static_cast<int>(within(numberOf(message, "nccl"), 0, 1e9));
  out.ncclText = nameOf(message, "nccl_text");
  out.netAbi = static_cast<int>(within(numberOf(message, "net"), 0, 1e6));
  if (const auto all = message.find("hcas"); all != message.end() && all->is_array())
    for (const Json& one : *all)
      if (one.is_object() && out.hcas.size() < kMostHcas) out.hcas.push_back(hcaOf(one));
  out.shape.bytes = static_cast<std::size_t>(
      within(numberOf(message, "bytes"), 1, static_cast<double>(kMostMessageBytes)));
  out.shape.seconds = within(numberOf(message, "seconds"), 0, kMostSeconds);
  out.shape.bidirectional = flagOf(message, "bidirectional");
  out.shape.timeout = std::chrono::milliseconds(static_cast<long long>(
      within(numberOf(message, "timeout_ms"), 100, static_cast<double>(kMostTimeout.count()))));
  out.failure = nameOf(message, "failure");
  out.cannotTell = flagOf(message, "cannot_tell");
  return out;
}

std::string disagreement(const Hello& mine, const Hello& theirs) {
  if (!theirs.failure.empty())
    return fmt::format("The other side ({}) cannot take part: {}", theirs.host, theirs.failure);
  if (mine.ncclVersion != theirs.ncclVersion) {
    const std::string interfaces =
        mine.netAbi == theirs.netAbi
            ? fmt::format("both with net interface v{}", mine.netAbi)
            : fmt::format("net interfaces v{} and v{}", mine.netAbi, theirs.netAbi);
    return fmt::format(
        "NCCL is {} here and {} on the other side ({}), {}: the ranks of a job must load one "
        "release, and only one release's transports are made to understand each other.",
        mine.ncclText, theirs.ncclText, theirs.host, interfaces);
  }
  if (mine.netAbi != theirs.netAbi)
    return fmt::format(
        "NCCL {} has net interface v{} here and v{} on the other side ({}): these are different "
        "builds.",
        mine.ncclText, mine.netAbi, theirs.netAbi, theirs.host);
  if (theirs.hcas.empty())
    return fmt::format("The other side ({}) has no HCA that NCCL can use.", theirs.host);
  return "";
}

std::vector<HcaPair> pairUp(const std::vector<ExchangeHca>& connecting,
                            const std::vector<ExchangeHca>& listening) {
  std::vector<HcaPair> pairs(connecting.size());
  std::vector<bool> taken(listening.size(), false);
  for (std::size_t i = 0; i < connecting.size(); ++i) {
    pairs[i].connecting = static_cast<int>(i);
    for (std::size_t j = 0; j < listening.size() && pairs[i].listening < 0; ++j) {
      if (taken[j] || listening[j].name != connecting[i].name ||
          listening[j].port != connecting[i].port)
        continue;
      pairs[i].listening = static_cast<int>(j);
      taken[j] = true;
    }
  }
  std::size_t next = 0;
  const auto nextFree = [&] {
    while (next < taken.size() && taken[next]) ++next;
    return next < taken.size();
  };
  for (HcaPair& pair : pairs) {
    if (pair.listening >= 0 || !nextFree()) continue;
    pair.listening = static_cast<int>(next);
    taken[next] = true;
  }
  while (nextFree()) {
    pairs.push_back({-1, static_cast<int>(next)});
    taken[next] = true;
  }
  return pairs;
}

}  // namespace rdmaguard::nccl
