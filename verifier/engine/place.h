// Where in the input a fact was read. Values only.
#pragma once

#include <cstdint>

namespace rdmaguard::engine {

/// A line of an input file; `line` counts from 1, 0 = nowhere. `file` indexes JobFacts::files.
struct Place {
  std::uint32_t file = 0;
  std::uint64_t line = 0;

  explicit operator bool() const { return line != 0; }
  friend bool operator==(const Place&, const Place&) = default;
  friend bool operator<(const Place& a, const Place& b) {
    return a.file != b.file ? a.file < b.file : a.line < b.line;
  }
};

}  // namespace rdmaguard::engine
