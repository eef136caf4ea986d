// See error_rules.h: failures that no single line tells.
#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {

std::vector<Event> madeEvents(const JobFacts&) {
  return {};
}

}  // namespace rdmaguard::engine
