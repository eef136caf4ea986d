// Ranks put together into communicators, and what each communicator as a whole is on. Used by
// judge_log.cc. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "verifier/engine/judge_log.h"

namespace rdmaguard::engine {

/// GPUDirect RDMA over the ranks that are on RDMA.
class GdrTally {
 public:
  void add(const CommNet& comm);
  GdrState state() const;

 private:
  struct Counts {
    std::uint64_t enabled = 0, disabled = 0, partial = 0;
  };
  Counts channels_, lines_;  ///< ranks whose channels show it, and the others
  std::uint64_t ringsOn_ = 0, ringsOff_ = 0;
};

/// Every communicator of the log, judged.
std::vector<CommNet> communicators(const JobFacts& job);

}  // namespace rdmaguard::engine
