// See case.h.
#include "verifier/engine/case.h"

#include <algorithm>
#include <array>

#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

bool providerMissing(const RdmaDevice& d, const VerbsLoader& loader) {
  if (!loader.providersKnown || d.provider.empty()) return false;
  return std::none_of(loader.providers.begin(), loader.providers.end(),
                      [&](const auto& p) { return p.name == d.provider && !p.library.empty(); });
}

// What libibverbs itself said of the device in a registration test. One that it does not list has
// no driver there, where its node was in order.
bool unlistedByTest(const RdmaDevice& d) {
  return d.registration && d.registration->finished && !d.registration->listed &&
         !d.uverbs.empty() && d.nodePresent && d.openTried && d.openErrno == 0;
}

bool openFails(const RdmaDevice& d) {
  return (d.openTried && d.openErrno != 0) ||
         (d.registration && d.registration->openErrno.value_or(0) != 0);
}

unsigned obstaclesOf(const Case& c, const RdmaDevice& d, const RdmaPort* port) {
  unsigned bits = 0;
  const auto set = [&bits](Obstacle o, bool hit) {
    bits |= static_cast<unsigned>(hit) << static_cast<unsigned>(o);
  };
  set(Obstacle::NoVerbs, d.uverbsKnown && d.uverbs.empty());
  set(Obstacle::NodeMissing, !d.uverbs.empty() && !d.nodePresent);
  set(Obstacle::OpenFailed, openFails(d));
  set(Obstacle::NoProvider, providerMissing(d, c.node.loader) || unlistedByTest(d));
  set(Obstacle::LinkLayer,
      port && port->linkLayer == LinkLayer::Unknown && !port->linkLayerText.empty());
  set(Obstacle::NotActive,
      port && port->state != PortState::Unknown && port->state != PortState::Active);
  set(Obstacle::Filtered, !c.hcaFilter.takes(d.name, port ? port->number : -1));
  return bits;
}

}  // namespace

Case::Case(const NodeFacts& n, const Selection& s, const JobFacts* j) : node(n), seen(s), job(j) {
  hcaSetting = setting("NCCL_IB_HCA");
  if (hcaSetting) hcaFilter = parseNameFilter(hcaSetting->value, kMaxHcaEntries, seen.ncclVersion);
  for (const RdmaDevice& d : node.devices) {
    if (d.ports.empty()) ports.push_back({&d, nullptr, obstaclesOf(*this, d, nullptr)});
    for (const RdmaPort& p : d.ports) ports.push_back({&d, &p, obstaclesOf(*this, d, &p)});
  }
}

const Setting* Case::setting(std::string_view name) const {
  return find(node.settings, name);
}

bool Case::oneNode() const {
  return seen.nNodes == 1 || seen.nRanks == 1 || seen.transport == Transport::None;
}

bool Case::ibWorks() const {
  return seen.ibDevices > 0 || seen.ibUsed || seen.transport == Transport::IB ||
         seen.transport == Transport::RoCE;
}

bool Case::mayBeOff() const {
  if (oneNode()) return false;
  switch (seen.transport) {
    case Transport::Socket:
    case Transport::Unknown:
      return true;
    case Transport::External:
      return externalKind(seen.externalName) == ExternalKind::NotRdma;
    case Transport::None:
    case Transport::IB:
    case Transport::RoCE:
    case Transport::Mixed:
      return false;
  }
  return false;
}

bool Case::blockedAt(Obstacle o) const {
  if (ports.empty()) return false;
  const auto hit = [o](const PortView& p) { return p.hit(o); };
  if (std::all_of(ports.begin(), ports.end(), hit)) return true;
  const auto reaches = [o](const PortView& p) { return p.reaches(o); };
  return std::any_of(ports.begin(), ports.end(), reaches) &&
         std::all_of(ports.begin(), ports.end(),
                     [&](const PortView& p) { return !p.reaches(o) || p.hit(o); });
}

std::vector<const PortView*> Case::stoppedAt(Obstacle o) const {
  std::vector<const PortView*> reached, all;
  for (const PortView& p : ports) {
    if (!p.hit(o)) continue;
    all.push_back(&p);
    if (p.reaches(o)) reached.push_back(&p);
  }
  return reached.empty() ? all : reached;
}

std::vector<const PortView*> Case::usablePorts() const {
  std::vector<const PortView*> out;
  for (const PortView& p : ports)
    if (p.usable()) out.push_back(&p);
  return out;
}

int openErrnoOf(const RdmaDevice& d) {
  if (d.openTried && d.openErrno != 0) return d.openErrno;
  return d.registration ? d.registration->openErrno.value_or(0) : 0;
}

std::string portName(const PortView& p) {
  if (!p.port) return p.device->name;
  // A listing may have lost the line with the name.
  const std::string device = p.device->name.empty() ? "an unnamed device's" : p.device->name;
  return cat(device, " port ", std::to_string(p.port->number));
}

std::vector<std::string> deviceNames(const std::vector<const PortView*>& ports) {
  std::vector<std::string> names;
  for (const PortView* p : ports)
    if (std::find(names.begin(), names.end(), p->device->name) == names.end())
      names.push_back(p->device->name);
  return names;
}

std::string hcaSettingFor(const std::vector<std::string>& names, const NodeFacts& node) {
  if (names.empty()) return {};
  std::string prefix = names.front();
  for (const std::string& n : names) {
    const auto ends = std::mismatch(prefix.begin(), prefix.end(), n.begin(), n.end());
    prefix.erase(ends.first, prefix.end());
  }
  // The number at the end goes, with its underscore; that of "mlx5" belongs to the name.
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (!prefix.ends_with('_'))
    while (!prefix.empty() && isDigit(prefix.back())) prefix.pop_back();
  if (prefix.ends_with('_')) prefix.pop_back();
  const bool takesOthers =
      std::any_of(node.devices.begin(), node.devices.end(), [&](const RdmaDevice& d) {
        return d.name.starts_with(prefix) &&
               std::find(names.begin(), names.end(), d.name) == names.end();
      });
  if (prefix.size() >= 2 && !takesOthers) return prefix;
  std::string exact = "=";
  for (const std::string& n : names) exact += (exact.size() > 1 ? "," : "") + n;
  return exact;
}

std::string undo(const Setting& s) {
  if (s.source == "environment") return cat("unset ", s.name);
  if (s.echoed) return cat("unset ", s.name, " where the job sets it");
  return cat("remove ", s.name, " from ", s.source);
}

bool isNoNet(std::string_view value, const NodeFacts& node) {
  static constexpr std::array kMistakes{"RDMA", "RoCE", "InfiniBand", "verbs",   "ibverbs",
                                        "mlx5", "TCP",  "eth",        "Ethernet"};
  return value.empty() ||
         std::any_of(kMistakes.begin(), kMistakes.end(),
                     [value](const char* word) { return sameWord(value, word); }) ||
         std::any_of(node.devices.begin(), node.devices.end(),
                     [value](const RdmaDevice& d) { return d.name == value; });
}

Evidence settingEvidence(const Setting& s) {
  return {cat(s.name, " is \"", s.value, "\"."), s.source, Certainty::Told};
}

}  // namespace rdmaguard::engine
