// What pod specs and batch scripts ask for: filled by verifier/readers (spec, batch), judged by
// the rows of rules_spec.h. Values only.
#pragma once

#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/place.h"

namespace rdmaguard::engine {

/// All specs of the input.
struct SpecFacts {
  bool any = false;  ///< the input held a spec, a batch script or what was meant as one
};

}  // namespace rdmaguard::engine
