// The report of `rdmaguard verify` for people. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "verifier/engine/judge_job.h"
#include "verifier/readers/input.h"

namespace rdmaguard::cli {

struct ReportStyle {
  bool color = false;
  std::size_t width = 0;  ///< columns to wrap at; 0: lines are left whole
};

/// The verdict in one sentence, then transport, GPUDirect RDMA, missing conditions, the fix in
/// order, degraded signals, notes, busbw, communicators, what to gather, evidence with file and
/// line. A section with nothing in it is left out. The same input gives the same bytes.
std::string reportText(const engine::JobVerdict& verdict, const readers::InputResult& input,
                       const ReportStyle& style);

}  // namespace rdmaguard::cli
