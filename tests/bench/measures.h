// What profiler_bench measures, as plain functions that return nanoseconds; registered with Google
// Benchmark by profiler_bench.cc.
#pragma once

#include <cstddef>
#include <vector>

#include "interpose.h"
#include "profiler_under_test.h"

namespace bench {

/// Collectives in one timed stretch.
inline constexpr int kBatch = 32;

/// Ticks of the processor's clock, and what one lasts.
std::uint64_t ticks();
double nsPerTick();

/// One callback kind, warm: ns for each of `kBatch` (or 16 x kBatch) calls in a row.
struct CallbackKind {
  const char* name;
  bool perChannel;
};
const std::vector<CallbackKind>& callbackKinds();
/// ns a call of each kind, over one batch. Indexed as callbackKinds().
std::vector<double> perCallback(const ProfilerUnderTest& profiler);

/// One collective, warm: ns on the launching thread and on the proxy thread.
struct Sides {
  double launchNs = 0;
  double proxyNs = 0;
};
Sides perCollective(const ProfilerUnderTest& profiler);

/// One collective a millisecond, launching and proxy thread each on a processor of its own, each
/// walking through `polluteBytes` of memory of its own in between.
class Paced {
 public:
  explicit Paced(std::size_t polluteBytes);
  ~Paced();
  Paced(const Paced&) = delete;
  Paced& operator=(const Paced&) = delete;
  Sides once(const ProfilerUnderTest& profiler);

 private:
  struct State;
  State* state_;
};

}  // namespace bench
