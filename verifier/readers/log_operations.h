// Counts of "AllReduce: opCount ..." lines, by communicator: with NCCL_DEBUG_SUBSYS=COLL they are
// most of a log. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/log_facts.h"

namespace rdmaguard::readers::nccl_log {

/// A word of at most 16 bytes, compared as two numbers: its beginning and its end.
struct ShortWord {
  std::uint64_t front = 0, back = 0;
  std::uint32_t size = 0;

  static constexpr std::size_t kLongest = 16;
  /// `word` is followed by at least 8 bytes that may be read.
  static ShortWord of(std::string_view word);
  std::string text() const;
  friend bool operator==(const ShortWord&, const ShortWord&) = default;
};

/// Of one process.
class Operations {
 public:
  static constexpr std::uint32_t kNoComm = ~0U;

  /// Counts one operation of the communicator at `pointer`. False: not known here; see add().
  bool count(const ShortWord& pointer, const ShortWord& operation) {
    for (Entry& e : entries_) {
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
  // A process with more communicators in use at a time pays for it.
  static constexpr std::size_t kMost = 32;
  struct Entry {
    ShortWord pointer, last;
    std::uint64_t lines = 0;
    std::uint32_t comm = 0;
  };
  static void hand(const Entry& e, std::vector<engine::CommLog>& comms);

  std::vector<Entry> entries_;
  std::size_t next_ = 0;  ///< the entry to give up where there are kMost
};

}  // namespace rdmaguard::readers::nccl_log
