// See judge_log.h. The steps: ranks (judge_log_rank.h), communicators (judge_log_comm.h), then
// here the job, with what its errors prove.
#include "verifier/engine/judge_log.h"

#include <algorithm>
#include <array>
#include <map>

#include "verifier/engine/judge_log_comm.h"
#include "verifier/engine/judge_log_rank.h"
#include "verifier/engine/selection.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxEvidence = 8;

// Failures that leave NCCL without any network or interface to use.
constexpr std::array<std::string_view, 2> kNoNetwork{"no-socket-interface", "no-network-usable"};

bool leavesNoNetwork(const Event& e) {
  return std::find(kNoNetwork.begin(), kNoNetwork.end(), e.id) != kNoNetwork.end();
}

// A plugin that fails while it starts is dropped, and NCCL goes on to the next network: its
// failure alone says nothing of the one that was taken. Connections carry another name.
bool beforeSelection(const Event& e) {
  return e.id.starts_with("ofi-");
}

int severity(Engaged e) {
  switch (e) {
    case Engaged::Unknown:
      return 0;
    case Engaged::NotNeeded:
      return 1;
    case Engaged::Yes:
      return 2;
    case Engaged::Partial:
      return 3;
    case Engaged::No:
      return 4;
  }
  return 0;
}

struct JobNet {
  Engaged engaged = Engaged::Unknown;
  Network net;
  GdrState gdr = GdrState::Unknown;
  int nodes = 0;
};

// Communicators that share processes: each that needs the network counts.
JobNet combine(const std::vector<CommNet>& comms, std::size_t job) {
  JobNet out;
  bool on = false, off = false, partial = false, local = false, mixed = false;
  const Network* first = nullptr;
  GdrTally gdr;
  for (const CommNet& c : comms) {
    if (c.job != job) continue;
    out.nodes = std::max(out.nodes, c.nNodes);
    local = local || c.engaged == Engaged::NotNeeded;
    on = on || c.engaged == Engaged::Yes;
    off = off || c.engaged == Engaged::No;
    partial = partial || c.engaged == Engaged::Partial;
    const bool counts = c.engaged == Engaged::Yes || c.engaged == Engaged::No ||
                        c.engaged == Engaged::Partial ||
                        (c.engaged == Engaged::Unknown && c.net.decided());
    if (!counts) continue;
    if (c.engaged != Engaged::No) gdr.add(c);
    if (!first)
      first = &c.net;
    else if (!first->sameAs(c.net))
      mixed = true;
  }
  if (partial || (on && off))
    out.engaged = Engaged::Partial;
  else if (off)
    out.engaged = Engaged::No;
  else if (on)
    out.engaged = Engaged::Yes;
  else if (local && !first)
    out.engaged = Engaged::NotNeeded;
  if (first) out.net = *first;
  if (mixed || out.engaged == Engaged::Partial) {
    out.net.transport = Transport::Mixed;
    out.net.name.clear();
    out.net.linkLayerShown = true;
  }
  if (out.engaged == Engaged::NotNeeded) out.net = {.transport = Transport::None, .name = {}};
  out.gdr = out.engaged == Engaged::No || out.engaged == Engaged::NotNeeded
                ? GdrState::NotApplicable
                : gdr.state();
  return out;
}

void addEvidence(LogVerdict& v, const JobFacts& job) {
  std::vector<const RankNet*> shown;
  for (const CommNet& c : v.comms) {
    if (c.engaged == Engaged::NotNeeded && v.evidence.size() < kMaxEvidence && !c.ranks.empty()) {
      const RankNet& r = c.ranks.front();
      v.evidence.push_back({c.nRanks == 1  ? "The communicator has one rank."
                            : c.nNodes > 1 ? "All its ranks reach each other over NVLink."
                                           : "All ranks of the communicator are on one node.",
                            job.source(r.comm ? r.comm->first : r.at),
                            c.nNodes == 1 ? Certainty::Told : Certainty::Inferred});
    }
    for (const RankNet& r : c.ranks) {
      if (!r.net.decided() || v.evidence.size() >= kMaxEvidence) continue;
      const bool known = std::any_of(shown.begin(), shown.end(), [&](const RankNet* s) {
        return s->net.sameAs(r.net) && s->how == r.how && s->gdr == r.gdr;
      });
      if (known) continue;
      shown.push_back(&r);
      v.evidence.push_back({cat(rankName(r), ": ", r.how, "."), job.source(r.at), r.certainty});
    }
  }
}

// The communicators of the job that decides: the worst one that needs the network.
void decideJob(LogVerdict& v) {
  std::size_t jobs = 0;
  for (const CommNet& c : v.comms) jobs = std::max(jobs, c.job + 1);
  v.jobs = static_cast<int>(jobs);
  for (std::size_t job = 0; job < jobs; ++job) {
    const JobNet one = combine(v.comms, job);
    const bool worse = severity(one.engaged) > severity(v.engaged) ||
                       (!v.net.decided() && one.engaged == v.engaged && one.net.decided());
    if (job > 0 && !worse) continue;
    v.engaged = one.engaged;
    v.net = one.net;
    v.gdr = one.gdr;
    v.nodes = one.nodes;
  }
}

// The ranks of a communicator that are not on what most of it is on.
void findOff(LogVerdict& v) {
  for (const CommNet& c : v.comms) {
    if (c.engaged == Engaged::NotNeeded) continue;
    std::vector<std::pair<const RankNet*, std::size_t>> kinds;
    for (const RankNet& r : c.ranks) {
      if (!r.net.decided()) continue;
      const auto same = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const auto& k) { return k.first->net.sameAs(r.net); });
      if (same == kinds.end())
        kinds.emplace_back(&r, 1);
      else
        ++same->second;
    }
    if (kinds.size() < 2) continue;
    const auto most =
        std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
          if (a.second != b.second) return a.second < b.second;
          return a.first->net.standing != Standing::OnRdma &&
                 b.first->net.standing == Standing::OnRdma;
        });
    for (const RankNet& r : c.ranks)
      if (r.net.decided() && !r.net.sameAs(most->first->net)) v.off.push_back(&r);
  }
}

Network eventNetwork(const Event& e) {
  Network net{.transport = Transport::External, .name = e.network};
  if (sameWord(e.network, "IB")) {
    net.transport = e.gid ? Transport::RoCE : Transport::IB;
    net.linkLayerShown = e.gid;
    net.standing = Standing::OnRdma;
  } else if (sameWord(e.network, "Socket")) {
    net.transport = Transport::Socket;
    net.standing = Standing::OffRdma;
  } else {
    const ExternalKind kind = externalKind(e.network);
    net.standing = kind == ExternalKind::Rdma      ? Standing::OnRdma
                   : kind == ExternalKind::NotRdma ? Standing::OffRdma
                                                   : Standing::Unknown;
  }
  return net;
}

void readEvents(LogVerdict& v, const JobFacts& job) {
  for (const Event& e : job.run.events) {
    if (!e.failure) continue;
    v.any = true;
    if (!v.failure) v.failure = &e;
    if (e.phase == Phase::Data && !e.network.empty() &&
        (!v.connected || (e.gid && !v.connected->gid && e.network == v.connected->network)))
      v.connected = &e;  // the one that shows the link layer, where one does
    if (e.phase == Phase::Setup && !v.setupFailure) v.setupFailure = &e;
  }
  // The failure that says most stands for the rest: one of a network before one of none.
  for (const Event& e : job.run.events)
    if (e.failure && e.phase == Phase::Setup && v.setupFailure->network.empty() &&
        !leavesNoNetwork(*v.setupFailure) && (!e.network.empty() || leavesNoNetwork(e)))
      v.setupFailure = &e;
}

// The network carried a communicator before this failure: NCCL reports its rings connected; or its
// init is complete, and what failed is no call of the network (which connects late since 2.22).
bool ranBefore(const LogVerdict& v, const Event& e) {
  for (const CommNet& c : v.comms)
    for (const RankNet& r : c.ranks) {
      if (!r.comm || r.comm->edges.empty()) continue;
      if (r.comm->ringGdr || (r.comm->complete && e.network.empty())) return true;
    }
  return false;
}

// What errors prove of the network, beside the lines that name it: a completion proves a
// connection; a failed set-up means that no data went over what was selected.
void applyEvents(LogVerdict& v, const JobFacts& job) {
  readEvents(v, job);
  const bool selected = v.engaged == Engaged::Yes || v.engaged == Engaged::Partial;
  if (v.connected && !v.net.decided()) {
    v.net = eventNetwork(*v.connected);
    v.engaged = v.net.standing == Standing::OnRdma    ? Engaged::Yes
                : v.net.standing == Standing::OffRdma ? Engaged::No
                                                      : Engaged::Unknown;
    v.gdr = v.engaged == Engaged::No ? GdrState::NotApplicable : GdrState::Unknown;
    v.evidence.push_back({cat("An error of an established connection through ",
                              v.connected->network, " (", v.connected->id, ")."),
                          job.source(v.connected->at), Certainty::Told});
  } else if (v.connected && v.engaged == Engaged::Yes && v.connected->gid &&
             v.net.transport == Transport::IB && !v.net.linkLayerShown) {
    v.net.transport = Transport::RoCE;
    v.net.linkLayerShown = true;
  }
  if (!v.setupFailure || v.connected || v.engaged == Engaged::NotNeeded ||
      ranBefore(v, *v.setupFailure)) {
    v.setupFailure = nullptr;
    return;
  }
  const Event& e = *v.setupFailure;
  const auto fail = [&] {
    v.engaged = Engaged::No;
    v.evidence.push_back(
        {cat("Set-up failed before data moved (", e.id, ")."), job.source(e.at), Certainty::Told});
  };
  if (selected && v.engaged == Engaged::Yes) {
    if (e.gid && v.net.transport == Transport::IB && !v.net.linkLayerShown) {
      v.net.transport = Transport::RoCE;
      v.net.linkLayerShown = true;
    }
    return fail();
  }
  if (v.engaged != Engaged::Unknown) return;
  if (leavesNoNetwork(e)) {
    v.net = {.transport = Transport::None, .name = {}, .standing = Standing::OffRdma};
    v.gdr = GdrState::NotApplicable;
    return fail();
  }
  if (v.net.decided()) return fail();
  if (e.network.empty() || beforeSelection(e)) {
    v.setupFailure = nullptr;
    return;
  }
  // A verbs call may be NCCL's own or a plugin's, on either link layer, unless a GID says more.
  const Network net = eventNetwork(e);
  if (net.transport != Transport::IB) v.net = net;
  v.gdr = GdrState::Unknown;
  fail();
}

// A communicator that began on a network and shows neither a connection nor its end.
const RankNet* startedOnly(const LogVerdict& v) {
  const RankNet* found = nullptr;
  for (const CommNet& c : v.comms)
    for (const RankNet& r : c.ranks) {
      if (!r.comm || !r.net.decided() || c.engaged == Engaged::NotNeeded) continue;
      if (c.netEdges || r.comm->complete || r.comm->opLines > 0 || r.comm->localEdges > 0)
        return nullptr;
      if (r.comm->started && !found) found = &r;
    }
  return found;
}

// Figures without a log: a test whose ranks are all on one host needs no network.
bool testedOnOneNode(const JobFacts& job) {
  return !job.run.tables.empty() &&
         std::all_of(job.run.tables.begin(), job.run.tables.end(), [](const PerfTable& t) {
           return t.allListed && !t.everyRankAlone && t.hosts.size() == 1;
         });
}

}  // namespace

std::string nodeOf(const ProcessLog& process) {
  return process.address.empty() ? process.host : cat(process.host, " ", process.address);
}

std::string rankName(const RankNet& rank) {
  const ProcessLog& p = *rank.process;
  const std::string where = p.host.empty()      ? std::string()
                            : p.address.empty() ? p.host
                                                : cat(p.host, " (", p.address, ")");
  if (rank.rank() >= 0)
    return cat("rank ", std::to_string(rank.rank()), where.empty() ? "" : " on ", where);
  if (p.pid != 0) return cat(where, where.empty() ? "pid " : " pid ", std::to_string(p.pid));
  return where.empty() ? "a process" : where;
}

LogVerdict judgeLog(const JobFacts& job) {
  LogVerdict v;
  v.any = job.log.lines > 0;
  v.comms = communicators(job);
  decideJob(v);
  findOff(v);
  addEvidence(v, job);
  if (v.engaged == Engaged::NotNeeded && job.log.repeatedAcrossCluster) {
    // Ray shows one process for many: the others may have more nodes than this one.
    v.engaged = Engaged::Unknown;
    v.net = {};
    v.gdr = GdrState::Unknown;
  }
  if (v.comms.empty() && testedOnOneNode(job)) {
    v.engaged = Engaged::NotNeeded;
    v.net = {.transport = Transport::None, .name = {}};
    v.gdr = GdrState::NotApplicable;
    v.nodes = 1;
    v.evidence.push_back({"The test lists one host for all its ranks.",
                          job.source(job.run.tables.front().at), Certainty::Told});
  }
  applyEvents(v, job);
  if (v.engaged == Engaged::Yes && !v.connected) v.notConnected = startedOnly(v);
  return v;
}

}  // namespace rdmaguard::engine
