// Looks for many words in one pass over a text (Aho and Corasick's automaton), so that the table
// of event patterns can grow without a line costing more.
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
  using Found = std::bitset<kMaxWords>;

  /// `words`: none empty, at most kMaxWords.
  explicit WordSet(std::span<const std::string_view> words);

  /// Which of the words stand anywhere in `text`. Case counts. Any thread.
  Found in(std::string_view text) const noexcept;

 private:
  using State = std::uint16_t;

  std::array<std::uint8_t, 256> classOf_{};  // bytes that no word holds share class 0
  std::size_t classes_ = 1;
  std::vector<State> next_;         // [state * classes_ + class]
  std::vector<std::uint8_t> ends_;  // [state]: some word ends here
  std::vector<Found> found_;        // [state]
};

}  // namespace rdmaguard::readers
