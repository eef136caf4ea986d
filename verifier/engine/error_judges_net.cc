// See error_judges_net.h.
#include "verifier/engine/error_judges_net.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kShown = 4;
// Buffers of one communicator are tens of megabytes; the kernel's own default limits are 64 kB and
// 8 MB. Below this the limit may bind, above it hardly.
constexpr double kAmpleKb = 1024.0 * 1024;

}  // namespace

Judged linesTell(const ErrorCase& c, const ErrorGroup& g) {
  Judged j{Support::Supports, {}, {}, {}};
  for (const Event* e : g.events) {
    if (j.supporting.size() == kShown) break;
    j.supporting.push_back(c.evidence(*e));
  }
  return j;
}

Judged eventTells(const ErrorCase& c, const Event* e) {
  return e ? Judged{Support::Supports, {c.evidence(*e)}, {}, {}} : Judged{};
}

Judged settingTells(const ErrorCase& c, const Setting* s) {
  return s ? Judged{Support::Supports, {c.evidence(*s)}, {}, {}} : Judged{};
}

Judged findingTells(const ErrorCase& c, std::string_view id) {
  const Finding* f = c.finding(id);
  return f ? Judged{Support::Supports, f->evidence, {}, {}} : Judged{};
}

Judged detailTells(const ErrorCase& c, const ErrorGroup& g, std::string_view part) {
  for (const Event* e : g.events)
    if (e->detail.find(part) != std::string::npos) return eventTells(c, e);
  return {};
}

bool anyTextHas(const ErrorGroup& g, std::string_view part) {
  return std::any_of(g.events.begin(), g.events.end(),
                     [&](const Event* e) { return e->text.find(part) != std::string::npos; });
}

std::size_t nodesTogether(const ErrorGroup& g) {
  std::map<std::string_view, double> first;
  for (const Event* e : g.events) {
    if (e->host.empty() || e->seconds < 0) continue;
    const auto [entry, isNew] = first.try_emplace(e->host, e->seconds);
    if (!isNew) entry->second = std::min(entry->second, e->seconds);
  }
  double begin = -1;
  for (const auto& [host, at] : first) begin = begin < 0 ? at : std::min(begin, at);
  std::size_t nodes = 0;
  for (const auto& [host, at] : first) nodes += at - begin <= kTogetherS ? 1 : 0;
  return nodes;
}

bool onSeveralNodesAtOnce(const ErrorCase& /*c*/, const ErrorGroup& g) {
  return nodesTogether(g) >= kSeveralNodes;
}

Judged severalNodesAtOnce(const ErrorCase& c, const ErrorGroup& g) {
  return onSeveralNodesAtOnce(c, g) ? linesTell(c, g) : Judged{};
}

std::optional<long> numberOf(const Setting* s) {
  if (!s || s->value.empty()) return std::nullopt;
  char* end = nullptr;
  const long n = std::strtol(s->value.c_str(), &end, 0);  // as NCCL reads it
  if (end == s->value.c_str() || *end != '\0') return std::nullopt;
  return n;
}

bool anyRoce(const ErrorCase& c) {
  for (const ProcessLog& p : c.job.log.processes)
    for (const ListedDevice& d : p.devices)
      if (d.linkLayer == LinkLayer::Ethernet) return true;
  return false;
}

const Place* gdrChannel(const ErrorCase& c) {
  for (const ProcessLog& p : c.job.log.processes)
    for (const CommLog& comm : p.comms)
      for (const NetEdges& edges : comm.edges)
        if (edges.sendsGdr + edges.receivesGdr > 0) return &edges.firstGdr;
  return nullptr;
}

Judged memlockTooSmall(const ErrorCase& c, const ErrorGroup& /*g*/) {
  if (c.finding("memlock-limited")) return findingTells(c, "memlock-limited");
  const Setting* limit = c.fact("ulimit -l");
  if (!limit) return {};
  if (const std::optional<long> kb = numberOf(limit))
    return static_cast<double>(*kb) < kAmpleKb ? settingTells(c, limit) : Judged{};
  if (limit->value == "unlimited") return {Support::Against, {}, {c.evidence(*limit)}, {}};
  return {};
}

bool followsEndOfProcess(const ErrorCase& c, const ErrorGroup& g) {
  return c.root && c.root != &g && c.root->rule && c.root->rule->depth <= Depth::Process &&
         !g.earlierRun;
}

bool isLocalBridge(std::string_view interface) {
  constexpr std::array<std::string_view, 5> kBridges{"virbr", "docker", "br-", "cni", "veth"};
  return std::any_of(kBridges.begin(), kBridges.end(),
                     [&](std::string_view b) { return interface.starts_with(b); });
}

Judged bootstrapNotRoutable(const ErrorCase& c, const ErrorGroup& /*g*/) {
  std::map<std::string_view, const ProcessLog*> byAddress;
  for (const ProcessLog& p : c.job.log.processes) {
    const auto cite = [&](const ProcessLog& one, std::string said) {
      const Place at = one.bootstrapAt.line > 0 ? one.bootstrapAt : one.deviceListAt;
      return Judged{
          Support::Supports, {{std::move(said), c.job.source(at), Certainty::Told}}, {}, {}};
    };
    for (const std::string& name : {p.bootstrapInterface, p.oobInterface})
      if (isLocalBridge(name))
        return cite(p, cat(p.host.empty() ? std::string("A process") : p.host, " listens on ", name,
                           ", which reaches nothing outside its host."));
    if (p.address.empty() || p.host.empty()) continue;
    const auto [entry, isNew] = byAddress.try_emplace(p.address, &p);
    if (!isNew && entry->second->host != p.host)
      return cite(p, cat(entry->second->host, " and ", p.host, " both give ", p.address,
                         " as their address."));
  }
  return {};
}

}  // namespace rdmaguard::engine
