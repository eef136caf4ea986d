// Rules about bandwidth tests: nccl-tests, rccl-tests and tests of one's own. Called through the
// table of rules_run.h.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "verifier/engine/baseline.h"
#include "verifier/engine/rules_run.h"
#include "verifier/engine/rules_run_facts.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

std::string figure(double gbps) {
  const auto hundredths = std::llround(gbps * 100);
  std::string text = std::to_string(hundredths / 100) + ".";
  if (hundredths % 100 < 10) text += '0';
  return text + std::to_string(hundredths % 100) + " GB/s";
}

double bestOf(const PerfTable& t) {
  double best = 0;
  for (const BusbwRow& row : t.rows) best = std::max(best, row.busbw);
  return best;
}

bool wrongIn(const PerfTable& t) {
  return t.outOfBounds > 0 || std::any_of(t.rows.begin(), t.rows.end(),
                                          [](const BusbwRow& row) { return row.wrong > 0; });
}

bool passed(const PerfTable& t) {
  return !t.tool.empty() && !t.failed && !wrongIn(t) && !t.everyRankAlone && bestOf(t) > 0;
}

Evidence evidenceOf(const JobFacts& job, const PerfTable& t) {
  const std::string name = t.op.empty() ? "A bandwidth test" : "A test of " + t.op;
  return {cat(name, t.failed ? " failed" : " ran", ", its best busbw is ", figure(bestOf(t)), "."),
          job.source(t.rows.empty() ? t.at : t.rows.back().at), Certainty::Told};
}

const Event* remarkIn(const JobFacts& job, std::uint32_t file) {
  for (const Event& e : job.run.events)
    if (e.id == "same-nodes" && e.at.file == file) return &e;
  return nullptr;
}

// An error that is not the failed test's own: of another file, or, in one paste, of a job that
// waited in vain.
const Event* failureBeside(const JobFacts& job, const Event& test) {
  for (const Event& e : job.run.events) {
    if (!e.failure || e.id == "nccl-test-failed") continue;
    if (e.at.file != test.at.file || e.id == "watchdog-timeout") return &e;
  }
  return nullptr;
}

bool logBeside(const JobFacts& job, std::uint32_t file) {
  return std::any_of(job.log.processes.begin(), job.log.processes.end(),
                     [file](const ProcessLog& p) { return p.file != file; });
}

bool within(const std::vector<std::string>& few, const std::vector<std::string>& all) {
  return !few.empty() && std::all_of(few.begin(), few.end(), [&all](const std::string& host) {
    return std::find(all.begin(), all.end(), host) != all.end();
  });
}

}  // namespace

MaybeFinding harnessDiffers(const Case& c) {
  if (!c.job) return std::nullopt;
  constexpr double kMuchSlower = 2;
  for (const Event& e : c.job->run.events) {
    if (e.id != "harness-figure") continue;
    double own = 0;
    std::from_chars(e.detail.data(), e.detail.data() + e.detail.size(), own);
    for (const PerfTable& t : c.job->run.tables) {
      if (!passed(t) || own <= 0 || bestOf(t) < own * kMuchSlower) continue;
      std::string op = t.op;
      std::erase(op, '_');
      if (!op.empty() && e.detail.find(op) == std::string::npos) continue;
      return findingOf(
          cat("The program's own test measures ", figure(own), " where ", t.tool, " reaches ",
              figure(bestOf(t)), ": sizes and timing of the former come before the fabric."),
          {evidenceOf(*c.job, e), evidenceOf(*c.job, t)}, Certainty::Inferred);
    }
  }
  return std::nullopt;
}

MaybeFinding belowBaseline(const Case& c) {
  if (!c.job) return std::nullopt;
  const BusbwRow* worst = nullptr;
  for (const PerfTable& t : c.job->run.tables)
    for (const BusbwRow& row : t.rows)
      if (row.standing == BusbwRow::Standing::Below &&
          (!worst || row.busbw * worst->expectedBusbw < worst->busbw * row.expectedBusbw))
        worst = &row;
  if (!worst) return std::nullopt;
  return findingOf(cat(worst->op, " reaches ", figure(worst->busbw), " where the baseline has ",
                       figure(worst->expectedBusbw), "."),
                   {{cat("The bus bandwidth is ", standingOf(*worst), "."),
                     c.job->source(worst->at), Certainty::Told}},
                   Certainty::Told);
}

MaybeFinding wrongResults(const Case& c) {
  if (!c.job) return std::nullopt;
  for (const PerfTable& t : c.job->run.tables) {
    if (!wrongIn(t)) continue;
    return findingOf("A bandwidth test counts elements with wrong values.", {evidenceOf(*c.job, t)},
                     Certainty::Told);
  }
  return std::nullopt;
}

MaybeFinding testFailedSameNodes(const Case& c) {
  if (!c.job) return std::nullopt;
  for (const Event& e : c.job->run.events) {
    if (e.id != "nccl-test-failed") continue;
    const Event* job = failureBeside(*c.job, e);
    const Event* remark = remarkIn(*c.job, e.at.file);
    const auto hosts = hostsOfLog(*c.job);
    const bool listed = std::find(hosts.begin(), hosts.end(), e.host) != hosts.end() &&
                        logBeside(*c.job, e.at.file);
    if (!job || (!remark && !listed)) continue;
    return findingOf(
        "nccl-tests fails on the nodes the job failed on: now nodes and fabric are the suspects.",
        {evidenceOf(*c.job, e), evidenceOf(*c.job, *job)}, Certainty::Told);
  }
  return std::nullopt;
}

MaybeFinding testPassedSameNodes(const Case& c) {
  if (!c.job) return std::nullopt;
  for (const PerfTable& t : c.job->run.tables) {
    if (!passed(t)) continue;
    // Its own log beside the table names the same hosts and shows nothing of another job.
    const bool sameHosts = within(t.hosts, hostsOfLog(*c.job)) && logBeside(*c.job, t.at.file);
    const bool said = remarkIn(*c.job, t.at.file) && !c.job->log.processes.empty();
    if (!sameHosts && !said) continue;
    return findingOf("nccl-tests passes on the job's nodes: the difference is in the job.",
                     {evidenceOf(*c.job, t)}, Certainty::Told);
  }
  return std::nullopt;
}

MaybeFinding allReduceCertifiesLittle(const Case& c) {
  if (!c.job) return std::nullopt;
  const PerfTable* allReduce = nullptr;
  for (const PerfTable& t : c.job->run.tables) {
    if (!passed(t)) continue;
    if (t.op.starts_with("alltoall")) return std::nullopt;
    if (t.op == "all_reduce") allReduce = &t;
  }
  if (!allReduce) return std::nullopt;
  for (const Event& e : c.job->run.events) {
    if (!e.failure || (e.phase != Phase::Data && e.id != "nccl-test-failed")) continue;
    return findingOf(
        "All-reduce passes, and connects few of the pairs of ranks: it clears neither the pair "
        "that fails nor all-to-all.",
        {evidenceOf(*c.job, *allReduce), evidenceOf(*c.job, e)}, Certainty::Inferred);
  }
  return std::nullopt;
}

MaybeFinding everyRankAlone(const Case& c) {
  if (!c.job) return std::nullopt;
  for (const PerfTable& t : c.job->run.tables) {
    if (!t.everyRankAlone) continue;
    return findingOf("Every process of the test was a job of one rank: nothing was sent.",
                     {evidenceOf(*c.job, t)}, Certainty::Inferred);
  }
  return std::nullopt;
}

}  // namespace rdmaguard::engine
