// Rows of the rule table for what NCCL's log lines show of ranks beside each other. Joined into the
// table by rules.cc; predicates in rules_log*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

inline constexpr std::array<Rule, 0> kLogRules{};

}  // namespace rdmaguard::engine
