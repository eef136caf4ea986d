// An explanation as JSON: docs/explain.schema.json. Pure, any thread; allocates.
#pragma once

#include <nlohmann/json.hpp>

#include "verifier/engine/explain.h"

namespace rdmaguard::engine {

nlohmann::ordered_json toJson(const Explanation& explanation, const JobFacts& facts);

}  // namespace rdmaguard::engine
