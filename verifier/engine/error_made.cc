// See error_rules.h: failures that no single line tells.
#include "verifier/engine/case.h"
#include "verifier/engine/error_case.h"
#include "verifier/engine/rules_run.h"

namespace rdmaguard::engine {
namespace {

/// The first line of a run that crashed, as a warning at its exit tells.
const Event* crashBefore(const JobFacts& job, std::uint32_t file) {
  for (const Event& e : job.run.events)
    if (e.id == "destroy-process-group-warning" && e.at.file != file) return &e;
  return nullptr;
}

/// A communicator that began and did not complete in a log that nothing else ends.
void addInitHang(const JobFacts& job, std::vector<Event>& out) {
  for (const ProcessLog& p : job.log.processes)
    for (const CommLog& comm : p.comms) {
      if (!comm.started || comm.complete || comm.opLines > 0) continue;
      if (!crashBefore(job, p.file)) continue;
      Event e;
      e.id = "init-hang-after-crash";
      e.phase = Phase::Setup;
      e.text = "Init START without Init COMPLETE, after a run that crashed";
      e.at = comm.first;
      out.push_back(std::move(e));
      return;
    }
}

/// What verify says of a program's own figure beside nccl-tests.
void addHarness(const JobFacts& job, std::vector<Event>& out) {
  const NodeFacts node;
  const Selection seen;
  if (!harnessDiffers(Case(node, seen, &job))) return;
  for (const Event& e : job.run.events) {
    if (e.id != "harness-figure") continue;
    out.push_back(e);
    out.back().id = "harness-result-differs";
    out.back().failure = true;
    return;
  }
}

}  // namespace

std::vector<Event> madeEvents(const JobFacts& job) {
  std::vector<Event> out;
  addInitHang(job, out);
  addHarness(job, out);
  return out;
}

}  // namespace rdmaguard::engine
