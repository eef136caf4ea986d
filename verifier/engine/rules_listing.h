// Rows of the rule table for what ibstat and its like list. Joined into the
// table by rules.cc; predicates in rules_listing*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

inline constexpr std::array<Rule, 0> kListingRules{};

}  // namespace rdmaguard::engine
