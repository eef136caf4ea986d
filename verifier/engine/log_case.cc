// See log_case.h.
#include "verifier/engine/log_case.h"

#include <algorithm>
#include <array>

#include "verifier/engine/settings.h"
#include "verifier/engine/spec_view.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxDevices = 256;
constexpr std::size_t kMaxSpecNodes = 256;

// Soft-RoCE and Soft-iWARP name their devices so unless an administrator renames them.
struct SoftwareName {
  std::string_view prefix, driver;
};
constexpr std::array kSoftware{SoftwareName{"rxe", "rdma_rxe"}, SoftwareName{"siw", "siw"}};

std::string_view softwareDriver(std::string_view device) {
  for (const SoftwareName& s : kSoftware)
    if (device.starts_with(s.prefix)) return s.driver;
  return {};
}

// In bytes; nothing for a text that is no limit.
std::optional<std::uint64_t> limitBytes(std::string_view kib) {
  if (sameWord(kib, "unlimited")) return MemLock::kUnlimited;
  const auto n = numberValue(kib);
  if (!n || *n < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*n) << 10;
}

// The tightest of those shown: one rank that cannot register is enough.
void addLockedMemory(const JobFacts& job, NodeFacts& node) {
  std::optional<std::uint64_t> soft, hard;
  const auto least = [](std::optional<std::uint64_t>& to, std::uint64_t n) {
    const bool tighter = !to || n < *to;
    if (tighter) to = n;
    return tighter;
  };
  for (const Setting& fact : job.hostFacts) {
    const bool isSoft = fact.name == "ulimit -l";
    if (!isSoft && fact.name != "ulimit -Hl") continue;
    const auto bytes = limitBytes(fact.value);
    if (!bytes) continue;
    // The hard limit binds where no soft one is shown.
    const bool first = !soft;
    if (isSoft ? least(soft, *bytes) : least(hard, *bytes) && first)
      node.memlock.source = fact.source;
  }
  if (!soft && !hard) return;
  node.memlock.known = true;
  node.memlock.softBytes = soft ? *soft : *hard;
  node.memlock.hardBytes = hard ? *hard : *soft;
}

void addSettings(const JobFacts& job, const std::vector<SpecSetting>& from, NodeFacts& node) {
  for (const SpecSetting& s : from) {
    if (!s.valueKnown) continue;
    Setting setting{s.name, s.value, job.source(s.at)};
    const auto known = std::find_if(node.settings.begin(), node.settings.end(),
                                    [&](const Setting& have) { return have.name == s.name; });
    if (known == node.settings.end())
      node.settings.push_back(std::move(setting));
    else
      *known = std::move(setting);  // what a command exports wins over the container's env
  }
}

std::string version(const JobFacts& job, const ProcessLog& process) {
  if (!process.ncclVersion.empty()) return process.ncclVersion;
  return job.log.versions.size() == 1 ? job.log.versions.front() : std::string();
}

}  // namespace

int versionCode(std::string_view version) noexcept {
  std::array<int, 3> parts{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t from = at;
    for (; at < version.size() && version[at] >= '0' && version[at] <= '9'; ++at)
      if (parts[i] < 1000) parts[i] = parts[i] * 10 + (version[at] - '0');
    if (at == from) return 0;
    if (i + 1 < parts.size() && (at >= version.size() || version[at++] != '.')) return 0;
  }
  const auto [major, minor, patch] = parts;
  return major > 2 || minor > 8 ? major * 10000 + minor * 100 + patch
                                : major * 1000 + minor * 100 + patch;
}

NodeFacts nodeOfInput(const JobFacts& job) {
  NodeFacts node;
  node.settings = job.settings;
  addLockedMemory(job, node);
  return node;
}

namespace {

bool asksForEfa(const SpecContainer& container) {
  return std::any_of(container.limits.begin(), container.limits.end(), [](const SpecQuantity& q) {
    return resourceKind(q.key) == ResourceKind::Efa;
  });
}

// On EFA it switches off what is not used, and many set it.
void dropIbDisable(NodeFacts& node) {
  std::erase_if(node.settings, [](const Setting& s) { return s.name == "NCCL_IB_DISABLE"; });
}

}  // namespace

std::vector<NodeFacts> nodesOfSpecs(const JobFacts& job) {
  std::vector<NodeFacts> nodes;
  const auto keep = [&nodes](NodeFacts node) {
    if (!node.settings.empty() && nodes.size() < kMaxSpecNodes) nodes.push_back(std::move(node));
  };
  for (const SpecRole& role : job.specs.roles)
    for (const SpecContainer& container : role.containers) {
      if (container.kind != ContainerKind::Main) continue;
      NodeFacts node;
      node.hostname = cat("container ", container.name, role.role.empty() ? "" : " of ", role.role);
      node.container = "kubernetes";
      addSettings(job, container.env, node);
      addSettings(job, container.command.settings, node);
      if (asksForEfa(container) || ofEfa(container.env) || ofEfa(container.command.settings))
        dropIbDisable(node);
      keep(std::move(node));
    }
  for (const BatchScript& script : job.specs.scripts) {
    NodeFacts node;
    node.hostname = cat("the script ", job.source(Place{script.at.file, 0}));
    addSettings(job, script.shell.settings, node);
    if (ofEfa(script.shell.settings)) dropIbDisable(node);
    keep(std::move(node));
  }
  return nodes;
}

NodeFacts nodeOfProcess(const JobFacts& job, const ProcessLog& process) {
  NodeFacts node;
  node.hostname = process.host;
  for (std::size_t i = 0; i < process.settings.size(); ++i) {
    node.settings.push_back(process.settings[i]);
    node.settings.back().echoed = true;
    if (i < process.settingsAt.size())
      node.settings.back().source = job.source(process.settingsAt[i]);
  }
  for (const Setting& s : job.settings)
    if (!find(node.settings, s.name)) node.settings.push_back(s);
  addLockedMemory(job, node);
  for (const ListedDevice& listed : process.devices) {
    if (node.devices.size() >= kMaxDevices) break;
    RdmaDevice device;
    device.name = listed.name;
    device.kernelDriver = softwareDriver(listed.name);
    device.software = !device.kernelDriver.empty();
    device.source = job.source(process.deviceListAt);
    node.devices.push_back(std::move(device));
  }
  if (process.libibverbsFailed) {
    node.loader.state = VerbsLoader::State::Missing;
    node.loader.opened = true;
  }
  return node;
}

Selection selectionOf(const JobFacts& job, const CommNet& comm, const RankNet& rank) {
  const ProcessLog& p = *rank.process;
  Selection s;
  // A network that was asked for and not found leaves everything to explain.
  s.transport = rank.net.transport == Transport::None ? Transport::Unknown : rank.net.transport;
  if (comm.engaged == Engaged::NotNeeded) s.transport = Transport::None;
  s.certainty = rank.certainty;
  s.transportSource = job.source(rank.at);
  if (s.transport == Transport::External) s.externalName = rank.net.name;
  if (!p.devices.empty())
    s.ibDevices = static_cast<int>(p.devices.size());
  else if (p.noDevice)
    s.ibDevices = 0;
  else if (p.libibverbsFailed)
    s.ibDevices = kIbDevicesUninitialised;
  s.socketUsed = rank.net.transport == Transport::Socket && comm.netEdges;
  s.nNodes = comm.nNodes;
  s.nRanks = comm.nRanks;
  s.rank = rank.rank();
  s.ncclVersion = versionCode(version(job, p));
  s.gdr = rank.gdr == GdrState::Disabled ? Gdr::None : Gdr::Unknown;
  std::uint64_t used = 0;
  if (rank.comm)
    for (const NetEdges& e : rank.comm->edges) used |= e.devicesUsed;
  int group = -1;
  for (const ListedDevice& d : p.devices) {
    if (s.devices.size() >= kMaxDevices) break;
    if (d.index >= 0) group = d.index;
    DeviceInUse device;
    device.name = d.name;
    device.port = d.port;
    device.linkLayer = d.linkLayer;
    device.connected = group >= 0 && group < 64 && ((used >> group) & 1u) != 0;
    s.devices.push_back(std::move(device));
  }
  return s;
}

Selection selectionOf(const LogVerdict& log) {
  Selection s;
  s.transport = log.net.transport == Transport::None && log.engaged != Engaged::NotNeeded
                    ? Transport::Unknown
                    : log.net.transport;
  s.externalName = s.transport == Transport::External ? log.net.name : std::string();
  s.certainty = Certainty::Told;
  s.nNodes = log.nodes;
  s.gdr = log.gdr == GdrState::Disabled ? Gdr::None : Gdr::Unknown;
  for (const CommNet& comm : log.comms)
    for (const RankNet& rank : comm.ranks) {
      if (!rank.net.decided()) continue;
      ++s.ranksSeen;
      s.ranksOffRdma += rank.net.standing == Standing::OffRdma ? 1 : 0;
    }
  return s;
}

}  // namespace rdmaguard::engine
