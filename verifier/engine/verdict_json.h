// A verdict as JSON: the one schema of `rdmaguard verify --json`, preflight and the
// guard's JSON lines. Pure, any thread; allocates.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verifier/engine/verdict.h"

namespace rdmaguard::engine {

/// What to do, in order, each once: the fixes of the missing conditions, then of the degraded
/// signals.
std::vector<std::string> orderedFix(const Verdict& verdict);

/// {"id", "also": [] (other ids of the same condition, where there are any), "what", "fix",
/// "certainty", "evidence": [{"fact", "source", "certainty"}]}
nlohmann::ordered_json toJson(const Finding& finding);

/// {"rdma_engaged": yes|no|partial|unknown|not_needed, "transport" (an external plugin's own
/// name for one, then "external_name" too), "gdr": enabled|disabled|partial|unknown|n/a,
/// "gdr_mechanism": peermem|dmabuf (where known), "requirement_met": yes|violated|unknown,
/// "violation" (when violated), "missing_conditions": [], "degraded_signals": [], "notes": [],
/// "fix": [] (sentences in order), "evidence": []}
nlohmann::ordered_json toJson(const Verdict& verdict);

/// One line of text; bytes that are no UTF-8 become U+FFFD instead of an error.
std::string oneLine(const nlohmann::ordered_json& value);

}  // namespace rdmaguard::engine
