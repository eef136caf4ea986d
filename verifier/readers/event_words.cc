// See event_words.h.
#include "verifier/readers/event_words.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rdmaguard::readers {

std::size_t WordSet::hash(const char* block) noexcept {
  std::uint16_t two = 0;
  std::memcpy(&two, block, sizeof(two));
  const std::uint32_t three = two | static_cast<std::uint32_t>(static_cast<std::uint8_t>(block[2]))
                                        << 16;
  return three * 0x9e3779b1U >> (32 - kHashBits);
}

WordSet::WordSet(std::span<const std::string_view> words) {
  std::size_t shortest = 32;
  for (const std::string_view word : words.first(std::min(words.size(), kMaxWords))) {
    words_.push_back(word);
    shortest = std::min(shortest, word.size());
  }
  stride_ = shortest - kBlock + 1;
  places_.emplace_back();
  for (std::size_t w = 0; w < words_.size(); ++w)
    for (std::size_t offset = 0; offset < stride_; ++offset) {
      std::uint16_t& first = first_[hash(words_[w].data() + offset)];
      places_.push_back({static_cast<std::uint16_t>(w), static_cast<std::uint16_t>(offset), first});
      first = static_cast<std::uint16_t>(places_.size() - 1);
    }
}

WordSet::Found WordSet::in(std::string_view text) const noexcept {
  Found all;
  for (std::size_t at = 0; at + kBlock <= text.size(); at += stride_)
    for (std::size_t p = first_[hash(text.data() + at)]; p != 0; p = places_[p].next) {
      const Place& place = places_[p];
      const std::string_view word = words_[place.word];
      if (place.offset <= at && word.size() <= text.size() - (at - place.offset) &&
          std::memcmp(word.data(), text.data() + at - place.offset, word.size()) == 0)
        all.set(place.word);
    }
  return all;
}

}  // namespace rdmaguard::readers
