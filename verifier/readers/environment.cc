// See environment.h.
#include "verifier/readers/environment.h"

#include <algorithm>
#include <exception>
#include <string>

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxSettings = 65536;
constexpr std::size_t kMaxName = 256;

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

bool nameChar(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The name of a NAME=VALUE line; empty for anything else.
std::string_view assigned(std::string_view line) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > kMaxName) return {};
  const std::string_view name = line.substr(0, equals);
  if (name[0] >= '0' && name[0] <= '9') return {};
  return std::all_of(name.begin(), name.end(), nameChar) ? name : std::string_view{};
}

bool upperName(std::string_view name) {
  return !name.empty() &&
         std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// "max locked memory       (kbytes, -l) 8192" of `ulimit -a`; "Max locked memory  65536 ..." of
// /proc/PID/limits is in bytes.
bool lockedMemory(std::string_view line) {
  return line.starts_with("max locked memory");
}

bool ulimitPrompt(std::string_view line) {
  return line.ends_with("ulimit -l") || line.ends_with("ulimit -Hl") ||
         line.ends_with("ulimit -Sl");
}

bool package(std::string_view line) {
  return line.starts_with("dpkg: ") || line.starts_with("rpm: ");
}

bool limitValue(std::string_view s) {
  return s == "unlimited" ||
         (!s.empty() && s.size() < 20 &&
          std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

std::string_view lastWord(std::string_view s) {
  const auto blank = s.find_last_of(" \t");
  return blank == std::string_view::npos ? s : s.substr(blank + 1);
}

void add(std::vector<engine::Setting>& to, std::string_view name, std::string_view value,
         std::string source) {
  if (to.size() >= kMaxSettings) return;
  engine::Setting s;
  s.name = name;
  s.value = value;
  s.source = std::move(source);
  to.push_back(std::move(s));
}

}  // namespace

Claim claimEnvironment(std::string_view line, bool inside) noexcept {
  const std::string_view s = trimmed(line);
  if (ulimitPrompt(s) || lockedMemory(s) || package(s))
    return inside ? Claim::Continues : Claim::Starts;
  const std::string_view name = assigned(s);
  if (upperName(name)) return inside ? Claim::Continues : Claim::Starts;
  if (!inside) return Claim::No;
  if (s.empty() || s[0] == '#' || !name.empty() || limitValue(s)) return Claim::Continues;
  return Claim::No;
}

void readEnvironment(std::string_view text, Place first, bool, JobFacts& out) noexcept {
  try {
    Place at = first;
    bool limitNext = false;
    while (!text.empty()) {
      const auto end = text.find('\n');
      const std::string_view s = trimmed(text.substr(0, end));
      if (limitNext && limitValue(s))
        add(out.hostFacts, "ulimit -l", s, out.source(at));
      else if (lockedMemory(s) && limitValue(lastWord(s)))
        add(out.hostFacts, "ulimit -l", lastWord(s), out.source(at));
      else if (package(s))
        add(out.hostFacts, s.substr(0, s.find_last_of(" \t")), lastWord(s), out.source(at));
      else if (const std::string_view name = assigned(s); !name.empty())
        add(out.settings, name, s.substr(name.size() + 1), out.source(at));
      limitNext = ulimitPrompt(s);
      ++at.line;
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
  } catch (const std::exception&) {
    // Out of memory: what was read stands.
  }
}

}  // namespace rdmaguard::readers
