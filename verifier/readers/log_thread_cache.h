// From the raw bytes in front of "NCCL INFO" to the thread that they name, without parsing them.
// Fixed in size; what does not fit is parsed again. One thread.
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

  Thread* find(std::string_view key) {
    const std::uint64_t h = hash(key);
    Entry* const set = &entries_[(h & (kSets - 1)) * kWays];
    for (std::size_t way = 0; way < kWays; ++way) {
      const Entry& e = set[way];
      if (e.length == key.size() && std::memcmp(e.key, key.data(), key.size()) == 0)
        return e.thread;
    }
    return nullptr;
  }

  void put(std::string_view key, Thread& thread) {
    if (key.size() > kMaxKey || key.size() < kShortestKey || find(key) != nullptr) return;
    const std::uint64_t h = hash(key);
    Entry& e = entries_[(h & (kSets - 1)) * kWays + (h >> 40) % kWays];
    std::memcpy(e.key, key.data(), key.size());
    e.length = static_cast<std::uint8_t>(key.size());
    e.thread = &thread;
  }

  void clear() {
    for (Entry& e : entries_) e.length = 0;
  }

 private:
  static constexpr std::size_t kMaxKey = 55;
  static constexpr std::size_t kShortestKey = 8;
  static constexpr int kMostDigits = 4;
  static constexpr std::size_t kWays = 2;
  static constexpr std::size_t kSets = 8192;

  struct alignas(64) Entry {
    char key[kMaxKey] = {};
    std::uint8_t length = 0;
    Thread* thread = nullptr;
  };

  static std::uint64_t word(const char* at) {
    std::uint64_t w = 0;
    std::memcpy(&w, at, sizeof w);
    return w;
  }

  /// Keys are no shorter than a word: the last one may overlap the one before it.
  static std::uint64_t hash(std::string_view key) {
    constexpr std::uint64_t kMix = 0xff51afd7ed558ccdULL;
    std::uint64_t h = key.size() * 0x9e3779b97f4a7c15ULL;
    for (std::size_t i = 0; i + sizeof h < key.size(); i += sizeof h) {
      h = (h ^ word(key.data() + i)) * kMix;
      h ^= h >> 32;
    }
    h = (h ^ word(key.data() + key.size() - sizeof h)) * kMix;
    return h ^ (h >> 29);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kSets * kWays);
};

}  // namespace rdmaguard::readers::nccl_log
