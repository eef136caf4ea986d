// Words of a sentence on lines of a terminal. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmaguard {

/// `text` broken between words so that no line is longer than `width` (a longer word
/// stands alone). The first line begins with `first`, each later one with as many blanks.
/// No newline at the end.
inline std::string wrap(std::string_view text, std::string_view first, std::size_t width) {
  std::string out;
  std::string line(first);
  bool empty = true;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!empty && line.size() + 1 + word.size() > width) {
      out += line + '\n';
      line.assign(first.size(), ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return out + line;
}

}  // namespace rdmaguard
