// A value that several threads may replace and any thread may copy, without locks or tearing.
// For rare writes (device properties at init); used by the ledger only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "plugin/tap/word.h"

namespace rdmaguard::tap {

template <class T>
class Seqlock {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0);
  static constexpr std::size_t kWords = sizeof(T) / sizeof(std::uint64_t);

 public:
  /// Replaces the value; where another thread is just replacing it, that one's value stands.
  void store(const T& value) {
    std::uint64_t version = version_.load(std::memory_order_relaxed);
    if ((version & 1) != 0 ||
        !version_.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) {
      return;
    }
    std::array<std::uint64_t, kWords> words;
    std::memcpy(words.data(), &value, sizeof value);
    // Release on each word: a reader that meets one of them also meets the odd version.
    for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  /// A whole value; nothing while none was stored or one is being written.
  std::optional<T> load() const {
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    if (version == 0 || (version & 1) != 0) return std::nullopt;
    std::array<std::uint64_t, kWords> words;
    for (std::size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) != version) return std::nullopt;
    T value;
    std::memcpy(&value, words.data(), sizeof value);
    return value;
  }

 private:
  Word<std::uint64_t> version_;
  std::array<Word<std::uint64_t>, kWords> words_;
};

}  // namespace rdmaguard::tap
