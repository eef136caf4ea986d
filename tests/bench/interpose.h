// Counts of allocations and lock operations made by the measured threads, by standing in front of
// the C library's own functions. For profiler_bench only.
#pragma once

#include <cstdint>

namespace bench {

struct Interposed {
  std::uint64_t allocations = 0;  ///< malloc, calloc, realloc, free, aligned forms
  std::uint64_t locks = 0;        ///< mutex, rwlock, spin lock, condition variable, semaphore
};

/// While it lives, calls on this thread are counted.
class CountingHere {
 public:
  CountingHere();
  ~CountingHere();
  CountingHere(const CountingHere&) = delete;
  CountingHere& operator=(const CountingHere&) = delete;
};

/// Whether a plugin's calls really meet the counting functions.
bool interposed();

/// Counts of all threads since the last call.
Interposed takeCounts();

}  // namespace bench
