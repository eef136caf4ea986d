// See ports_tag.h.
#include "verifier/readers/ports_tag.h"

#include <algorithm>

#include "verifier/readers/event_prefix.h"

namespace rdmaguard::readers {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool startsWith(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (lower(text[i]) != lower(word[i])) return false;
  return true;
}

bool allDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A blank line behind a tag: "node7:", "[1,0]<stdout>:", "(worker pid=4711)", "... stdout F".
bool tagAlone(std::string_view s) {
  constexpr std::size_t kLongestTag = 128;
  if (s.empty() || s.size() > kLongestTag) return false;
  if (s.ends_with("stdout F") || s.ends_with("stderr F")) return true;
  if (s.ends_with(" |")) return s.find('|') == s.size() - 1;
  if (s.front() == '(')
    return s.find(')') == s.size() - 1 && s.find("pid=") != std::string_view::npos;
  return s.ends_with(':') && s.find(' ') == std::string_view::npos;
}

}  // namespace

// Whether a line may be one of a listing behind a tag. One pass over its colons, and no search for
// each of the words.
bool mayBeTagged(std::string_view s) noexcept {
  for (auto at = s.find(':'); at != std::string_view::npos; at = s.find(':', at + 1)) {
    if (at < 2) continue;
    const std::string_view before = s.substr(at - 2, 2);
    for (const std::string_view end : {"id", "pe", "er", "ts", "te", "nt", "ic"})
      if (before == end) return true;
    const std::string_view after = trimmed(s.substr(at + 1, 32));
    if (startsWith(after, "link ") || startsWith(after, "CA '") ||
        startsWith(after, "Infiniband ") || startsWith(after, "No IB dev") ||
        startsWith(after, "Port "))
      return true;
  }
  return s.ends_with("p)") || s.ends_with("n)") || s.ends_with("found");
}

// "0: CA 'mlx5_0'", "node7: \tState: Active", "[1,0]<stdout>:hca_id: mlx5_0". `s` is trimmed.
TaggedLine tagOf(std::string_view s) noexcept {
  const LinePrefix p = takePrefix(s);
  TaggedLine t{s, p.host, p.host};
  if (p.rest.size() < s.size() && !p.rest.empty()) {
    auto at = static_cast<std::size_t>(p.rest.data() - s.data());
    if (t.tag.empty() && p.rank >= 0) t.tag = trimmed(s.substr(0, at));
    // takePrefix() leaves no blanks in front of the rest.
    while (at > 0 && (s[at - 1] == ' ' || s[at - 1] == '\t')) --at;
    t.rest = s.substr(at);
  }
  if (t.rest.size() < s.size()) return t;
  // pdsh and clush put any host's name there; it has no blank in it.
  const auto colon = t.rest.find(':');
  if (colon != std::string_view::npos && colon > 0 && colon <= 128 && colon + 1 < t.rest.size() &&
      (t.rest[colon + 1] == ' ' || t.rest[colon + 1] == '\t')) {
    const std::string_view name = trimmed(t.rest.substr(0, colon));
    if (!name.empty() && name.find_first_of(" \t'\"{}()<>=") == std::string_view::npos &&
        !allDigits(name)) {
      t.host = t.tag = name;
      t.rest = t.rest.substr(colon + 1);
    }
  }
  return t;
}

bool indentedField(std::string_view line) noexcept {
  if (line.starts_with('\t') || line.starts_with("    ")) return true;
  const std::string_view s = trimmed(line);
  if (tagAlone(s)) return true;
  std::string_view rest = tagOf(s).rest;
  if (rest.size() == s.size()) return false;
  if (rest.starts_with(' ') && !rest.starts_with("    ")) rest.remove_prefix(1);
  return rest.starts_with('\t') || rest.starts_with("    ");
}

}  // namespace rdmaguard::readers
