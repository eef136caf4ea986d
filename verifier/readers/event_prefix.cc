// See event_prefix.h.
#include "verifier/readers/event_prefix.h"

#include <cstddef>

#include "verifier/readers/event_time.h"

namespace rdmaguard::readers {
namespace {

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool isHostChar(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
         c == '_';
}
constexpr int kMaxRank = 10'000'000;

// A run of digits at the front, -1 if there is none or it is no rank.
int takeNumber(std::string_view& s) {
  int value = 0;
  std::size_t n = 0;
  while (n < s.size() && isDigit(s[n]) && value < kMaxRank) value = value * 10 + (s[n++] - '0');
  if (n == 0 || value >= kMaxRank) return -1;
  s.remove_prefix(n);
  return value;
}

bool takeWord(std::string_view& s, std::string_view word) {
  if (!s.starts_with(word)) return false;
  s.remove_prefix(word.size());
  return true;
}

// "[rank3]:" and "[rank3]: ", "[default3]:", "[default3]: ", "[3]: "
bool takeRankTag(LinePrefix& p) {
  std::string_view s = p.rest;
  if (!takeWord(s, "[")) return false;
  const bool named = takeWord(s, "rank") || takeWord(s, "default") || takeWord(s, "Rank ");
  const int rank = takeNumber(s);
  if (rank < 0 || !takeWord(s, "]")) return false;
  if (!takeWord(s, ":") && !named) return false;
  p.rank = rank;
  p.rest = s;
  return true;
}

// mpirun --tag-output: "[1,3]<stdout>:"
bool takeMpiTag(LinePrefix& p) {
  std::string_view s = p.rest;
  if (!takeWord(s, "[") || takeNumber(s) < 0 || !takeWord(s, ",")) return false;
  const int rank = takeNumber(s);
  if (rank < 0 || !takeWord(s, "]") || !takeWord(s, "<std")) return false;
  const auto colon = s.find(">:");
  if (colon > 4) return false;
  s.remove_prefix(colon + 2);
  p.rank = rank;
  p.rest = s;
  return true;
}

// srun --label: "3: ", "12: "
bool takeSlurmLabel(LinePrefix& p) {
  std::string_view s = p.rest;
  const int rank = takeNumber(s);
  if (rank < 0 || !takeWord(s, ":") || s.empty() || (s.front() != ' ' && s.front() != '\t'))
    return false;
  p.rank = rank;
  p.rest = s;
  return true;
}

// pdsh: "node3: "; only where the name holds a digit, for words with a colon are everywhere.
bool takePdshHost(LinePrefix& p) {
  const std::string_view s = p.rest;
  std::size_t n = 0;
  bool digit = false, dotOrDash = false;
  while (n < s.size() && n < 64 && isHostChar(s[n])) {
    digit |= isDigit(s[n]);
    dotOrDash |= s[n] == '-' || s[n] == '.';
    ++n;
  }
  if (s.starts_with("nvidia-")) return false;  // "nvidia-nvswitch0: SXid": a driver's device
  if (n == 0 || !digit || !dotOrDash || n + 1 >= s.size() || s[n] != ':' || s[n + 1] != ' ')
    return false;
  p.host = s.substr(0, n);
  p.rest = s.substr(n + 1);
  return true;
}

// Ray: "(RayTrainWorker pid=612, ip=192.0.2.4) ", kubectl: "[pod/trainer-0/main] "
bool takeActor(LinePrefix& p) {
  std::string_view s = p.rest;
  if (s.starts_with("[pod/")) {
    const auto end = s.find("] ");
    if (end == std::string_view::npos) return false;
    const auto name = s.substr(5, end - 5);
    p.host = name.substr(0, name.find('/'));
    p.rest = s.substr(end + 2);
    return true;
  }
  if (!s.starts_with('(')) return false;
  const auto end = s.find(") ");
  if (end > 128 || s.substr(0, end).find("pid=") == std::string_view::npos) return false;
  p.rest = s.substr(end + 2);
  return true;
}

// The kubelet's "stdout F " and docker's "stdout | ".
bool takeStreamName(LinePrefix& p) {
  for (const std::string_view stream : {"stdout ", "stderr "})
    for (const std::string_view kind : {"F ", "P ", "| "}) {
      std::string_view s = p.rest;
      if (takeWord(s, stream) && takeWord(s, kind)) {
        p.rest = s;
        return true;
      }
    }
  return false;
}

// Mail quoting and table frames.
bool takeFrame(LinePrefix& p) {
  for (const std::string_view mark : {">", "\xE2\x94\x82", "|"})
    if (takeWord(p.rest, mark)) return true;
  return false;
}

// What grep puts there: "train.log:", "logs/node-3.txt:17:"; by the name's ending, since words
// with a colon are everywhere.
bool takeFileName(LinePrefix& p) {
  std::string_view s = p.rest;
  const auto colon = s.substr(0, 256).find(':');
  if (colon == std::string_view::npos || colon < 5) return false;
  const std::string_view name = s.substr(0, colon);
  if (name.find(' ') != std::string_view::npos) return false;
  bool known = false;
  for (const std::string_view end : {".log", ".txt", ".out", ".err"}) known |= name.ends_with(end);
  if (!known) return false;
  s.remove_prefix(colon + 1);
  std::string_view numbered = s;
  if (takeNumber(numbered) >= 0 && takeWord(numbered, ":")) s = numbered;
  p.rest = s;
  return true;
}

// docker compose: "worker-0  | "
bool takeContainer(LinePrefix& p) {
  const std::string_view s = p.rest;
  std::size_t n = 0;
  while (n < s.size() && n < 64 && isHostChar(s[n])) ++n;
  const std::size_t name = n;
  while (n < s.size() && n < 96 && s[n] == ' ') ++n;
  if (name == 0 || n == name || !s.substr(n).starts_with("| ")) return false;
  p.rest = s.substr(n + 2);
  return true;
}

// The tags that their first byte gives away: every line of a log comes here.
bool takeTag(LinePrefix& p) {
  switch (p.rest.front()) {
    case '>':
    case '|':
    case '\xE2':
      return takeFrame(p);
    case '[':
      return takeRankTag(p) || takeMpiTag(p) || takeActor(p);
    case '(':
      return takeActor(p);
    case 's':
      return takeStreamName(p);
    default:
      return false;
  }
}

bool takeTime(LinePrefix& p) {
  const std::size_t n = stampLength(p.rest);
  if (n == 0) return false;
  std::string_view stamp = p.rest.substr(0, n);
  p.rest.remove_prefix(n);
  while (!stamp.empty() && (stamp.back() == ']' || stamp.back() == ':' || stamp.back() == ' '))
    stamp.remove_suffix(1);
  while (!stamp.empty() && (stamp.front() == '[' || stamp.front() == ' ')) stamp.remove_prefix(1);
  // glog names the source file behind the time.
  if (stamp.find(".cpp:") != std::string_view::npos ||
      stamp.find(".cc:") != std::string_view::npos) {
    const auto first = stamp.find(' ');
    stamp = stamp.substr(0, first == std::string_view::npos ? first : stamp.find(' ', first + 1));
  }
  p.time = stamp;
  return true;
}

// syslog: a host name and then "kernel:" or "program[pid]:".
void takeSyslogHost(LinePrefix& p) {
  const std::string_view s = trimmed(p.rest);
  std::size_t n = 0;
  while (n < s.size() && n < 64 && isHostChar(s[n])) ++n;
  if (n == 0 || n >= s.size() || s[n] != ' ') return;
  const std::string_view after = s.substr(n + 1);
  const auto colon = after.find(": ");
  if (colon > 48) return;
  const std::string_view program = after.substr(0, colon);
  if (program != "kernel" && !program.ends_with(']')) return;
  if (program.find(' ') != std::string_view::npos) return;
  p.host = s.substr(0, n);
  p.rest = after.substr(colon + 2);
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  constexpr auto isBlank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); };
  while (!text.empty() && isBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back())) text.remove_suffix(1);
  return text;
}

LinePrefix takePrefix(std::string_view line) noexcept {
  LinePrefix p;
  p.rest = trimmed(line);
  constexpr int kMostTags = 6;
  for (int i = 0; i < kMostTags && !p.rest.empty(); ++i) {
    const std::size_t before = p.rest.size();
    if (!takeTag(p)) {
      if (p.time.empty() && takeTime(p)) {
        takeSyslogHost(p);
      } else if ((p.rank < 0 && takeSlurmLabel(p)) || (p.host.empty() && takePdshHost(p)) ||
                 takeFileName(p)) {
      } else {
        takeContainer(p);
      }
    }
    if (p.rest.size() == before) break;
    p.rest = trimmed(p.rest);
  }
  // Frames close at the end of the line too.
  constexpr std::string_view kBar = "\xE2\x94\x82";
  if (p.rest.ends_with(kBar)) p.rest = trimmed(p.rest.substr(0, p.rest.size() - kBar.size()));
  return p;
}

}  // namespace rdmaguard::readers
