// From the raw bytes in front of "NCCL INFO" to the thread that they name, without parsing them.
// Fixed in size; what does not fit is parsed again. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "verifier/readers/log_processes.h"

namespace rdmaguard::readers::nccl_log {

class ThreadCache {
 public:
  /// The part of `prefix` ("0: host:pid:tid [0] ") that names the thread: its last two words.
  /// Empty where it has another form.
  static std::string_view keyOf(std::string_view prefix) {
    // "...] " is the least.
    if (prefix.size() < 4 || prefix.back() != ' ' || prefix[prefix.size() - 2] != ']') return {};
    const char* const begin = prefix.data();
    const auto* bracket = static_cast<const char*>(::memrchr(begin, ' ', prefix.size() - 1));
    if (bracket == nullptr || bracket == begin) return {};
    const auto* blank =
        static_cast<const char*>(::memrchr(begin, ' ', static_cast<std::size_t>(bracket - begin)));
    const char* const first = blank == nullptr ? begin : blank + 1;
    const auto length = static_cast<std::size_t>(begin + prefix.size() - first);
    return length <= kMaxKey ? std::string_view(first, length) : std::string_view{};
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
    if (key.size() > kMaxKey || key.empty() || find(key) != nullptr) return;
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
  static constexpr std::size_t kWays = 2;
  static constexpr std::size_t kSets = 8192;

  struct alignas(64) Entry {
    char key[kMaxKey] = {};
    std::uint8_t length = 0;
    Thread* thread = nullptr;
  };

  static std::uint64_t hash(std::string_view key) {
    std::uint64_t h = key.size() * 0x9e3779b97f4a7c15ULL;
    std::size_t i = 0;
    for (; i + 8 <= key.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, key.data() + i, 8);
      h = (h ^ word) * 0xff51afd7ed558ccdULL;
      h ^= h >> 32;
    }
    std::uint64_t word = 0;
    if (i < key.size()) std::memcpy(&word, key.data() + i, key.size() - i);
    h = (h ^ word) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 29);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kSets * kWays);
};

}  // namespace rdmaguard::readers::nccl_log
