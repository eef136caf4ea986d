// From the raw bytes in front of "NCCL INFO" to the thread that they name, without parsing them.
// Fixed in size; what does not fit is parsed again. A thread's process is kept beside it, since
// most lines need no more. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "verifier/readers/log_processes.h"
#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {

class ThreadCache {
 public:
  /// The part of `prefix` ("0: host:pid:tid [0] ") that names the thread: its last two words.
  /// Empty where it has another form.
  static std::string_view keyOf(std::string_view prefix) {
    const char* const begin = prefix.data();
    const char* at = begin + prefix.size();
    // "[0] ", from its end; a CUDA device has few digits.
    if (prefix.size() < kShortestKey || *--at != ' ' || *--at != ']') return {};
    const char* const digits = at - kMostDigits - 1;
    while (--at > digits && at > begin && isDigitChar(*at)) {
    }
    if (*at != '[' || at == begin || *--at != ' ') return {};
    const auto* const blank =
        static_cast<const char*>(::memrchr(begin, ' ', static_cast<std::size_t>(at - begin)));
    const char* const first = blank == nullptr ? begin : blank + 1;
    const auto length = static_cast<std::size_t>(begin + prefix.size() - first);
    return length >= kShortestKey && length <= kMaxKey ? std::string_view(first, length)
                                                       : std::string_view{};
  }

  struct Found {
    Thread* thread = nullptr;  ///< nullptr: not known here
    Process* process = nullptr;
  };

  Found find(std::string_view key) const {
    const Entry* const set = &entries_[(hash(key) & (kSets - 1)) * kWays];
    for (std::size_t way = 0; way < kWays; ++way) {
      const Entry& e = set[way];
      if (e.length == key.size() && e.generation == generation_ &&
          same(e.key, key.data(), key.size()))
        return {e.thread, e.process};
    }
    return {};
  }

  /// `thread` keeps its process from now on, or forget() is called.
  void put(std::string_view key, Thread& thread) {
    if (key.size() > kMaxKey || key.size() < kShortestKey) return;
    const std::uint64_t h = hash(key);
    Entry* const set = &entries_[(h & (kSets - 1)) * kWays];
    std::size_t way = (h >> 40) % kWays;
    for (std::size_t w = 0; w < kWays; ++w)
      if (set[w].generation != generation_ ||
          (set[w].length == key.size() && same(set[w].key, key.data(), key.size())))
        way = w;
    Entry& e = set[way];
    std::memcpy(e.key, key.data(), key.size());
    e.length = static_cast<std::uint8_t>(key.size());
    e.generation = generation_;
    e.thread = &thread;
    e.process = thread.process;
  }

  void forget() { ++generation_; }

 private:
  static constexpr std::size_t kMaxKey = 107;
  static constexpr std::size_t kShortestKey = 8;
  static constexpr int kMostDigits = 4;
  static constexpr std::size_t kWays = 2;
  static constexpr std::size_t kSets = 4096;

  /// Two cache lines; keys of the usual length end in the first one.
  struct alignas(128) Entry {
    Thread* thread = nullptr;
    Process* process = nullptr;
    std::uint32_t generation = 0;
    std::uint8_t length = 0;
    char key[kMaxKey] = {};
  };

  static std::uint64_t word(const char* at) {
    std::uint64_t w = 0;
    std::memcpy(&w, at, sizeof w);
    return w;
  }

  // Keys are no shorter than a word: the last one may overlap the one before it.

  static bool same(const char* a, const char* b, std::size_t size) {
    for (std::size_t i = 0; i + sizeof(std::uint64_t) < size; i += sizeof(std::uint64_t))
      if (word(a + i) != word(b + i)) return false;
    const std::size_t last = size - sizeof(std::uint64_t);
    return word(a + last) == word(b + last);
  }

  /// The words are mixed apart from one another, so that none waits for the one before it. Keys
  /// made to collide cost a look at the long way each, no more.
  static std::uint64_t hash(std::string_view key) {
    constexpr std::uint64_t kMix = 0xff51afd7ed558ccdULL;
    std::uint64_t factor = 0x9e3779b97f4a7c15ULL;
    std::uint64_t h = key.size();
    for (std::size_t i = 0; i + sizeof h < key.size(); i += sizeof h) {
      const std::uint64_t w = word(key.data() + i);
      h += (w ^ (w >> 29)) * factor;
      factor += 2 * kMix;
    }
    h += word(key.data() + key.size() - sizeof h) * factor;
    h = (h ^ (h >> 32)) * kMix;
    return h ^ (h >> 29);
  }

  std::uint32_t generation_ = 1;
  std::vector<Entry> entries_ = std::vector<Entry>(kSets * kWays);
};

}  // namespace rdmaguard::readers::nccl_log
