// Which collective a job waits for, who reached it and who did not: from PyTorch's watchdog lines
// and NCCL's collective lines of all ranks. Pure, any thread; allocates.
#pragma once

#include <string>
#include <vector>

#include "verifier/engine/job_facts.h"

namespace rdmaguard::engine {

/// One rank beside the collective that the job waits for.
struct RankProgress {
  int rank = -1;
  std::string host;
  long sequence = -1;  ///< what it waits for, else the last it began; -1 = not known
  std::string operation;
  long elementsIn = -1, elementsOut = -1;
  std::string source;  ///< "rank-3.log:17"
};

/// What the waits of one process group show.
struct CollectiveReport {
  std::string group;      ///< "0(default_pg)"; empty = not said
  long sequence = -1;     ///< the collective most ranks wait for; -1: no wait in the input
  std::string operation;  ///< "ALLREDUCE"
  int nRanks = 0;         ///< of the group or job, 0 = not known
  std::vector<RankProgress> waiting;    ///< at `sequence`, by rank
  std::vector<RankProgress> behind;     ///< began less than `sequence`: they never reached it
  std::vector<RankProgress> different;  ///< at `sequence` with another operation or other sizes
  std::vector<int> silent;              ///< ranks with a log and no wait, or without any line
  bool silentKnown = false;             ///< `silent` is complete: the number of ranks is known
  bool allToAll = false;  ///< all-to-all or send/recv: all-reduce would not certify its paths
  bool first = false;     ///< nothing was ever completed: the first collective of the group

  bool any() const { return sequence >= 0; }
};

CollectiveReport collectivesOf(const JobFacts& job);

}  // namespace rdmaguard::engine
