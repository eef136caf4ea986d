// See judge_log_comm.h.
#include "verifier/engine/judge_log_comm.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "verifier/engine/judge_log_rank.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// What makes two ranks members of one communicator: its id and size; without an id its size and
// place among those of its process. Nothing at all: `anonymous`.
std::string keyOf(const CommLog& comm, std::map<int, int>& unnamed) {
  if (!comm.id.empty()) return cat(comm.id, "/", std::to_string(comm.nRanks));
  if (comm.nRanks == 0) return {};
  return cat("#", std::to_string(unnamed[comm.nRanks]++), "/", std::to_string(comm.nRanks));
}

struct Groups {
  std::vector<CommNet> comms;
  std::map<std::string, std::size_t> byKey;

  CommNet& at(const std::string& key) {
    const auto [found, isNew] = byKey.try_emplace(key, comms.size());
    if (isNew) comms.emplace_back();
    return comms[found->second];
  }
};

void addRank(CommNet& comm, RankNet rank) {
  if (rank.comm) {
    if (comm.id.empty()) comm.id = rank.comm->id;
    comm.nRanks = std::max(comm.nRanks, rank.comm->nRanks);
    comm.nNodes = std::max(comm.nNodes, rank.comm->nNodes);
    comm.netEdges = comm.netEdges || !rank.comm->edges.empty() || rank.comm->collNetEdges > 0;
  }
  comm.ranks.push_back(std::move(rank));
}

// Pieces without a name belong to the communicator there is; with several, they stand alone.
void mergeAnonymous(Groups& groups) {
  const auto anonymous = groups.byKey.find("");
  if (anonymous == groups.byKey.end() || groups.comms.size() != 2) return;
  const std::size_t from = anonymous->second, to = 1 - from;
  for (RankNet& rank : groups.comms[from].ranks) addRank(groups.comms[to], std::move(rank));
  groups.comms.erase(groups.comms.begin() + static_cast<std::ptrdiff_t>(from));
}

Groups grouped(const JobFacts& job) {
  Groups groups;
  for (const ProcessLog& process : job.log.processes) {
    std::map<int, int> unnamed;
    for (const CommLog& comm : process.comms)
      addRank(groups.at(keyOf(comm, unnamed)), rankNet(job, process, &comm));
    if (process.comms.empty()) {
      RankNet rank = rankNet(job, process, nullptr);
      if (rank.net.decided()) addRank(groups.at(""), std::move(rank));
    }
  }
  mergeAnonymous(groups);
  return groups;
}

// Ranks of processes that print no device list: the list of their node, else any of the job
// (nodes of one job are alike unless a line says otherwise).
void shareDevices(const JobFacts& job, std::vector<CommNet>& comms) {
  std::map<std::string, const ProcessLog*> byNode;
  const ProcessLog* any = nullptr;
  for (const ProcessLog& p : job.log.processes) {
    if (p.devices.empty()) continue;
    byNode.try_emplace(p.host, &p);
    if (!any) any = &p;
  }
  if (!any) return;
  for (CommNet& comm : comms)
    for (RankNet& rank : comm.ranks) {
      if (!rank.process->devices.empty()) continue;
      const auto own = byNode.find(rank.process->host);
      applyDevices(rank, (own == byNode.end() ? any : own->second)->devices);
      applyGdr(rank);
    }
}

// Distinct nodes that the ranks' own lines come from; 0 = a rank's node is not known.
std::size_t nodesSeen(const CommNet& comm) {
  std::map<std::string, std::set<std::string>> addresses;  // by host
  for (const RankNet& r : comm.ranks) {
    if (r.process->host.empty()) return 0;
    std::set<std::string>& known = addresses[r.process->host];
    if (!r.process->address.empty()) known.insert(r.process->address);
  }
  return std::accumulate(addresses.begin(), addresses.end(), std::size_t{0},
                         [](std::size_t n, const auto& host) {
                           return n + std::max<std::size_t>(1, host.second.size());
                         });
}

// No line counts the nodes, and all lines come from one host. Nodes hold equal shares of a
// communicator, so that more than half of the ranks on one host leave room for no other.
bool restOnOneHost(const CommNet& comm) {
  if (comm.netEdges || comm.nRanks == 0 || nodesSeen(comm) != 1) return false;
  std::set<int> here;
  std::uint64_t localEdges = 0;
  for (const RankNet& r : comm.ranks) {
    if (!r.comm) continue;
    if (r.comm->rank >= 0) here.insert(r.comm->rank);
    if (r.comm->crossEdges > 0 || r.comm->mnnvlEdges > 0) return false;
    localEdges += r.comm->localEdges;
    here.insert(r.comm->localPeers.begin(), r.comm->localPeers.end());
  }
  const auto total = static_cast<std::size_t>(comm.nRanks);
  return here.size() >= total || (localEdges > 0 && here.size() * 2 > total);
}

// Every connection seen is NVLink's, between nodes too: a multi-node NVLink clique.
bool nvlinkCarriesAll(const CommNet& comm) {
  if (comm.netEdges) return false;
  return std::any_of(comm.ranks.begin(), comm.ranks.end(), [](const RankNet& r) {
    return r.comm && r.comm->mnnvl && r.comm->mnnvlEdges > 0;
  });
}

// nccl-tests lists every rank with its host, which tells one node from several where the log does
// not.
bool testedOnOneHost(const JobFacts& job, const CommNet& comm) {
  return nodesSeen(comm) <= 1 &&
         std::any_of(job.run.tables.begin(), job.run.tables.end(), [&](const PerfTable& t) {
           return t.allListed && !t.everyRankAlone && t.hosts.size() == 1 &&
                  (comm.nRanks == 0 || comm.nRanks == t.nRanks);
         });
}

bool needsNoNetwork(const JobFacts& job, CommNet& comm) {
  if (comm.netEdges) return false;
  if (comm.nRanks == 1) {
    comm.nNodes = std::max(comm.nNodes, 1);
    return true;
  }
  if (comm.nNodes == 0 && (testedOnOneHost(job, comm) || restOnOneHost(comm))) comm.nNodes = 1;
  return comm.nNodes == 1 || nvlinkCarriesAll(comm);
}

void judgeComm(const JobFacts& job, CommNet& comm) {
  if (needsNoNetwork(job, comm)) {
    comm.engaged = Engaged::NotNeeded;
    comm.net = {.transport = Transport::None, .name = {}};
    comm.gdr = GdrState::NotApplicable;
    return;
  }
  if (comm.nNodes == 0) {
    const std::size_t seen = nodesSeen(comm);
    if (seen > 1) comm.nNodes = static_cast<int>(seen);
  }
  std::size_t on = 0, off = 0;
  const Network* first = nullptr;
  bool mixed = false, shown = false;
  for (const RankNet& r : comm.ranks) {
    if (!r.net.decided()) continue;
    on += r.net.standing == Standing::OnRdma ? 1 : 0;
    off += r.net.standing == Standing::OffRdma ? 1 : 0;
    shown = shown || r.net.linkLayerShown;
    if (!first)
      first = &r.net;
    else if (!first->sameAs(r.net))
      mixed = true;
  }
  if (!first) return;
  comm.net = *first;
  comm.net.linkLayerShown = shown;
  if (mixed) comm.net = {.transport = Transport::Mixed, .name = {}, .standing = first->standing};
  if (on > 0 && off > 0)
    comm.engaged = Engaged::Partial;
  else if (on > 0)
    comm.engaged = Engaged::Yes;
  else if (off > 0)
    comm.engaged = Engaged::No;
  if (comm.engaged == Engaged::No) {
    comm.gdr = GdrState::NotApplicable;
    return;
  }
  GdrTally gdr;
  gdr.add(comm);
  comm.gdr = gdr.state();
}

// Communicators that have a process in common are of one job.
void findJobs(std::vector<CommNet>& comms) {
  std::map<const ProcessLog*, std::size_t> jobOf;
  std::vector<std::size_t> parent(comms.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&parent](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::size_t i = 0; i < comms.size(); ++i)
    for (const RankNet& r : comms[i].ranks) {
      const auto [known, isNew] = jobOf.try_emplace(r.process, i);
      if (!isNew) parent[root(i)] = root(known->second);
    }
  std::map<std::size_t, std::size_t> numbers;
  for (std::size_t i = 0; i < comms.size(); ++i)
    comms[i].job = numbers.try_emplace(root(i), numbers.size()).first->second;
}

}  // namespace

void GdrTally::add(const CommNet& comm) {
  for (const RankNet& r : comm.ranks) {
    if (r.net.standing != Standing::OnRdma) continue;
    Counts& counts = r.gdrByChannels ? channels_ : lines_;
    counts.enabled += r.gdr == GdrState::Enabled ? 1 : 0;
    counts.disabled += r.gdr == GdrState::Disabled ? 1 : 0;
    counts.partial += r.gdr == GdrState::Partial ? 1 : 0;
    // "use ring ... GDR 1" holds for all ranks; without a network in the ring it is 1 as well.
    if (!r.comm || !r.comm->ringGdr || comm.nNodes < 2) continue;
    ringsOn_ += *r.comm->ringGdr != 0 ? 1 : 0;
    ringsOff_ += *r.comm->ringGdr == 0 ? 1 : 0;
  }
}

GdrState GdrTally::state() const {
  for (const Counts* c : {&channels_, &lines_}) {
    if (c->partial > 0 || (c->enabled > 0 && c->disabled > 0)) return GdrState::Partial;
    if (c->enabled > 0) return GdrState::Enabled;
    if (c->disabled > 0) return GdrState::Disabled;
  }
  if (ringsOff_ > 0) return GdrState::Disabled;
  return ringsOn_ > 0 ? GdrState::Enabled : GdrState::Unknown;
}

std::vector<CommNet> communicators(const JobFacts& job) {
  std::vector<CommNet> comms = grouped(job).comms;
  shareDevices(job, comms);
  for (CommNet& comm : comms) judgeComm(job, comm);
  findJobs(comms);
  return comms;
}

}  // namespace rdmaguard::engine
