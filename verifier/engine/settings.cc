// See settings.h.
#include "verifier/engine/settings.h"

#include <algorithm>
#include <limits>

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxConfWord = 1023;  // NCCL's buffers for a name and a value
constexpr int kConfFileSince = 22300;       // NCCL_CONF_FILE
constexpr int kStripsCrSince = 23000;

bool since(int ncclVersion, int first) {
  return ncclVersion == 0 || ncclVersion >= first;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// isspace() of the C locale, which strtoll skips.
bool isBlank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

int digitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  if (l >= 'a' && l <= 'f') return l - 'a' + 10;
  return 99;
}

}  // namespace

std::vector<Setting> parseConf(std::string_view text, std::string_view path, int ncclVersion) {
  std::vector<Setting> out;
  int lineNumber = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++lineNumber;
    if (!line.empty() && line.back() == '\r' && since(ncclVersion, kStripsCrSince))
      line.remove_suffix(1);
    const auto equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    out.push_back({std::string(line.substr(0, std::min(equals, kMaxConfWord))),
                   std::string(line.substr(equals + 1, kMaxConfWord)),
                   std::string(path) + ":" + std::to_string(lineNumber)});
  }
  return out;
}

std::vector<Setting> parseEnvironment(std::span<const std::string> block) {
  std::vector<Setting> out;
  out.reserve(block.size());
  for (const std::string& entry : block) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    out.push_back({entry.substr(0, equals), entry.substr(equals + 1), "environment"});
  }
  return out;
}

SettingsInForce settingsInForce(std::span<const Setting> environment,
                                std::span<const ConfFile> files, int ncclVersion) {
  SettingsInForce result;
  const auto take = [&result](const Setting& s) {
    (find(result.effective, s.name) ? result.shadowed : result.effective).push_back(s);
  };
  for (const Setting& s : environment) take(s);
  for (const ConfFile& file : files)
    for (const Setting& s : parseConf(file.text, file.path, ncclVersion)) take(s);
  return result;
}

std::vector<std::string> confPaths(std::string_view confFile, std::string_view home,
                                   int ncclVersion) {
  std::vector<std::string> paths;
  if (!confFile.empty() && since(ncclVersion, kConfFileSince))
    paths.emplace_back(confFile);
  else if (!home.empty())
    paths.push_back(std::string(home) + "/.nccl.conf");
  paths.emplace_back("/etc/nccl.conf");
  return paths;
}

const Setting* find(std::span<const Setting> settings, std::string_view name) noexcept {
  for (const Setting& s : settings)
    if (s.name == name) return &s;
  return nullptr;
}

std::optional<long long> numberValue(std::string_view value) noexcept {
  if (value.empty()) return std::nullopt;
  while (!value.empty() && isBlank(value.front())) value.remove_prefix(1);
  const bool negative = value.starts_with('-');
  if (negative || value.starts_with('+')) value.remove_prefix(1);
  int base = 10;
  if (value.size() > 2 && value[0] == '0' && lower(value[1]) == 'x' && digitValue(value[2]) < 16) {
    base = 16;
    value.remove_prefix(2);
  } else if (value.starts_with('0')) {
    base = 8;
  }
  constexpr long long kMin = std::numeric_limits<long long>::min();
  long long number = 0;  // kept negative: the range reaches one further on that side
  for (const char c : value) {
    const int digit = digitValue(c);
    if (digit >= base) break;
    if (number < (kMin + digit) / base) return std::nullopt;
    number = number * base - digit;
  }
  if (negative) return number;
  if (number == kMin) return std::nullopt;
  return -number;
}

bool sameWord(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace rdmaguard::engine
