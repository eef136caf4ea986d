// Rows of the rule table for settings and node facts that a paste shows: UCX, retry count,
// locked memory, package versions. Joined into the table by rules.cc; predicates in
// rules_env*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

inline constexpr std::array<Rule, 0> kEnvRules{};

}  // namespace rdmaguard::engine
