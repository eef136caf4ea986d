// A dry run in the engine's words. Pure.
#pragma once

#include "verifier/engine/facts.h"
#include "verifier/engine/selection.h"
#include "verifier/nccl/dry_run.h"

namespace rdmaguard::nccl {

/// What the library would select for a job of several nodes; `run` must be Done. Link layers of its
/// devices are those of `node`.
engine::Selection selectionOf(const DryRun& run, const engine::NodeFacts& node);

}  // namespace rdmaguard::nccl
