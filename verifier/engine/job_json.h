// The whole answer of `rdmaguard verify` as JSON: docs/verdict.schema.json describes it. Pure,
// any thread; allocates.
#pragma once

#include <nlohmann/json.hpp>

#include "verifier/engine/judge_job.h"

namespace rdmaguard::engine {

/// toJson(Verdict) and around it: "schema_version", "verdict" (the sentence), "exit_code", "nodes"
/// (null where not known), "causes", "busbw", "communicators" with their "ranks", "off_ranks",
/// "gather", "files". The same input gives the same bytes.
nlohmann::ordered_json toJson(const JobVerdict& verdict, const JobFacts& facts);

}  // namespace rdmaguard::engine
