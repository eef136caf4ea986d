// The file that `rdmaguard verify --baseline` names.
#pragma once

#include <string>

#include "verifier/engine/baseline.h"

namespace rdmaguard::readers {

/// A list of figures in JSON (baselineOfJson), or what nccl-tests or rccl-tests printed, as text or
/// with -J. Never throws for what a file holds; `problem` says why it cannot be used.
engine::Baseline readBaseline(const std::string& path);

}  // namespace rdmaguard::readers
