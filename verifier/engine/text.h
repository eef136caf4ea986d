// Sentences out of parts, for the rule functions. Header only, pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rdmaguard::engine {

/// The parts in a row.
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (out.append(std::string_view(parts)), ...);
  return out;
}

/// "a, b and c"; past `most` names "a, b, c and 13 more".
inline std::string listed(std::span<const std::string> words, std::size_t most = 8) {
  std::string out;
  const std::size_t shown = words.size() > most ? most - 1 : words.size();
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  if (shown < words.size()) out += cat(" and ", std::to_string(words.size() - shown), " more");
  return out;
}

/// "1 port", "2 ports".
inline std::string counted(std::size_t n, std::string_view noun) {
  return cat(std::to_string(n), " ", noun, n == 1 ? "" : "s");
}

}  // namespace rdmaguard::engine
