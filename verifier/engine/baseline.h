// Bus bandwidths to compare with: what the same operation reached with as many GPUs under the same
// NCCL version. Without such a figure a bandwidth says nothing of the fabric. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/job_facts.h"

namespace rdmaguard::engine {

/// One figure to compare with.
struct BaselineFigure {
  std::string op;               ///< "all_reduce", as nccl-tests names its programs
  bool average = false;         ///< the average over the sizes from minBytes to maxBytes
  std::uint64_t sizeBytes = 0;  ///< 0 for an average
  int gpus = 0;
  std::string ncclVersion;  ///< "2.29.3"
  double gbps = 0;
  std::uint64_t minBytes = 0, maxBytes = 0;  ///< of an average; 0 = not said
};

struct Baseline {
  std::vector<BaselineFigure> figures;
  std::string problem;  ///< a sentence; empty when all was understood

  bool usable() const { return problem.empty() && !figures.empty(); }
};

/// A figure at or above this part of its baseline stands; nccl-tests takes the same for
/// NCCL_TESTS_MIN_BW.
inline constexpr double kEnoughOfBaseline = 0.9;

/// {"figures": [{"op": "all_reduce", "size_bytes": 8589934592, "gpus": 16, "nccl": "2.29.3",
/// "gbps": 185.5}, ...]}, or the list alone; {"avg": true} in place of the size. Anything else is a
/// problem that names the entry.
Baseline baselineOfJson(std::string_view text);

/// The figures of tables that name GPU count and NCCL version (by their own lines or by the log
/// beside them). Those that do not are left out; none left is a problem.
Baseline baselineOfTables(const JobFacts& run);

/// Sets `standing`, `expectedBusbw` and `unverifiedBecause` of every row of `job`.
void compare(JobFacts& job, const Baseline& baseline);

/// "103 % of the baseline", "unverified vs baseline (no figure for 16 GPUs, NCCL 2.29.3)".
std::string standingOf(const BusbwRow& row);

}  // namespace rdmaguard::engine
