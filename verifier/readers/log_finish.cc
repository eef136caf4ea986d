// See log_finish.h.
#include "verifier/readers/log_finish.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rdmaguard::readers::nccl_log {
namespace {

using engine::PluginFailure;

bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

bool saysHowItBegan(const Process& p) {
  return !p.log.networks.empty() || !p.bootstrapAddress.empty() || p.log.deviceListSeen;
}

/// Whether two parts with the same host name and pid, from two files, are one process: a log that
/// was rotated, or one that also went to standard output.
bool sameProcess(const Process& a, const Process& b) {
  if (a.log.file == b.log.file) return false;
  if (differ(a.bootstrapAddress, b.bootstrapAddress) || differ(a.oobAddress, b.oobAddress) ||
      differ(a.socketAddress, b.socketAddress))
    return false;
  if (a.log.launcherRank >= 0 && b.log.launcherRank >= 0 &&
      a.log.launcherRank != b.log.launcherRank)
    return false;
  for (const CommLog& x : a.log.comms)
    for (const CommLog& y : b.log.comms)
      if (!x.id.empty() && x.id == y.id && x.rank != y.rank) return false;
  const bool sameAddress = !a.log.address.empty() && a.log.address == b.log.address;
  return sameAddress || !saysHowItBegan(a) || !saysHowItBegan(b);
}

void joinEdges(CommLog& to, CommLog& from) {
  for (NetEdges& e : from.edges) {
    const auto same = std::find_if(to.edges.begin(), to.edges.end(),
                                   [&](const NetEdges& x) { return x.network == e.network; });
    if (same == to.edges.end()) {
      to.edges.push_back(std::move(e));
      continue;
    }
    same->sends += e.sends;
    same->sendsGdr += e.sendsGdr;
    same->receives += e.receives;
    same->receivesGdr += e.receivesGdr;
    same->pxnSends += e.pxnSends;
    same->devicesUsed |= e.devicesUsed;
    if (!same->firstGdr) same->firstGdr = e.firstGdr;
    if (!same->firstWithoutGdr) same->firstWithoutGdr = e.firstWithoutGdr;
  }
}

void joinPeers(std::vector<int>& to, const std::vector<int>& from) {
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
  if (to.size() > Processes::kMaxPeers) to.resize(Processes::kMaxPeers);
}

void joinComm(CommLog& to, CommLog& from) {
  if (to.pointer.empty()) to.pointer = from.pointer;
  if (to.id.empty()) to.id = from.id;
  if (to.rank < 0) to.rank = from.rank;
  if (to.nRanks == 0) to.nRanks = from.nRanks;
  if (to.nNodes == 0) to.nNodes = from.nNodes;
  if (to.localRanks == 0) to.localRanks = from.localRanks;
  to.mnnvl = to.mnnvl || from.mnnvl;
  to.split = to.split || from.split;
  to.started = to.started || from.started;
  to.complete = to.complete || from.complete;
  to.destroyed = to.destroyed || from.destroyed;
  to.aborted = to.aborted || from.aborted;
  if (to.network.empty()) {
    to.network = from.network;
    to.networkForm = from.networkForm;
    to.networkAt = from.networkAt;
  }
  joinEdges(to, from);
  to.localEdges += from.localEdges;
  to.mnnvlEdges += from.mnnvlEdges;
  to.collNetEdges += from.collNetEdges;
  to.collNetEdgesGdr += from.collNetEdgesGdr;
  joinPeers(to.netPeers, from.netPeers);
  joinPeers(to.localPeers, from.localPeers);
  if (!to.ringGdr) to.ringGdr = from.ringGdr;
  to.opLines += from.opLines;
  if (!from.lastOp.empty()) to.lastOp = from.lastOp;
}

/// The latter part's channel lines belong to the former part's communicator of that rank.
CommLog* counterpart(ProcessLog& p, const CommLog& c) {
  for (CommLog& x : p.comms) {
    const bool named = !c.pointer.empty() && !x.pointer.empty();
    if (named ? x.pointer == c.pointer && !differ(x.id, c.id) : x.rank == c.rank && c.rank >= 0)
      return &x;
  }
  return nullptr;
}

template <typename T>
void joinList(std::vector<T>& to, std::vector<T>& from, std::size_t most) {
  for (T& x : from)
    if (to.size() < most) to.push_back(std::move(x));
}

void joinProcess(Process& to, Process& from) {
  ProcessLog& a = to.log;
  ProcessLog& b = from.log;
  const auto fill = [](std::string& x, std::string& y) {
    if (x.empty()) x = std::move(y);
  };
  const auto place = [](Place& x, Place y) {
    if (!x) x = y;
  };
  fill(a.address, b.address);
  if (a.bootstrapInterface.empty()) a.bootstrapAt = b.bootstrapAt;
  fill(a.bootstrapInterface, b.bootstrapInterface);
  fill(a.oobInterface, b.oobInterface);
  fill(a.ncclVersion, b.ncclVersion);
  fill(a.socketInterfaces, b.socketInterfaces);
  fill(a.ofiProvider, b.ofiProvider);
  place(a.ofiProviderAt, b.ofiProviderAt);
  place(a.noDevice, b.noDevice);
  place(a.libibverbsFailed, b.libibverbsFailed);
  place(a.openFailedAt, b.openFailedAt);
  place(a.socketUsing, b.socketUsing);
  place(a.dmabuf, b.dmabuf);
  if (a.launcherRank < 0) a.launcherRank = b.launcherRank;
  a.rccl = a.rccl || b.rccl;
  for (NetworkLine& n : b.networks) {
    const auto same = std::find_if(a.networks.begin(), a.networks.end(), [&](const auto& x) {
      return x.form == n.form && x.network == n.network;
    });
    if (same == a.networks.end())
      a.networks.push_back(std::move(n));
    else
      same->count += n.count;
  }
  if (a.devices.empty() || a.deviceListCut) {
    if (!b.devices.empty()) {
      a.devices = std::move(b.devices);
      a.deviceListCut = b.deviceListCut;
      a.deviceListNet = std::move(b.deviceListNet);
      a.deviceListAt = b.deviceListAt;
    }
  }
  a.deviceListSeen = a.deviceListSeen || b.deviceListSeen;
  for (std::size_t i = 0; i < b.settings.size(); ++i) {
    const auto same = std::find_if(a.settings.begin(), a.settings.end(),
                                   [&](const auto& x) { return x.name == b.settings[i].name; });
    if (same != a.settings.end()) continue;
    a.settings.push_back(std::move(b.settings[i]));
    a.settingsAt.push_back(b.settingsAt[i]);
  }
  joinList(a.openFailed, b.openFailed, 64);
  joinList(a.hcaGdr, b.hcaGdr, 256);
  joinList(a.pairGdr, b.pairGdr, 64);
  joinList(a.pluginFailures, b.pluginFailures, 8);
  if (a.slowestGbps == 0 || (b.slowestGbps > 0 && b.slowestGbps < a.slowestGbps)) {
    a.slowestGbps = b.slowestGbps;
    a.slowestAt = b.slowestAt;
  }
  for (std::size_t i = 0; i < b.comms.size(); ++i) {
    if (CommLog* same = counterpart(a, b.comms[i])) {
      // Peers and their counts no longer stand side by side.
      const auto index = static_cast<std::size_t>(same - a.comms.data());
      std::map<int, std::uint64_t> counts;
      for (std::size_t k = 0; k < same->localPeers.size(); ++k)
        counts[same->localPeers[k]] += to.localCounts[index][k];
      for (std::size_t k = 0; k < b.comms[i].localPeers.size(); ++k)
        counts[b.comms[i].localPeers[k]] += from.localCounts[i][k];
      joinComm(*same, b.comms[i]);
      to.localCounts[index].clear();
      for (const int peer : same->localPeers) to.localCounts[index].push_back(counts[peer]);
    } else {
      a.comms.push_back(std::move(b.comms[i]));
      to.localCounts.push_back(std::move(from.localCounts[i]));
    }
  }
  a.lines += b.lines;
  a.cut = a.cut || b.cut;
  a.warnLevelOnly = a.warnLevelOnly && b.warnLevelOnly;
  to.netPluginLoaded = to.netPluginLoaded || from.netPluginLoaded;
  place(to.symbolMissing, from.symbolMissing);
}

void joinFiles(std::deque<Process>& processes) {
  std::unordered_map<std::string, std::vector<std::size_t>> byName;
  std::vector<bool> gone(processes.size(), false);
  constexpr std::size_t kMostOfOneName = 64;  // what stands in that many files is no rotation
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessLog& p = processes[i].log;
    if (p.host.empty()) continue;
    std::vector<std::size_t>& same = byName[p.host + '\n' + std::to_string(p.pid)];
    const auto to = std::find_if(same.begin(), same.end(), [&](std::size_t j) {
      return sameProcess(processes[j], processes[i]);
    });
    if (to != same.end()) {
      joinProcess(processes[*to], processes[i]);
      gone[i] = true;
    } else if (same.size() < kMostOfOneName) {
      same.push_back(i);
    }
  }
  std::deque<Process> kept;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (!gone[i]) kept.push_back(std::move(processes[i]));
  processes = std::move(kept);
}

/// Where each network line of the process says the same, it holds for all its communicators:
/// releases before 2.8 print it once per process.
const NetworkLine* onlyNetwork(const ProcessLog& p) {
  const NetworkLine* best = nullptr;
  for (const NetworkLine& n : p.networks) {
    if (n.form != NetworkLine::Form::Using && n.form != NetworkLine::Form::Assigned) continue;
    if (best != nullptr && best->network != n.network) return nullptr;
    if (best == nullptr || n.form == NetworkLine::Form::Using) best = &n;
  }
  return best;
}

void inheritNetworks(ProcessLog& p) {
  const NetworkLine* only = onlyNetwork(p);
  for (CommLog& c : p.comms) {
    if (!c.network.empty()) continue;
    if (c.split && !c.parent.empty()) {
      const auto parent = std::find_if(p.comms.begin(), p.comms.end(), [&](const CommLog& x) {
        return x.pointer == c.parent && !x.network.empty();
      });
      if (parent != p.comms.end()) {
        c.network = parent->network;
        c.networkForm = parent->networkForm;
        c.networkAt = parent->networkAt;
        continue;
      }
    }
    if (only == nullptr) continue;
    c.network = only->network;
    c.networkForm = only->form;
    c.networkAt = only->at;
  }
}

/// The ranks of one communicator, as all its processes tell: where each of them runs.
using RankHosts = std::unordered_map<int, const ProcessLog*>;

std::string groupOf(const CommLog& c) {
  return c.id.empty() ? "of " + std::to_string(c.nRanks) : c.id;
}

bool onOtherHost(const ProcessLog& a, const ProcessLog& b) {
  if (a.host.empty() || b.host.empty()) return false;
  return a.host != b.host || differ(a.address, b.address);
}

void countCrossEdges(std::deque<Process>& processes) {
  std::unordered_map<std::string, RankHosts> groups;
  for (const Process& p : processes)
    for (const CommLog& c : p.log.comms)
      if (c.rank >= 0) groups[groupOf(c)].emplace(c.rank, &p.log);
  for (Process& p : processes)
    for (std::size_t i = 0; i < p.log.comms.size(); ++i) {
      CommLog& c = p.log.comms[i];
      if (c.localPeers.empty()) continue;
      const RankHosts& hosts = groups[groupOf(c)];
      for (std::size_t k = 0; k < c.localPeers.size(); ++k) {
        const auto peer = hosts.find(c.localPeers[k]);
        if (peer != hosts.end() && onOtherHost(p.log, *peer->second))
          c.crossEdges += p.localCounts[i][k];
      }
    }
}

}  // namespace

void finishProcesses(std::deque<Process> processes, engine::LogFacts& out) {
  joinFiles(processes);
  for (Process& p : processes) {
    inheritNetworks(p.log);
    const bool said =
        std::any_of(p.log.pluginFailures.begin(), p.log.pluginFailures.end(),
                    [](const PluginFailure& f) { return f.kind == PluginFailure::Kind::NoSymbol; });
    if (p.symbolMissing && !p.netPluginLoaded && !said && onlyNetwork(p.log) != nullptr) {
      PluginFailure& f = p.log.pluginFailures.emplace_back();
      f.kind = PluginFailure::Kind::NoSymbol;
      f.at = p.symbolMissing;
    }
  }
  countCrossEdges(processes);
  out.processes.reserve(processes.size());
  for (Process& p : processes) out.processes.push_back(std::move(p.log));
}

}  // namespace rdmaguard::readers::nccl_log
