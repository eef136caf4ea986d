// A judged job in plain words: the sentence a report begins with, and what to collect where the
// answer is unknown. Used by judge_job.cc. Pure.
#pragma once

#include <string>
#include <vector>

#include "verifier/engine/judge_job.h"
#include "verifier/engine/judge_log.h"

namespace rdmaguard::engine {

/// The verdict in one sentence, with what a fallback costs.
std::string verdictSentence(const JobVerdict& verdict, const LogVerdict& log);

/// What to run or collect next; empty where nothing is missing.
std::vector<std::string> whatToGather(const JobFacts& job, const JobVerdict& verdict,
                                      const LogVerdict& log);

}  // namespace rdmaguard::engine
