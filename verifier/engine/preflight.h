// The verdict before the job: what NCCL would select on a node for a job of several nodes, from
// the node's facts alone or from a dry run of the real library. Pure, any thread; allocates.
#pragma once

#include "verifier/engine/facts.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/selection.h"

namespace rdmaguard::engine {

/// What NCCL would select by its own rules, from the facts alone. Transport::Unknown where they
/// cannot tell: a net plugin is named, or the devices could not be read.
Selection foreseen(const NodeFacts& node);

/// The answer of `rdmaguard preflight`. `seen` is planned: what would be selected, not what was.
JobVerdict judgePreflight(const NodeFacts& node, const Selection& seen, const Requirement& wanted);

/// Adds what a spec lacks, as judgeJob found it, to the verdict on the node: findings that are not
/// there yet, a sentence, and the worse exit code.
void addSpec(const JobVerdict& spec, JobVerdict& verdict);

}  // namespace rdmaguard::engine
