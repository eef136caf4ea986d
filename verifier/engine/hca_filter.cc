// See hca_filter.h.
#include "verifier/engine/hca_filter.h"

#include <algorithm>

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxPrefix = 63;       // netIf.prefix holds 64 with its end
constexpr int kEmptyPortIsAnySince = 23000;  // before, atoi("") made it port 0

// atoi without its undefined behaviour: a number too large is the largest.
int portNumber(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r')))
    text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  long long number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    number = std::min(number * 10 + (c - '0'), 0x7fffffffLL);
  }
  return static_cast<int>(negative ? -number : number);
}

std::string_view cutAt(std::string_view& rest, char separator) noexcept {
  const auto at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return head;
}

}  // namespace

NameFilter parseNameFilter(std::string_view text, int maxEntries, int ncclVersion) {
  NameFilter filter;
  filter.exclude = text.starts_with('^');
  if (filter.exclude) text.remove_prefix(1);
  filter.exact = text.starts_with('=');
  if (filter.exact) text.remove_prefix(1);
  const bool emptyPortIsAny = ncclVersion == 0 || ncclVersion >= kEmptyPortIsAnySince;
  while (!text.empty()) {
    std::string_view entry = cutAt(text, ',');
    const bool hasPort = entry.find(':') != std::string_view::npos;
    const std::string_view prefix = cutAt(entry, ':').substr(0, kMaxPrefix);
    if (prefix.empty()) continue;
    if (static_cast<int>(filter.entries.size()) == maxEntries) {
      ++filter.dropped;
      continue;
    }
    // 2.30 reads name:port:rail:plane; the fields behind the port choose no device.
    const std::string_view port = cutAt(entry, ':');
    const bool any = !hasPort || (port.empty() && emptyPortIsAny);
    filter.entries.push_back({std::string(prefix), any ? -1 : portNumber(port)});
  }
  return filter;
}

bool NameFilter::takes(std::string_view name, int port) const noexcept {
  if (entries.empty()) return !exclude;
  const bool listed = std::any_of(entries.begin(), entries.end(), [&](const Entry& e) {
    const bool nameFits = exact ? name == e.prefix : name.starts_with(e.prefix);
    return nameFits && (port == -1 || e.port == -1 || port == e.port);
  });
  return listed != exclude;
}

std::optional<std::string> suspiciousText(std::string_view text) {
  if (text.find('\r') != std::string_view::npos)
    return "it ends with a carriage return (a file with Windows line ends), which NCCL takes as "
           "part of the name";
  if (text.find_first_of("\"'") != std::string_view::npos)
    return "it holds a quotation mark, which NCCL takes as part of the name";
  if (text.find_first_of(" \t") != std::string_view::npos)
    return "it holds a blank, which NCCL takes as part of the name";
  if (text.starts_with("=^"))
    return "'^' stands behind '='; NCCL reads '^' only as the first character";
  if (text.find(';') != std::string_view::npos)
    return "it holds a semicolon; NCCL separates names by commas";
  return std::nullopt;
}

}  // namespace rdmaguard::engine
