// See judge_job.h. The log decides first (judge_log.h), then specs, then port listings; findings
// of all of them are listed (judge_findings.h).
#include "verifier/engine/judge_job.h"

#include <algorithm>

#include "verifier/engine/judge_findings.h"
#include "verifier/engine/judge_log.h"
#include "verifier/engine/judge_words.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr int kGood = 0;
constexpr int kDegraded = 1;
constexpr int kNotEngaged = 2;
constexpr int kUnknown = 3;

RankVerdict rankVerdict(const JobFacts& job, const RankNet& r) {
  RankVerdict out;
  out.rank = r.rank();
  out.host = r.process->host;
  out.pid = r.process->pid;
  out.transport = r.net.transport;
  if (r.net.transport == Transport::External) out.externalName = r.net.name;
  out.gdr = r.net.standing == Standing::OffRdma ? GdrState::NotApplicable : r.gdr;
  if (r.at) out.source = job.source(r.at);
  return out;
}

// The HCAs that channels of a communicator name by their number, or all that are listed where
// no channel line shows a number.
std::vector<std::string> hcasOf(const CommNet& comm) {
  std::vector<std::string> used;
  for (const RankNet& r : comm.ranks) {
    if (!r.comm) continue;
    std::uint64_t bits = 0;
    for (const NetEdges& e : r.comm->edges)
      if (!sameWord(e.network, "Socket")) bits |= e.devicesUsed;
    int group = -1;
    for (const ListedDevice& d : r.process->devices) {
      if (d.index >= 0) group = d.index;
      if (group < 0 || group > 63 || ((bits >> group) & 1u) == 0) continue;
      if (std::find(used.begin(), used.end(), d.name) == used.end()) used.push_back(d.name);
    }
  }
  std::sort(used.begin(), used.end());
  return used;
}

CommVerdict commVerdict(const JobFacts& job, const CommNet& comm) {
  CommVerdict out;
  out.id = comm.id;
  out.nRanks = comm.nRanks;
  out.nNodes = comm.nNodes;
  out.engaged = comm.engaged;
  out.transport = comm.net.transport;
  if (comm.net.transport == Transport::External) out.externalName = comm.net.name;
  out.gdr = comm.gdr;
  out.hcas = hcasOf(comm);
  for (const RankNet& r : comm.ranks) {
    RankVerdict rank = rankVerdict(job, r);
    if (comm.engaged == Engaged::NotNeeded) {
      rank.transport = Transport::None;
      rank.externalName.clear();
      rank.gdr = GdrState::NotApplicable;
    }
    out.ranks.push_back(std::move(rank));
  }
  return out;
}

// Off RDMA, and no rule knows why: say so instead of guessing.
Finding unknownCause(const LogVerdict& log) {
  return {.ruleId = "unknown-cause",
          .kind = FindingKind::MissingCondition,
          .what = "NCCL did not take RDMA, and no line of this input shows why.",
          .evidence = log.evidence,
          .fix =
              "Run once with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV and keep the log from "
              "its first line (NET/Plugin, NET/IB and settings); run `rdmaguard preflight` in the "
              "job's own container.",
          .certainty = Certainty::Inferred};
}

// The GPUDirect mechanism, where NCCL names one.
Gdr mechanismOf(const JobFacts& job, GdrState state) {
  if (state == GdrState::Disabled) return Gdr::None;
  if (state != GdrState::Enabled && state != GdrState::Partial) return Gdr::Unknown;
  for (const ProcessLog& p : job.log.processes)
    for (const HcaGdr& h : p.hcaGdr) {
      if (!h.enabled) continue;
      if (h.how.find("DMA") != std::string::npos) return Gdr::DmaBuf;
      if (h.how.find("PEERMEM") != std::string::npos) return Gdr::Peermem;
    }
  return Gdr::Unknown;
}

void violate(Verdict& v, std::string_view sentence) {
  v.requirement = Met::Violated;
  if (!v.violation.empty()) v.violation += ' ';
  v.violation += sentence;
}

void judgeRequirement(const Requirement& wanted, Verdict& v) {
  switch (v.engaged) {
    case Engaged::NotNeeded:
      v.requirement = Met::Yes;
      return;
    case Engaged::Unknown:
      return;
    case Engaged::No:
      return violate(v, "RDMA is required and is not engaged.");
    case Engaged::Partial:
      return violate(v, "RDMA is required and not all ranks are on it.");
    case Engaged::Yes:
      break;
  }
  bool known = true;
  if (wanted.net != Requirement::Net::Rdma) {
    const Transport want = wanted.net == Requirement::Net::IB ? Transport::IB : Transport::RoCE;
    if (v.transport == Transport::External)
      known = false;
    else if (v.transport != want)
      violate(v, cat(name(want), " is required and NCCL uses ", name(v.transport), "."));
  }
  if (wanted.gdr) {
    if (v.gdrState == GdrState::Disabled)
      violate(v, "GPUDirect RDMA is required and GPU memory is staged through the host.");
    if (v.gdrState == GdrState::Partial)
      violate(v, "GPUDirect RDMA is required and some connections go without it.");
    known = known && v.gdrState == GdrState::Enabled;
  }
  if (v.requirement != Met::Violated && known) v.requirement = Met::Yes;
}

void take(const Outlook& outlook, Verdict& v) {
  v.engaged = outlook.engaged;
  v.transport = outlook.transport;
  v.externalName = outlook.externalName;
  v.gdrState = GdrState::NotApplicable;
}

/// What specs and listings say beside the log.
struct Beside {
  std::optional<Outlook> spec, ports;

  // The stronger one that has an answer; else the stronger one there is.
  const Outlook* decisive() const {
    for (const auto* o : {&spec, &ports})
      if (*o && (*o)->engaged != Engaged::Unknown) return &**o;
    for (const auto* o : {&spec, &ports})
      if (*o) return &**o;
    return nullptr;
  }

  int exitCode() const {
    int worst = kGood;
    for (const auto* o : {&spec, &ports})
      if (*o) worst = std::max(worst, (*o)->exitCode);
    return worst;
  }
};

int exitCodeOf(const JobVerdict& v, const LogVerdict& log, const Beside& beside, bool logDecides,
               bool ranButSilent) {
  if (v.job.requirement == Met::Violated) return kNotEngaged;
  switch (v.job.engaged) {
    case Engaged::No:
    case Engaged::Partial:
      return kNotEngaged;
    case Engaged::NotNeeded:
      return log.failure ? kDegraded : kGood;
    case Engaged::Yes:
      return log.failure || !v.job.missing.empty() || !v.job.degraded.empty() ? kDegraded : kGood;
    case Engaged::Unknown:
      break;
  }
  if (logDecides) return kUnknown;
  if (!beside.decisive()) return kUnknown;
  // A run that left errors or figures and no word of its network cannot be judged by its spec.
  return ranButSilent ? std::max(beside.exitCode(), kUnknown) : beside.exitCode();
}

}  // namespace

JobVerdict judgeJob(const JobFacts& job, const Requirement& wanted) {
  const LogVerdict log = judgeLog(job);
  const Beside beside{specOutlook(job), listingOutlook(job)};
  JobFindings found = findingsOf(job, log);

  JobVerdict v;
  v.job.missing = std::move(found.missing);
  v.job.degraded = std::move(found.degraded);
  v.job.notes = std::move(found.notes);
  v.causes = std::move(found.causes);
  const bool logDecides = log.engaged != Engaged::Unknown || log.net.decided();
  const Outlook* outlook = beside.decisive();
  if (logDecides || !outlook) {
    v.job.engaged = log.engaged;
    v.job.transport = log.net.transport;
    if (log.net.transport == Transport::External) v.job.externalName = log.net.name;
    v.job.gdrState = log.gdr;
    v.job.gdr = mechanismOf(job, log.gdr);
  } else {
    take(*outlook, v.job);
    // Something ran: its GPUDirect state is not known rather than none.
    if (log.any && v.job.engaged == Engaged::Unknown) v.job.gdrState = GdrState::Unknown;
  }
  v.job.evidence = log.evidence;
  for (const auto* o : {&beside.spec, &beside.ports})
    if (*o)
      v.job.evidence.insert(v.job.evidence.end(), (*o)->evidence.begin(), (*o)->evidence.end());

  v.nodes = log.nodes;
  for (const CommNet& comm : log.comms) v.communicators.push_back(commVerdict(job, comm));
  for (const RankNet* r : log.off) v.offRanks.push_back(rankVerdict(job, *r));
  const bool off = log.engaged == Engaged::No || log.engaged == Engaged::Partial;
  if (off && v.job.missing.empty() && v.causes.empty() && !log.setupFailure)
    v.job.missing.push_back(unknownCause(log));

  judgeRequirement(wanted, v.job);
  const bool ranButSilent = log.any || !job.run.tables.empty();
  v.exitCode = exitCodeOf(v, log, beside, logDecides, ranButSilent);
  v.gather = whatToGather(job, v, log);
  v.sentence = verdictSentence(v, log);
  if (!logDecides && outlook && !outlook->sentence.empty()) v.sentence = outlook->sentence;
  return v;
}

}  // namespace rdmaguard::engine
