// Events of many ranks in one order: what their stamps, the places in their files and the points
// that all pass together tell. Clocks of different hosts are never taken to agree; how far they
// may be apart is bounded by marks, else assumed and said. Pure, any thread; allocates.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "verifier/engine/job_facts.h"

namespace rdmaguard::engine {

/// A time on the job's common scale.
struct Instant {
  double seconds = 0;      ///< since 1970
  double uncertainty = 0;  ///< to either side, seconds
};

/// Two clocks that nothing in the input compares are taken to differ by no more than this.
/// Documented default, not a measured value: NTP keeps hosts within a second, few drift further.
inline constexpr double kAssumedSkewS = 5;

/// One clock: a host's, or that of a file whose host is not known.
struct Clock {
  std::string name;         ///< "node-3", "rank-9.log"
  double offset = 0;        ///< to be added to its stamps, seconds
  double uncertainty = 0;   ///< of `offset`, seconds
  std::uint32_t marks = 0;  ///< points it shares with the reference; 0: nothing bounds it
  bool bootTime = false;    ///< its stamps count from boot
  bool placed = true;       ///< false: its stamps could not be put on the common scale
};

class Timeline {
 public:
  explicit Timeline(const JobFacts& job);

  /// When the first occurrence of `e` was; false: its line has no usable stamp.
  bool when(const Event& e, Instant& out) const;
  /// -1: `a` was before `b` beyond doubt; 1: after; 0: cannot be told. First occurrences. In one
  /// file and of one rank the place decides, else the stamps and their uncertainty.
  int order(const Event& a, const Event& b) const;
  /// The best guess where order() is 0, for display: stamps as they are, then places.
  bool shownBefore(const Event& a, const Event& b) const;

  const std::vector<Clock>& clocks() const { return clocks_; }
  /// One or two sentences: how far clocks are apart here and what that rests on; empty: one clock.
  const std::string& note() const { return note_; }

 private:
  std::size_t clockOf(const std::string& host, std::uint32_t file) const;
  double onScale(double seconds, const Clock& clock, std::uint32_t file) const;
  void readClocks(const JobFacts& job);
  void placeBootTimes(const JobFacts& job);
  void compareClocks(const JobFacts& job);
  void sayNote();

  std::vector<Clock> clocks_;
  std::unordered_map<std::string, std::size_t> byName_;
  std::vector<std::string> fileClock_;  ///< parallel to files: the name of its clock
  std::vector<double> fileDay_;         ///< midnight for stamps without a date; -1 = not known
  std::string note_;
};

}  // namespace rdmaguard::engine
