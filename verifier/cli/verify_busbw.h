// The measured bus bandwidths of an input as lines of a report. Pure.
#pragma once

#include <string>
#include <vector>

#include "verifier/engine/job_facts.h"

namespace rdmaguard::cli {

/// A line a table and one a figure worth reading: its fastest row, its largest size, its average.
/// Each says whether a baseline stands behind it.
std::vector<std::string> busbwLines(const engine::JobFacts& facts);

}  // namespace rdmaguard::cli
