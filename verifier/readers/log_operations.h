// Counts of "AllReduce: opCount ..." lines, by communicator: with NCCL_DEBUG_SUBSYS=COLL they are
// most of a log. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/log_facts.h"

namespace rdmaguard::readers::nccl_log {

/// A word of at most 16 bytes, compared as two numbers: its beginning and its end.
struct ShortWord {
  std::uint64_t front = 0, back = 0;
  std::uint8_t size = 0;

  static constexpr std::size_t kLongest = 16;
  /// `word` is followed by at least 8 bytes that may be read.
  static ShortWord of(std::string_view word);
  std::string text() const;
  friend bool operator==(const ShortWord&, const ShortWord&) = default;
};

/// Of one process. Small, for every line of such a log looks here: the first communicators stand
/// in the object itself.
class Operations {
 public:
  static constexpr std::uint32_t kNoComm = ~0U;

  /// Counts one operation of the communicator at `pointer`. False: not known here; see add().
  bool count(const ShortWord& pointer, const ShortWord& operation) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (i < kInside && backs_[i] != pointer.back) continue;
      Entry& e = entry(i);
      if (!(e.pointer == pointer)) continue;
      ++e.lines;
      e.last = operation;
      return true;
    }
    return false;
  }

  /// From now on `pointer` means comms[comm], or none of them (kNoComm).
  void add(const ShortWord& pointer, std::uint32_t comm, std::vector<engine::CommLog>& comms);

  /// Hands what was counted to the communicators. Pointers are to be added anew after it.
  void flush(std::vector<engine::CommLog>& comms);

 private:
  static constexpr std::size_t kInside = 4;
  // A process with more communicators in use at a time pays for it.
  static constexpr std::size_t kMost = 32;
  struct alignas(64) Entry {
    ShortWord pointer, last;
    std::uint64_t lines = 0;
    std::uint32_t comm = 0;
  };
  Entry& entry(std::size_t i) { return i < kInside ? inside_[i] : further_[i - kInside]; }
  void set(std::size_t i, const Entry& e);
  static void hand(const Entry& e, std::vector<engine::CommLog>& comms);

  std::uint32_t size_ = 0;
  std::uint32_t next_ = 0;  ///< the entry to give up where there are kMost
  /// Of inside_: beside what else a line touches, so that it touches one entry only.
  std::array<std::uint64_t, kInside> backs_{};
  std::array<Entry, kInside> inside_{};
  std::vector<Entry> further_;
};

}  // namespace rdmaguard::readers::nccl_log
