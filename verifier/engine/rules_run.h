// Rows of the rule table for errors, kernel messages, storage and measured bandwidth. Joined into
// the table by rules.cc; predicates in rules_run*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

inline constexpr std::array<Rule, 0> kRunRules{};

}  // namespace rdmaguard::engine
