// A node's facts as JSON: what `rdmaguard preflight --json` says of the node. Pure; allocates.
#pragma once

#include <nlohmann/json.hpp>

#include "verifier/engine/facts.h"

namespace rdmaguard::engine {

/// The object #/$defs/node of docs/verdict.schema.json. What is not known is null or left out.
nlohmann::ordered_json toJson(const NodeFacts& node);

}  // namespace rdmaguard::engine
