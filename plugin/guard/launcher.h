// Nodes, ranks and rank of the job as its launcher put them into the environment:
// all that is known at init with profiler v1 to v3 (NCCL 2.23 to 2.26). Pure.
#pragma once

#include <string>

#include "plugin/guard/policy.h"

namespace rdmaguard::guard {

/// Zero and -1 where a launcher did not say. They describe the whole job, of which a
/// communicator may be a part.
struct LauncherSizes {
  int nNodes = 0, nRanks = 0, rank = -1;
  std::string source;  ///< the variables read; empty when there were none
};

/// torchrun, then Slurm, Open MPI, MPICH/Intel MPI (Hydra): the first that says anything.
LauncherSizes launcherSizes(const Lookup& lookup);

}  // namespace rdmaguard::guard
