// The bytes of the messages that an exchange sends and compares. Every byte depends on its offset
// and on a seed of its own for each HCA, direction, round and message, so that a message in the
// wrong place, an old one and one that was cut are all seen. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace rdmaguard::nccl {

/// Mixes all bits of `x` into all bits of the result (the finalizer of splitmix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t seedOf(std::uint64_t hca, std::uint64_t direction, std::uint64_t round,
                               std::uint64_t message) {
  return mixed(mixed(mixed(hca * 2 + direction + 1) + round) + message);
}

/// Eight bytes of the pattern at offset 8 * `index`.
constexpr std::uint64_t patternWord(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t x = (seed + index) * 0x9e3779b97f4a7c15ULL;
  return x ^ (x >> 32);
}

inline void fillPattern(char* data, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = patternWord(seed, at / 8);
    std::memcpy(data + at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

/// Offset of the first byte in [from, to) that differs; nothing: all are right. `from` must be a
/// multiple of 8.
inline std::optional<std::size_t> firstDifference(const char* data, std::size_t from,
                                                  std::size_t to, std::uint64_t seed) {
  for (std::size_t at = from; at < to; at += 8) {
    const std::uint64_t word = patternWord(seed, at / 8);
    const std::size_t n = std::min<std::size_t>(8, to - at);
    if (std::memcmp(data + at, &word, n) == 0) continue;
    const auto* right = reinterpret_cast<const char*>(&word);
    for (std::size_t i = 0; i < n; ++i)
      if (data[at + i] != right[i]) return at + i;
  }
  return std::nullopt;
}

/// In timed rounds the body of a message is written once and compared at the end; these eight
/// bytes at its two ends are its own. Needs 16 bytes.
inline void stamp(char* data, std::size_t bytes, std::uint64_t seed) {
  std::memcpy(data, &seed, 8);
  std::memcpy(data + bytes - 8, &seed, 8);
}

inline bool hasStamp(const char* data, std::size_t bytes, std::uint64_t seed) {
  return std::memcmp(data, &seed, 8) == 0 && std::memcmp(data + bytes - 8, &seed, 8) == 0;
}

}  // namespace rdmaguard::nccl
