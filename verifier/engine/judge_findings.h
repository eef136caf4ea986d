// The rule table over a whole input: process by process, listing by listing, then the input at
// once, with equal findings put together. Used by judge_job.cc. Pure.
#pragma once

#include <vector>

#include "verifier/engine/judge_log.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::engine {

/// Findings of an input, each id once.
struct JobFindings {
  std::vector<Finding> missing, degraded, notes;
  std::vector<Finding> causes;  ///< of those, what explains what the log shows
};

JobFindings findingsOf(const JobFacts& job, const LogVerdict& log);

}  // namespace rdmaguard::engine
