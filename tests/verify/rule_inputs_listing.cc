// The rules that look at port listings and environments: see rule_inputs.h.
#include "rule_inputs.h"

namespace rdmaguard::verify {

std::vector<RuleInput> listingRuleInputs() {
  return {};
}

}  // namespace rdmaguard::verify
