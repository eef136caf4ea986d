// See rules_spec.h.
#include "verifier/engine/rules_spec.h"

#include "verifier/engine/judge_job.h"

namespace rdmaguard::engine {

std::optional<Outlook> specOutlook(const JobFacts&) {
  return std::nullopt;
}

}  // namespace rdmaguard::engine
