// See judge_findings.h.
#include "verifier/engine/judge_findings.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "verifier/engine/case.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/log_case.h"
#include "verifier/engine/rules.h"
#include "verifier/engine/rules_log.h"
#include "verifier/engine/rules_run.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxEvidence = 8;
constexpr std::array kKinds{FindingKind::MissingCondition, FindingKind::DegradedSignal,
                            FindingKind::Note};

// True of a node, and no explanation of what the log shows.
constexpr std::array<std::string_view, 2> kNoCause{"memlock-limited",
                                                   "socket-ifname-matches-nothing"};

// One finding and the ranks it was found for.
struct Merged {
  Finding finding;
  std::vector<std::string> ranks;  // names; empty for a finding about the input as a whole
  bool fromLog = false;            // it explains what the log shows
  bool ofProcess = false;          // `ranks` are the log's
};

class Collector {
 public:
  void add(Finding f, const std::string& rank, bool fromLog, bool ofProcess = false) {
    const auto [known, isNew] = byId_.try_emplace(f.ruleId, merged_.size());
    if (isNew) {
      merged_.push_back({std::move(f), {}, fromLog, ofProcess});
    } else {
      Merged& m = merged_[known->second];
      m.fromLog = m.fromLog || fromLog;
      for (Evidence& e : f.evidence) addEvidence(m.finding, std::move(e));
    }
    if (!rank.empty()) merged_[known->second].ranks.push_back(rank);
  }

  JobFindings take() {
    JobFindings out;
    sortByTable();
    for (Merged& m : merged_) {
      if (m.ranks.size() > 1)
        m.finding.what +=
            cat(" So for ", counted(m.ranks.size(), "rank"), ": ", listed(m.ranks, kMaxNamed), ".");
      else if (m.ranks.size() == 1)
        m.finding.what += cat(" So for ", m.ranks.front(), ".");
      if (m.fromLog && m.finding.kind != FindingKind::Note &&
          std::find(kNoCause.begin(), kNoCause.end(), m.finding.ruleId) == kNoCause.end())
        out.causes.push_back(m.finding);
      switch (m.finding.kind) {
        case FindingKind::MissingCondition:
          out.missing.push_back(std::move(m.finding));
          break;
        case FindingKind::DegradedSignal:
          out.degraded.push_back(std::move(m.finding));
          break;
        case FindingKind::Note:
          out.notes.push_back(std::move(m.finding));
          break;
      }
    }
    return out;
  }

 private:
  static constexpr std::size_t kMaxNamed = 6;

  static void addEvidence(Finding& f, Evidence e) {
    if (f.evidence.size() >= kMaxEvidence) return;
    const bool known = std::any_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& have) {
      return have.fact == e.fact && have.source == e.source;
    });
    if (!known) f.evidence.push_back(std::move(e));
  }

  // The order in which NCCL meets the conditions, whatever rank met them first.
  void sortByTable() {
    std::map<std::string_view, std::size_t> place;
    for (const Rule& rule : rules()) place.try_emplace(rule.id, place.size());
    std::stable_sort(merged_.begin(), merged_.end(), [&](const Merged& a, const Merged& b) {
      return place[a.finding.ruleId] < place[b.finding.ruleId];
    });
  }

  std::vector<Merged> merged_;
  std::map<std::string, std::size_t> byId_;
};

void addAll(Collector& out, const Case& c, const std::string& rank, bool fromLog) {
  for (const FindingKind kind : kKinds)
    for (Finding& f : findings(c, kind, Scope::Process))
      out.add(std::move(f), rank, fromLog, c.process != nullptr);
}

void addProcesses(Collector& out, const JobFacts& job, const LogVerdict& log) {
  const ProcessLog* last = nullptr;
  NodeFacts node;
  const auto judge = [&](const CommNet& comm, const RankNet& rank) {
    if (rank.process != last) node = nodeOfProcess(job, *rank.process);
    last = rank.process;
    const Selection seen = selectionOf(job, comm, rank);
    Case c(node, seen, &job);
    c.process = rank.process;
    c.log = &log;
    addAll(out, c, rankName(rank), true);
  };
  bool decided = false;
  for (const CommNet& comm : log.comms) {
    if (comm.engaged == Engaged::NotNeeded) {
      decided = true;
      continue;
    }
    for (const RankNet& rank : comm.ranks) {
      if (!rank.net.decided()) continue;
      decided = true;
      judge(comm, rank);
    }
  }
  if (decided) return;
  // Nothing says what any rank is on: what could be in the way is worth telling.
  const CommNet unknown;
  for (const ProcessLog& process : job.log.processes) {
    RankNet rank;
    rank.process = &process;
    judge(unknown, rank);
  }
}

bool offRdma(const LogVerdict& log) {
  return log.engaged == Engaged::No || log.engaged == Engaged::Partial;
}

// What specs set counts where no log shows RDMA in use. The network is left open: what a spec says
// of a process is no fact about it.
void addSpecs(Collector& out, const JobFacts& job, const LogVerdict& log) {
  if (log.engaged == Engaged::Yes || log.engaged == Engaged::NotNeeded) return;
  if (const auto spec = specOutlook(job); spec && spec->engaged == Engaged::NotNeeded) return;
  const Selection unknown;
  for (const NodeFacts& node : nodesOfSpecs(job)) {
    Case c(node, unknown, &job);
    addAll(out, c, node.hostname, offRdma(log));
  }
}

void addNode(Collector& out, const JobFacts& job, const NodeFacts& node, const PortListing* listing,
             bool explains) {
  const Selection unknown;
  Case c(node, unknown, &job);
  c.listing = listing;
  addAll(out, c, "", explains);
}

// A port that went down while the job ran explains its errors; the ports' own rules say what to
// do about it.
void addPortErrors(JobFindings& out, const JobFacts& job) {
  Finding f{.ruleId = "port-not-active",
            .kind = FindingKind::DegradedSignal,
            .what = "A port went down while the job ran.",
            .evidence = {},
            .fix =
                "Look at the link of that port: cable, transceiver, switch port, and the host's "
                "kernel log around that time.",
            .certainty = Certainty::Told};
  for (const Event& e : job.run.events) {
    if (e.id != "async-port-error" || f.evidence.size() >= kMaxEvidence) continue;
    f.evidence.push_back(
        {cat("NCCL reports a port error", e.device.empty() ? "" : cat(" of ", e.device),
             e.host.empty() ? "." : cat(" on ", e.host, ".")),
         job.source(e.at), Certainty::Told});
  }
  if (!f.evidence.empty()) out.causes.push_back(std::move(f));
}

}  // namespace

JobFindings findingsOf(const JobFacts& job, const LogVerdict& log) {
  Collector all;
  addProcesses(all, job, log);
  const NodeFacts node = nodeOfInput(job);
  if (job.log.processes.empty()) addNode(all, job, node, nullptr, false);
  addSpecs(all, job, log);
  for (const PortListing& listing : job.ports.listings) {
    NodeFacts listed;
    listed.devices = listing.devices;
    addNode(all, job, listed, &listing, offRdma(log));
  }
  const Selection seen = selectionOf(log);
  Case c(node, seen, &job);
  c.log = &log;
  for (const FindingKind kind : kKinds)
    for (Finding& f : findings(c, kind, Scope::Job)) {
      const bool cause = std::any_of(kLogRules.begin(), kLogRules.end(),
                                     [&](const Rule& r) { return r.id == f.ruleId; });
      all.add(std::move(f), "", cause);
    }
  if (MaybeFinding down = portDownInRun(c)) {
    down->ruleId = "port-down";
    down->kind = FindingKind::DegradedSignal;
    all.add(std::move(*down), "", false);
  }
  JobFindings out = all.take();
  addPortErrors(out, job);
  return out;
}

}  // namespace rdmaguard::engine
