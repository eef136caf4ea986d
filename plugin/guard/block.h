// The block a violation prints: what, evidence, causes, ordered fix, cost, what happens
// now. Pure; read by a person in the middle of a job's log.
#pragma once

#include <string>

#include "plugin/guard/observe.h"
#include "plugin/guard/policy.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::guard {

/// `ncclVersion` is "2.28.9" or empty, `devices` the devices NCCL listed ("none").
std::string violationBlock(const CommunicatorFacts& comm, const engine::Verdict& verdict,
                           const std::string& ncclVersion, const std::string& devices,
                           const Policy& policy);

/// The same in one line, for the processes of a node that do not print the block.
std::string violationLine(const CommunicatorFacts& comm, const engine::Verdict& verdict,
                          const Policy& policy);

}  // namespace rdmaguard::guard
