// See judge_words.h.
#include "verifier/engine/judge_words.h"

#include <algorithm>

#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

std::string netWords(const Verdict& v) {
  switch (v.transport) {
    case Transport::IB:
      return "InfiniBand";
    case Transport::RoCE:
      return "RoCE";
    case Transport::Socket:
      return "TCP sockets";
    case Transport::External:
      return cat("the net plugin ", v.externalName);
    case Transport::Mixed:
      return v.engaged == Engaged::Yes ? "InfiniBand and RoCE ports at once" : "different networks";
    case Transport::None:
      return "no network";
    case Transport::Unknown:
      break;
  }
  return "an unknown network";
}

std::string gdrWords(GdrState gdr) {
  switch (gdr) {
    case GdrState::Enabled:
      return ", GPUDirect RDMA in use";
    case GdrState::Disabled:
      return ", without GPUDirect RDMA (GPU memory is staged through the host)";
    case GdrState::Partial:
      return ", GPUDirect RDMA on some connections only";
    case GdrState::Unknown:
      return ", GPUDirect RDMA not shown";
    case GdrState::NotApplicable:
      break;
  }
  return {};
}

std::string sizeWords(const JobVerdict& v) {
  int ranks = 0;
  for (const CommVerdict& c : v.communicators) ranks = std::max(ranks, c.nRanks);
  if (ranks == 0 && v.nodes == 0) return {};
  std::string out = " (";
  if (ranks > 0) out += counted(static_cast<std::size_t>(ranks), "rank");
  if (v.nodes > 0)
    out += cat(ranks > 0 ? " on " : "", counted(static_cast<std::size_t>(v.nodes), "node"));
  return out + ")";
}

constexpr std::string_view kCost =
    " That is the full price for the nodes and a fraction of the throughput their network has.";

std::string noSentence(const JobVerdict& v, const LogVerdict& log) {
  if (log.setupFailure)
    return cat(
        "RDMA is not engaged: the job failed while it set up its connections",
        v.job.transport == Transport::Unknown ? std::string() : cat(" over ", netWords(v.job)),
        ", before any data moved.");
  if (v.job.transport == Transport::None)
    return "RDMA is not engaged: no network could be used, so the job cannot run on several "
           "nodes.";
  if (log.engaged == Engaged::No)
    return cat("RDMA is not engaged: traffic between nodes goes over ", netWords(v.job),
               sizeWords(v), ".", kCost);
  return cat("RDMA cannot engage as this stands: traffic between nodes would go over ",
             netWords(v.job), ".", kCost);
}

bool hasWarnOnly(const LogFacts& log) {
  return std::all_of(log.processes.begin(), log.processes.end(),
                     [](const ProcessLog& p) { return p.warnLevelOnly; });
}

bool anyGap(const JobVerdict& v) {
  return !v.job.missing.empty() || !v.job.degraded.empty();
}

}  // namespace

std::string verdictSentence(const JobVerdict& v, const LogVerdict& log) {
  switch (v.job.engaged) {
    case Engaged::Yes: {
      std::string out =
          cat("RDMA is engaged: ", netWords(v.job), gdrWords(v.job.gdrState), sizeWords(v), ".");
      if (log.failure)
        out += " The input also shows an error that is not a fallback to TCP.";
      else if (anyGap(v))
        out += " It is not all it could be: see the findings.";
      return out;
    }
    case Engaged::No:
      return noSentence(v, log);
    case Engaged::Partial: {
      std::string out = "RDMA is engaged for a part of the job only";
      if (!v.offRanks.empty()) {
        const RankVerdict& off = v.offRanks.front();
        out += cat(": ", off.rank >= 0 ? cat("rank ", std::to_string(off.rank), " on ") : "",
                   off.host.empty() ? "a host" : off.host);
        if (v.offRanks.size() > 1)
          out += cat(" and ", std::to_string(v.offRanks.size() - 1), " more");
        out += v.offRanks.size() > 1 ? " are not on what the rest is on"
                                     : " is not on what the rest is on";
      }
      return out + ". The whole job hangs, fails or runs at the pace of its slowest part.";
    }
    case Engaged::NotNeeded:
      return v.nodes > 1 ? "No network is needed: NVLink connects all ranks, across nodes too."
                         : "No network is needed: all ranks are on one node.";
    case Engaged::Unknown:
      break;
  }
  if (!log.any && v.exitCode == 0)
    return "Nothing stands in RDMA's way here; whether a job uses it, its log has to show.";
  if (!log.any && v.exitCode == 1)
    return "RDMA is possible, and something here weakens or endangers it; whether a job uses it, "
           "its log has to show.";
  if (v.job.transport == Transport::External)
    return cat("Cannot tell whether RDMA is engaged: traffic goes through ", netWords(v.job),
               ", and no line shows whether that is RDMA.");
  return "Cannot tell whether RDMA is engaged: no line of the input shows which network was used.";
}

std::vector<std::string> whatToGather(const JobFacts& job, const JobVerdict& v,
                                      const LogVerdict& log) {
  std::vector<std::string> out;
  if (v.job.engaged == Engaged::Unknown) {
    if (job.log.lines > 0 && !hasWarnOnly(job.log))
      out.emplace_back(
          "Run the job once with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV and keep the log "
          "from its first line: the lines that name the network (\"Using network\", \"NET/IB : "
          "Using\", \"via NET/\") are not in this one.");
    else
      out.emplace_back(
          "Run the job once with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV and pass its log: "
          "at a lower level NCCL does not say which network it uses.");
    if (job.log.repeatedAcrossCluster)
      out.emplace_back(
          "Ray folds equal lines of its workers into one: set RAY_DEDUP_LOGS=0, or let NCCL write "
          "a file for each process (NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log).");
    else if (log.any)
      out.emplace_back(
          "Keep the lines of every rank: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log gives a file for each "
          "process, and a folder of them can be passed as it is.");
    if (job.ports.listings.empty())
      out.emplace_back("Run `ibv_devinfo` in the job's own container, on each node.");
  } else if (v.job.engaged == Engaged::Yes && v.job.gdrState == GdrState::Unknown && log.any) {
    out.emplace_back(
        "For GPUDirect RDMA: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH and the channel "
        "lines (\"via NET/... /GDRDMA\") of the first collective.");
  }
  if ((v.job.engaged == Engaged::No || v.job.engaged == Engaged::Partial) && log.any &&
      v.causes.empty() && !log.setupFailure)
    out.emplace_back(
        "For the cause: the log from the first line of every rank (NCCL_DEBUG=INFO "
        "NCCL_DEBUG_SUBSYS=INIT,NET,ENV), with its NET/Plugin and NET/IB lines.");
  return out;
}

}  // namespace rdmaguard::engine
