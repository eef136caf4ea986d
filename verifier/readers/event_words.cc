// See event_words.h.
#include "verifier/readers/event_words.h"

#include <cstddef>

namespace rdmaguard::readers {

WordSet::WordSet(std::span<const std::string_view> words) {
  for (const std::string_view word : words)
    for (const char c : word) {
      std::uint8_t& cls = classOf_[static_cast<std::uint8_t>(c)];
      if (cls == 0) cls = static_cast<std::uint8_t>(classes_++);
    }
  // The trie; 0 is its root and also "no such edge" while it grows.
  next_.assign(classes_, 0);
  found_.emplace_back();
  for (std::size_t w = 0; w < words.size() && w < kMaxWords; ++w) {
    std::size_t state = 0;
    for (const char c : words[w]) {
      const std::size_t edge = state * classes_ + classOf_[static_cast<std::uint8_t>(c)];
      if (next_[edge] == 0) {
        next_[edge] = static_cast<State>(found_.size());
        found_.emplace_back();
        next_.resize(next_.size() + classes_, 0);
      }
      state = next_[edge];
    }
    found_[state].set(w);
  }
  // Breadth first: the longest suffix that is also a prefix fills in the missing edges.
  std::vector<State> suffix(found_.size(), 0), queue;
  for (std::size_t c = 0; c < classes_; ++c)
    if (next_[c] != 0) queue.push_back(next_[c]);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::size_t state = queue[i];
    found_[state] |= found_[suffix[state]];
    for (std::size_t c = 0; c < classes_; ++c) {
      State& to = next_[state * classes_ + c];
      const State fallback = next_[suffix[state] * classes_ + c];
      if (to == 0) {
        to = fallback;
      } else {
        suffix[to] = fallback;
        queue.push_back(to);
      }
    }
  }
  ends_.resize(found_.size());
  for (std::size_t s = 0; s < found_.size(); ++s) ends_[s] = found_[s].any() ? 1 : 0;
}

WordSet::Found WordSet::in(std::string_view text) const noexcept {
  Found all;
  std::size_t state = 0;
  for (const char c : text) {
    state = next_[state * classes_ + classOf_[static_cast<std::uint8_t>(c)]];
    if (ends_[state] != 0) all |= found_[state];
  }
  return all;
}

}  // namespace rdmaguard::readers
