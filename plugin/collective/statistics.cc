// See statistics.h.
#include "plugin/collective/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rdmaguard::collective {
namespace {
const double kLogStep = std::log(1.02);
}

void LogHistogram::add(double value) {
  if (!(value > 0)) return;
  const double at = std::log(value / kLowest) / kLogStep;
  const auto bucket = static_cast<std::size_t>(std::clamp(at, 0.0, double(kBuckets - 1)));
  ++buckets_[bucket];
  ++count_;
}

double LogHistogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const auto wanted =
      static_cast<std::uint64_t>(std::clamp(std::ceil(q * double(count_)), 1.0, double(count_)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    below += buckets_[i];
    // The bucket's geometric middle: at most 1 % from any value in it.
    if (below >= wanted) return kLowest * std::exp((double(i) + 0.5) * kLogStep);
  }
  return 0;
}

void Statistics::add(const Finished& finished) {
  const SizeClass key{finished.operation,
                      finished.bytes == 0 ? 0U : unsigned(std::bit_width(finished.bytes) - 1)};
  SizeStatistics& s = classes_[key];
  ++s.count;
  s.bytes += finished.bytes;
  if (finished.untimed != Untimed::No) {
    ++s.untimed;
    return;
  }
  const bool first = s.count - s.untimed == 1;
  s.timedBytes += finished.bytes;
  s.totalNs += finished.durationNs;
  s.minNs = first ? finished.durationNs : std::min(s.minNs, finished.durationNs);
  s.maxNs = std::max(s.maxNs, finished.durationNs);
  if (!(finished.busbw > 0)) return;
  s.minBusbw = s.busbw.count() == 0 ? finished.busbw : std::min(s.minBusbw, finished.busbw);
  s.maxBusbw = std::max(s.maxBusbw, finished.busbw);
  s.sumBusbw += finished.busbw;
  s.busbw.add(finished.busbw);
}

}  // namespace rdmaguard::collective
