// The JSON that nccl-tests (-J) and rccl-tests (-Z json) write.
#pragma once

#include <string_view>

#include "verifier/readers/perf_tables.h"

namespace rdmaguard::readers {

/// A whole JSON value. False, with nothing added: it holds no measured bandwidth.
bool readPerfJson(std::string_view text, engine::Place at, PerfTables& out);

}  // namespace rdmaguard::readers
