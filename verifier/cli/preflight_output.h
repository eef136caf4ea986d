// What `rdmaguard preflight` prints: for people and as JSON. Pure.
#pragma once

#include <string>

#include "verifier/cli/report.h"
#include "verifier/engine/facts.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/selection.h"
#include "verifier/nccl/dry_run.h"
#include "verifier/readers/input.h"

namespace rdmaguard::cli {

/// All that a preflight found.
struct Preflight {
  engine::NodeFacts node;
  engine::Selection seen;
  nccl::DryRun dryRun;
  readers::InputResult spec;  ///< of --pod; no files: none was given
  engine::JobVerdict verdict;
};

/// The verdict in one sentence, what is missing and the fix, then the node's devices and what NCCL
/// did. The same facts give the same bytes.
std::string preflightText(const Preflight& all, const ReportStyle& style);

/// The object of docs/verdict.schema.json, with "node", and "nccl" where it was asked.
std::string preflightJson(const Preflight& all);

}  // namespace rdmaguard::cli
