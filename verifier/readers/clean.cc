// See clean.h.
#include "verifier/readers/clean.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rdmaguard::readers {
namespace {

constexpr char kEscape = '\x1b';

/// The byte after the escape sequence that begins at `at`: CSI ("\x1b[1;32m"), OSC
/// ("\x1b]8;;...\a"), or two bytes.
std::size_t afterEscape(std::string_view line, std::size_t at) {
  std::size_t i = at + 1;
  if (i >= line.size()) return line.size();
  if (line[i] == '[') {
    for (++i; i < line.size(); ++i)
      if (line[i] >= '@' && line[i] <= '~') return i + 1;
    // Cut off within its parameters; what follows a letter would have ended it.
    return line.size();
  }
  if (line[i] == ']') {
    for (++i; i < line.size(); ++i) {
      if (line[i] == '\a') return i + 1;
      if (line[i] == kEscape) return std::min(i + 2, line.size());
    }
    return line.size();
  }
  return i + 1;
}

using namespace std::string_view_literals;

// Vertical strokes of Unicode's box drawing, and the double one.
constexpr std::array kStrokes{"\xe2\x94\x82"sv, "\xe2\x94\x83"sv, "\xe2\x95\x91"sv};

constexpr std::string_view kBlanks = " \t\r";

std::string_view withoutEnd(std::string_view line) {
  const auto last = line.find_last_not_of(kBlanks);
  return last == std::string_view::npos ? std::string_view{} : line.substr(0, last + 1);
}

/// "> > text" -> "text"; ">word" is no quote.
std::string_view withoutQuotes(std::string_view line) {
  const auto quoteAt = [&](std::size_t i) {
    return i < line.size() && line[i] == '>' &&
           (i + 1 == line.size() || line[i + 1] == ' ' || line[i + 1] == '>');
  };
  std::size_t i = 0;
  while (quoteAt(i)) {
    ++i;
    if (i < line.size() && line[i] == ' ' && quoteAt(i + 1)) ++i;
  }
  if (i > 0 && i < line.size() && line[i] == ' ') ++i;
  return line.substr(i);
}

}  // namespace

std::string_view withoutControls(std::string_view line, std::string& scratch) {
  constexpr std::string_view kControls{"\x1b\0", 2};
  // Nearly every line has neither: two searches for a byte are ten times as fast as one for a set.
  std::size_t at = std::min(line.find(kEscape), line.find('\0'));
  if (at == std::string_view::npos) return line;
  scratch.assign(line.substr(0, at));
  while (at < line.size()) {
    if (line[at] == kEscape)
      at = afterEscape(line, at);
    else
      at = std::min(line.find_first_not_of('\0', at), line.size());
    const std::size_t next = std::min(line.find_first_of(kControls, at), line.size());
    scratch.append(line.substr(at, next - at));
    at = next;
  }
  return scratch;
}

std::string_view withoutFrame(std::string_view line) {
  line = withoutEnd(line);
  if (line.empty()) return line;
  line = withoutQuotes(line);
  const auto text = line.find_first_not_of(kBlanks);
  if (text == std::string_view::npos) return {};
  for (const std::string_view stroke : kStrokes) {
    if (!line.substr(text).starts_with(stroke)) continue;
    line.remove_prefix(text + stroke.size());
    if (line.ends_with(stroke)) line = withoutEnd(line.substr(0, line.size() - stroke.size()));
    if (line.starts_with(' ')) line.remove_prefix(1);
    break;
  }
  return line;
}

bool looksBinary(std::string_view line) {
  constexpr auto isOdd = [](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b < 0x20 && c != '\t' && c != '\r' && c != kEscape && c != '\b' && c != '\f';
  };
  // Binary data shows it at once; text is not looked at to its end.
  const std::string_view start = line.substr(0, 64);
  if (std::none_of(start.begin(), start.end(), isOdd)) return false;
  line = line.substr(0, 4096);
  const auto odd = std::count_if(line.begin(), line.end(), isOdd);
  return static_cast<std::size_t>(odd) * 16 >= line.size();
}

}  // namespace rdmaguard::readers
