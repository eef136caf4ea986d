// The rule that holds a log against the spec beside it. Called through the table of rules_run.h.
#include <algorithm>

#include "verifier/engine/rules_run.h"
#include "verifier/engine/rules_run_facts.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// Extended resources, whose requests must equal their limits; the kubelet's own know no domain or
// kubernetes.io.
bool isExtended(std::string_view key) {
  const auto slash = key.find('/');
  return slash != std::string_view::npos && !key.substr(0, slash).ends_with("kubernetes.io");
}

const SpecQuantity* refusedOf(const SpecContainer& container) {
  for (const SpecQuantity& request : container.requests) {
    if (!isExtended(request.key) || !request.known || request.value <= 0) continue;
    const bool limited = std::any_of(container.limits.begin(), container.limits.end(),
                                     [&](const SpecQuantity& l) { return l.key == request.key; });
    if (!limited) return &request;
  }
  return nullptr;
}

}  // namespace

MaybeFinding specCannotMatchPod(const Case& c) {
  if (!c.job || c.job->log.processes.empty()) return std::nullopt;
  for (const SpecRole& role : c.job->specs.roles)
    for (const SpecContainer& container : role.containers) {
      const SpecQuantity* refused = refusedOf(container);
      if (!refused) continue;
      const ProcessLog& process = c.job->log.processes.front();
      const Place said =
          process.networks.empty() ? Place{process.file, 0} : process.networks.front().at;
      return findingOf(
          cat("The job ran, and the API server refuses this spec (", refused->key,
              " in requests without limits): the pod that ran is of another one."),
          {{cat("Container ", container.name, " requests ", refused->key, " and sets no limit."),
            c.job->source(refused->at), Certainty::Told},
           {"The job's processes ran and logged.", c.job->source(said), Certainty::Told}},
          Certainty::Inferred);
    }
  return std::nullopt;
}

}  // namespace rdmaguard::engine
