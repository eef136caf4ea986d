// What a user might paste for each rule that judges a whole input: one text that makes the rule
// hold and one that differs in little and must not. For rule_inputs_test.cc. The rules of one
// process have their cases in tests/engine/rule_cases.cc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmaguard::verify {

struct RuleInput {
  std::string_view id;  ///< of the row in rules()
  std::string fires;
  std::string nearMiss;
  std::string baseline{};  ///< figures to compare with, as JSON; empty: none is given
};

/// `text` with each `from` of the pairs (which must be there) replaced by its `to`, once.
std::string with(std::string_view text,
                 const std::vector<std::pair<std::string_view, std::string_view>>& changes);

// One file a topic: rule_inputs_<topic>.cc.
std::vector<RuleInput> logRuleInputs();
std::vector<RuleInput> specRuleInputs();
std::vector<RuleInput> listingRuleInputs();
std::vector<RuleInput> envRuleInputs();
std::vector<RuleInput> runRuleInputs();

}  // namespace rdmaguard::verify
