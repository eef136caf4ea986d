// See rules_listing.h.
#include "verifier/engine/rules_listing.h"

#include "verifier/engine/judge_job.h"

namespace rdmaguard::engine {

std::optional<Outlook> listingOutlook(const JobFacts&) {
  return std::nullopt;
}

}  // namespace rdmaguard::engine
