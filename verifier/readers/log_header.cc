// See log_header.h.
#include "verifier/readers/log_header.h"

#include <cstring>

#include "verifier/readers/event_time.h"
#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {
namespace {

// More than any header NCCL prints is long: a line of a megabyte costs no more than its length.
constexpr std::size_t kMaxHeader = 1024;
constexpr std::size_t kMaxStamp = 48;

bool hasLetter(std::string_view s) {
  for (const char c : s)
    if ((lowerChar(c) >= 'a' && lowerChar(c) <= 'z')) return true;
  return false;
}

long toNumber(std::string_view s) {
  long value = 0;
  takeDecimal(s, value);
  return value;
}

std::size_t digitsBefore(std::string_view s, std::size_t end) {
  std::size_t n = 0;
  while (n < end && isDigitChar(s[end - 1 - n])) ++n;
  return n;
}

/// "[3]" at `at`: how many characters, 0 = there is none.
std::size_t deviceAt(std::string_view s, std::size_t at, int& device) {
  if (at >= s.size() || s[at] != '[') return 0;
  std::size_t end = at + 1;
  while (end < s.size() && isDigitChar(s[end])) ++end;
  if (end == at + 1 || end >= s.size() || s[end] != ']' || end - at > 6) return 0;
  device = static_cast<int>(toNumber(s.substr(at + 1, end - at - 1)));
  return end + 1 - at;
}

/// A time stamp glued to the host's front ("...T07:41:19.083-08:00host") is no part of the host.
std::size_t withoutGluedStamp(std::string_view text, std::size_t host) {
  std::size_t token = host;
  while (token > 0 && host - token < kMaxStamp && text[token - 1] != ' ' && text[token - 1] != '\t')
    --token;
  if (token == host) return host;
  const std::size_t stamp = stampLength(text.substr(token));
  return stamp > host - token && token + stamp < text.size() ? token + stamp : host;
}

/// "logs/nccl.txt-1203-host": grep's context lines have '-' where matches have ':'.
std::size_t withoutGrepContext(std::string_view text, std::size_t host, std::size_t end) {
  for (const std::string_view kind : {".log-", ".txt-", ".out-", ".err-"}) {
    const auto at = text.substr(host, end - host).find(kind);
    if (at == std::string_view::npos) continue;
    std::size_t digits = host + at + kind.size();
    const std::size_t first = digits;
    while (digits < end && isDigitChar(text[digits])) ++digits;
    if (digits > first && digits + 1 < end && text[digits] == '-') return digits + 1;
  }
  return host;
}

/// Tries "host:pid:tid" whose last ':' is at `colon`.
bool headerAround(std::string_view text, std::size_t colon, Header& out) {
  std::size_t end = colon + 1;
  while (end < text.size() && isDigitChar(text[end])) ++end;
  if (end == colon + 1 || end - colon > 12) return false;
  const std::size_t pidLength = digitsBefore(text, colon);
  if (pidLength == 0 || pidLength > 11 || pidLength >= colon) return false;
  const std::size_t hostEnd = colon - pidLength - 1;
  if (text[hostEnd] != ':') return false;
  std::size_t host = hostEnd;
  while (host > 0 && isHostNameChar(text[host - 1])) --host;
  if (host == hostEnd) return false;
  host = withoutGrepContext(text, withoutGluedStamp(text, host), hostEnd);
  if (host >= hostEnd) return false;
  int device = -1;
  std::size_t after = end;
  while (after < text.size() && text[after] == ' ') ++after;
  const std::size_t bracket = after > end ? deviceAt(text, after, device) : 0;
  const std::string_view name = text.substr(host, hostEnd - host);
  if (bracket == 0) {
    // "host:pid:tid NCCL CALL" has no device; "08:41:07" is no host.
    if (after != text.size() || !hasLetter(name)) return false;
  }
  out.before = text.substr(0, host);
  out.host = name;
  out.pid = toNumber(text.substr(colon - pidLength, pidLength));
  out.tid = toNumber(text.substr(colon + 1, end - colon - 1));
  out.device = device;
  out.location = withoutBlanks(text.substr(after + bracket));
  out.begin = host;
  out.found = true;
  return true;
}

Header headerIn(std::string_view text) {
  Header out;
  for (std::size_t i = text.size(); i-- > 0;)
    if (text[i] == ':' && i + 1 < text.size() && isDigitChar(text[i + 1]) &&
        headerAround(text, i, out))
      return out;
  // The host was cut off: "[0] NCCL INFO", "[0] misc/socket.cc:484 NCCL WARN".
  const std::string_view trimmedText = withoutBlanks(text);
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] != '[') continue;
    if (i > 0 && text[i - 1] != ' ' && text[i - 1] != '\t') continue;
    int device = -1;
    const std::size_t bracket = deviceAt(text, i, device);
    if (bracket == 0) continue;
    if (i + bracket < text.size() && text[i + bracket] != ' ') continue;
    out.before = text.substr(0, i);
    out.device = device;
    out.location = withoutBlanks(text.substr(i + bracket));
    out.begin = i;
    out.found = true;
    return out;
  }
  // "misc/ibvwrap.cc:212 NCCL WARN": at most the last word is NCCL's.
  const auto blank = trimmedText.find_last_of(" \t");
  const std::string_view last =
      blank == std::string_view::npos ? trimmedText : trimmedText.substr(blank + 1);
  const auto colon = last.rfind(':');
  if (colon != std::string_view::npos && colon > 0 && colon + 1 < last.size() &&
      isDigitChar(last[colon + 1]) && isDigitChar(last.back())) {
    // A launcher's tag may stand right before it: "[1,0]<stdout>:misc/ibvwrap.cc:212".
    std::size_t path = colon;
    while (path > 0 && (isHostNameChar(last[path - 1]) || last[path - 1] == '/')) --path;
    if (path < colon) out.location = last.substr(path);
  }
  out.before = text;
  out.begin = text.size();
  if (!out.location.empty()) {
    out.begin = static_cast<std::size_t>(out.location.data() - text.data());
    out.before = text.substr(0, out.begin);
  }
  return out;
}

}  // namespace

Header headerAtEnd(std::string_view whole) noexcept {
  const std::size_t skipped = whole.size() > kMaxHeader ? whole.size() - kMaxHeader : 0;
  Header out = headerIn(whole.substr(skipped));
  out.begin += skipped;
  out.before = whole.substr(0, out.begin);
  return out;
}

Marker findMarker(std::string_view line, std::size_t from) noexcept {
  const char* const begin = line.data();
  const char* const end = begin + line.size();
  const char* at = begin + from;
  // "NCCL INFO" is nine characters long; RCCL says either.
  while (at < end && static_cast<std::size_t>(end - at) >= 9) {
    const void* found = std::memchr(at, 'C', static_cast<std::size_t>(end - at));
    if (found == nullptr) break;
    const char* const c = static_cast<const char*>(found);
    at = c + 1;
    if (c == begin || (c[-1] != 'N' && c[-1] != 'R') || end - c < 8) continue;
    if (std::memcmp(c, "CCL ", 4) != 0) continue;
    if (c - 1 > begin && (isHostNameChar(c[-2]) || c[-2] == '/' || c[-2] == '"')) continue;
    const std::string_view word(c + 4, static_cast<std::size_t>(end - c - 4));
    Marker m;
    std::size_t length = 4;
    if (word.starts_with("INFO"))
      m.level = Marker::Level::Info;
    else if (word.starts_with("WARN"))
      m.level = Marker::Level::Warn;
    else if (word.starts_with("CALL"))
      m.level = Marker::Level::Call;
    else if (word.starts_with("TRACE") && (length = 5, true))
      m.level = Marker::Level::Trace;
    else
      continue;
    if (word.size() > length && word[length] != ' ' && word[length] != '\t') continue;
    m.begin = static_cast<std::size_t>(c - 1 - begin);
    m.end = static_cast<std::size_t>(c + 4 + length - begin);
    if (m.end < line.size()) ++m.end;
    return m;
  }
  return {};
}

Marker findBareMarker(std::string_view line) noexcept {
  for (const std::string_view word : {"INFO ", "WARN "}) {
    const auto at = line.find(word);
    if (at == std::string_view::npos || at == 0 || line[at - 1] != ' ') continue;
    const Header h = headerAtEnd(line.substr(0, at));
    if (h.host.empty() || h.device < 0) continue;
    Marker m;
    m.level = word == "INFO " ? Marker::Level::Info : Marker::Level::Warn;
    m.begin = at;
    m.end = at + word.size();
    return m;
  }
  return {};
}

}  // namespace rdmaguard::readers::nccl_log
