// A process of a log as the rule table wants it: node facts and a selection, out of its lines and
// of what else the input says of the node. Pure.
#pragma once

#include <vector>

#include "verifier/engine/judge_log.h"
#include "verifier/engine/selection.h"

namespace rdmaguard::engine {

/// What an input without a process says of a node: `env` output, `ulimit -l`.
NodeFacts nodeOfInput(const JobFacts& job);

/// What the containers and scripts of the input's specs set, each as a node of its own; those that
/// set nothing are left out. `hostname` names the container or script.
std::vector<NodeFacts> nodesOfSpecs(const JobFacts& job);

/// `process` and what the input says of its node beside.
NodeFacts nodeOfProcess(const JobFacts& job, const ProcessLog& process);

/// The network of `rank` in `comm`.
Selection selectionOf(const JobFacts& job, const CommNet& comm, const RankNet& rank);

/// The job as a whole.
Selection selectionOf(const LogVerdict& log);

/// "2.26.2" or "2.18.3+cuda12.2" as ncclGetVersion counts: 22602, 21803; 0 for anything else.
int versionCode(std::string_view version) noexcept;

}  // namespace rdmaguard::engine
