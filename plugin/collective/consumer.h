// What drain remembers of a communicator between calls. Used by drain.cc and pool.cc only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugin/collective/communicator.h"

namespace rdmaguard::collective {

/// When a slot was last seen to change.
struct Watch {
  std::uint64_t word = 0;
  std::uint64_t times = 0;  ///< digest of its start and stop
  std::uint64_t sinceNs = 0;
};

/// Owned by the thread that drains.
struct Consumer {
  std::uint64_t firstPosition = 0;  ///< ring position at open
  std::uint64_t tail = 0;           ///< every position below is settled
  std::uint64_t handed = 0;
  std::uint64_t untimed = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t lastFinished = 0;                 ///< highest position handed over so far
  std::uint64_t lastStarted = 0;                  ///< highest position that a child was seen of
  std::array<std::uint64_t, 16> answered{};       ///< launches that answer an API call, drained
  std::array<std::uint64_t, 16> answeredBytes{};  ///< per rank
  std::array<std::uint64_t, 16> running{};        ///< the same, not drained yet
  std::array<std::uint64_t, 16> runningBytes{};
  std::uint64_t allPeers = 0;       ///< sum of both peerMark()s over all ranks
  std::uint64_t allPeersRanks = 0;  ///< number of ranks it was made for
  std::vector<Watch> watches = std::vector<Watch>(kSlots);
};

}  // namespace rdmaguard::collective
