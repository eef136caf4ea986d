// The report of `rdmaguard verify` for people. Pure.
#pragma once

#include <string>

#include "verifier/cli/report.h"
#include "verifier/engine/judge_job.h"
#include "verifier/readers/input.h"

namespace rdmaguard::cli {

/// The verdict in one sentence, then transport, GPUDirect RDMA, missing conditions, the fix in
/// order, degraded signals, notes, busbw, communicators, what to gather, evidence with file and
/// line. A section with nothing in it is left out. The same input gives the same bytes.
std::string reportText(const engine::JobVerdict& verdict, const readers::InputResult& input,
                       const ReportStyle& style);

}  // namespace rdmaguard::cli
