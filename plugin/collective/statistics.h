// Live statistics of one communicator, per operation and power-of-two message size. Owned by the
// thread that drains (plugin/report); no other thread may touch it.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "plugin/collective/finished.h"

namespace rdmaguard::collective {

/// Distribution of positive values with 2 % resolution, in 4 KB: from 0.0001 over almost nine
/// decades (as GB/s: 100 KB/s to 60 TB/s); what lies outside counts at the edge.
class LogHistogram {
 public:
  void add(double value);
  /// Value below which a share `q` (0 to 1) of the values lies, within 2 %; 0 when empty.
  double quantile(double q) const;
  std::uint64_t count() const { return count_; }

 private:
  static constexpr double kLowest = 1e-4;
  static constexpr std::size_t kBuckets = 1024;
  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

/// Operation and the power of two at or below the message size.
struct SizeClass {
  Operation operation = Operation::Unknown;
  unsigned log2Bytes = 0;
  auto operator<=>(const SizeClass&) const = default;
};

/// What is known of one size class.
struct SizeStatistics {
  std::uint64_t count = 0;    ///< collectives, timed or not
  std::uint64_t untimed = 0;  ///< of those, without a duration
  std::uint64_t bytes = 0;    ///< message bytes of all
  std::uint64_t timedBytes = 0;
  std::uint64_t totalNs = 0;  ///< sum of durations; collectives that overlap count twice
  std::uint64_t minNs = 0;    ///< 0 while none was timed
  std::uint64_t maxNs = 0;
  double minBusbw = 0;  ///< GB/s, over those with a busbw
  double maxBusbw = 0;
  double sumBusbw = 0;
  LogHistogram busbw;  ///< GB/s

  double meanBusbw() const { return busbw.count() ? sumBusbw / double(busbw.count()) : 0; }
};

/// All size classes of one communicator.
class Statistics {
 public:
  void add(const Finished& finished);
  const std::map<SizeClass, SizeStatistics>& classes() const { return classes_; }
  void clear() { classes_.clear(); }

 private:
  std::map<SizeClass, SizeStatistics> classes_;
};

}  // namespace rdmaguard::collective
