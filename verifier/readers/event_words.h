// Looks for many words in one pass over a text, of which it looks at every few bytes only, so that
// the table of event patterns can grow without a line costing more.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rdmaguard::readers {

class WordSet {
 public:
  static constexpr std::size_t kMaxWords = 256;
  static constexpr std::size_t kBlock = 3;  ///< bytes looked at together; no word is shorter
  using Found = std::bitset<kMaxWords>;

  /// `words`: at most kMaxWords, none shorter than kBlock. They must outlive this.
  explicit WordSet(std::span<const std::string_view> words);

  /// Which of the words stand anywhere in `text`. Case counts. Any thread.
  Found in(std::string_view text) const noexcept;

 private:
  static constexpr unsigned kHashBits = 13;
  /// A block of a word; those of one hash are chained.
  struct Place {
    std::uint16_t word = 0;
    std::uint16_t offset = 0;  ///< of the block within it
    std::uint16_t next = 0;    ///< in places_, 0 = none
  };

  static std::size_t hash(const char* block) noexcept;

  std::vector<std::string_view> words_;
  // Of each word the blocks at this many offsets are known: wherever it stands, one of them lies
  // at a multiple of it.
  std::size_t stride_ = 1;
  std::array<std::uint16_t, std::size_t{1} << kHashBits> first_{};  // in places_, 0 = none
  std::vector<Place> places_;
};

}  // namespace rdmaguard::readers
