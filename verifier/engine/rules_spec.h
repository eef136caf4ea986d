// Rows of the rule table for what pod specs, batch scripts and environment files ask for. Joined
// into the table by rules.cc; predicates in rules_spec*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

inline constexpr std::array<Rule, 0> kSpecRules{};

}  // namespace rdmaguard::engine
