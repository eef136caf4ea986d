// See events.h. The wordings are in event_verbs.cc, event_nccl.cc, event_program.cc and
// event_node.cc; here they are looked for, and what spans several lines is put together.
#include "verifier/readers/events.h"

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verifier/readers/event_metrics.h"
#include "verifier/readers/event_pattern.h"
#include "verifier/readers/event_prefix.h"
#include "verifier/readers/event_time.h"
#include "verifier/readers/event_words.h"

namespace rdmaguard::readers {
namespace {

using engine::Event;

constexpr std::size_t kMaxText = std::size_t{64} << 10;  // of a line that is looked at
constexpr std::uint64_t kNearLines = 12;                 // what belongs to one exception
constexpr std::uint64_t kTracebackLines = 400;
constexpr std::size_t kFamilies = 5;
constexpr std::uint64_t kLinesForYear = 10'000;

// All rows of the table, and one automaton over their anchors.
class Table {
 public:
  static const Table& get() {
    static const Table table;
    return table;
  }

  struct Row {
    const Pattern* pattern;
    std::size_t word;
  };
  std::vector<Row> rows;
  WordSet words;

 private:
  Table() : Table(collect()) {}
  explicit Table(std::pair<std::vector<Row>, std::vector<std::string_view>> all)
      : rows(std::move(all.first)), words(all.second) {}

  static std::pair<std::vector<Row>, std::vector<std::string_view>> collect() {
    std::vector<Row> rows;
    std::vector<std::string_view> words;
    for (const auto patterns : {verbsPatterns(), ncclPatterns(), programPatterns(), nodePatterns()})
      for (const Pattern& p : patterns) {
        std::size_t w = 0;
        while (w < words.size() && words[w] != p.anchor) ++w;
        if (w == words.size()) words.push_back(p.anchor);
        rows.push_back({&p, w});
      }
    return {std::move(rows), std::move(words)};
  }
};

// "NET/IB : ..." -> "IB", "NET/IBX:Got" -> "IBX", "NET/IB/GIN: ..." -> "IB"
std::string networkOf(std::string_view text) {
  const auto at = text.find("NET/");
  if (at > 2) return {};
  std::string_view name = upTo(text.substr(at + 4), " :/");
  return name == "Plugin" ? std::string() : std::string(name.substr(0, 32));
}

// What a traceback ends with: "KeyError: 'tokens'", "torch.distributed.DistBackendError: ...".
std::string_view exceptionName(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() &&
         (text[n] == '.' || text[n] == '_' || (text[n] >= 'a' && text[n] <= 'z') ||
          (text[n] >= 'A' && text[n] <= 'Z') || (text[n] >= '0' && text[n] <= '9')))
    ++n;
  if (n == 0 || n > 96 || (n < text.size() && text[n] != ':')) return {};
  const std::string_view name = text.substr(0, n);
  for (const std::string_view end : {"Error", "Exception", "Exit", "Interrupt", "Warning"})
    if (name.ends_with(end)) return name;
  return {};
}

// What a file's name tells of who wrote it: "rank-9.log", "dmesg-h100-77.txt", "log-k-03.txt".
struct FileOwner {
  int rank = -1;
  std::string host;
};
FileOwner ownerOf(std::string_view path) {
  FileOwner owner;
  std::string_view name = path.substr(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  for (const std::string_view end : {".gz", ".zst", ".log", ".txt", ".out", ".err"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  constexpr int kMaxRank = 10'000'000;
  if (const auto at = name.rfind("rank"); at != std::string_view::npos) {
    std::string_view digits = name.substr(at + 4);
    while (!digits.empty() &&
           (digits.front() == '-' || digits.front() == '_' || digits.front() == '.'))
      digits.remove_prefix(1);
    const long rank = numberAt(digits);
    if (rank >= 0 && rank < kMaxRank) owner.rank = static_cast<int>(rank);
    return owner;
  }
  for (const std::string_view kind : {"dmesg", "log", "kern", "syslog", "messages", "journal"}) {
    if (!name.starts_with(kind) || name.size() < kind.size() + 2) continue;
    const char separator = name[kind.size()];
    if (separator != '-' && separator != '_' && separator != '.') continue;
    const std::string_view rest = name.substr(kind.size() + 1);
    if (rest.find_first_of("0123456789") != std::string_view::npos) owner.host = std::string(rest);
    return owner;
  }
  return owner;
}

}  // namespace

struct EventReader::State {
  explicit State(JobFacts& facts) : out(facts) {}

  JobFacts& out;
  std::unordered_map<std::string, std::size_t> known;  // key -> index in out.run.events
  MetricsReader metrics;
  int year = 0;  // the first that a stamp names
  std::uint64_t linesForYear = 0;

  // What may belong to lines just before.
  struct Recent {
    std::size_t index = 0;
    Place at;
    long pid = 0;
    std::string host, id;
  };
  std::optional<Recent> code, crash, connect;
  std::optional<Event> traceback;  // waits for the name of its exception

  static bool near(const std::optional<Recent>& recent, Place at, std::uint64_t lines) {
    return recent && recent->at.file == at.file && at.line - recent->at.line <= lines;
  }

  std::size_t add(Event&& e);
  bool match(std::string_view text, const Event& base, bool warn, bool fromNccl);
  void take(Event&& e, Family family);
  void followTraceback(std::string_view text, Place at, bool explained);
  void lookForYear(std::string_view text);
};

std::size_t EventReader::State::add(Event&& e) {
  std::string key =
      e.id + '\n' + e.host + '\n' + std::to_string(e.rank) + '\n' + e.device + '\n' + e.detail;
  // Without a name, what two files say may come from two nodes.
  if (e.host.empty() && e.rank < 0) key += '\n' + std::to_string(e.at.file);
  auto& events = out.run.events;
  if (e.seconds < 0 && !e.time.empty()) e.seconds = secondsOf(e.time);
  e.lastAt = e.at;
  e.lastSeconds = e.seconds;
  const auto found = known.find(key);
  if (found != known.end()) {
    Event& first = events[found->second];
    ++first.count;
    first.lastAt = e.at;
    first.lastSeconds = e.seconds;
    return found->second;
  }
  if (events.size() >= engine::kMaxEvents) {
    ++out.run.eventsDropped;
    return events.size();
  }
  if (year == 0) year = yearOf(e.time);
  known.emplace(std::move(key), events.size());
  events.push_back(std::move(e));
  return events.size() - 1;
}

void EventReader::State::take(Event&& e, Family family) {
  const Place at = e.at;
  Recent recent{0, at, e.pid, e.host, e.id};
  if (family == Family::Code) {
    // "ncclRemoteError: ..." explains the exception above it, whose line names the rank.
    if (near(code, at, kNearLines) && code->id == e.id && (e.rank < 0 || code->host == e.host)) {
      if (e.rank < 0) return;
    }
    recent.index = add(std::move(e));
    code = std::move(recent);
    return;
  }
  const bool segfault = e.id == "segfault";
  const bool socket = e.id == "socket-connect-failed";
  recent.index = add(std::move(e));
  if (segfault)
    crash = std::move(recent);
  else if (socket)
    connect = std::move(recent);
}

// True: something fitted.
bool EventReader::State::match(std::string_view text, const Event& base, bool warn, bool fromNccl) {
  text = text.substr(0, kMaxText);
  const Table& table = Table::get();
  const WordSet::Found found = table.words.in(text);
  if (found.none()) return false;
  std::array<bool, kFamilies> done{};
  bool any = false;
  for (const Table::Row& row : table.rows) {
    if (!found[row.word]) continue;
    const Pattern& p = *row.pattern;
    const auto family = static_cast<std::size_t>(p.family);
    if (done[family] || (p.warnOnly && !warn)) continue;
    if (!p.also.empty() && !has(text, p.also)) continue;
    if (!p.butNot.empty() && has(text, p.butNot)) continue;
    // NCCL says none of what the others' rows look for, but may quote it.
    if (fromNccl && p.family != Family::Network) continue;
    Event e = base;
    e.id = p.id;
    e.phase = p.phase;
    e.failure = p.failure;
    if (p.family == Family::Network) e.network = networkOf(text);
    if (p.read && !p.read(text, e)) continue;
    if (e.id.empty()) continue;
    done[family] = any = true;
    if (e.id == "python-exception") {
      traceback = std::move(e);
      continue;
    }
    take(std::move(e), p.family);
  }
  return any;
}

void EventReader::State::followTraceback(std::string_view text, Place at, bool explained) {
  if (!traceback) return;
  if (traceback->at.file != at.file || at.line - traceback->at.line > kTracebackLines) {
    add(std::move(*traceback));
    traceback.reset();
    return;
  }
  const std::string_view name = exceptionName(text);
  if (name.empty() || at == traceback->at) return;
  // NCCL's own exceptions and what has an event of its own stand for themselves.
  if (!explained && !has(name, "DistBackendError") && !has(name, "DistNetworkError")) {
    traceback->detail = brief(text);
    add(std::move(*traceback));
  }
  traceback.reset();
}

void EventReader::State::lookForYear(std::string_view text) {
  if (year != 0 || linesForYear >= kLinesForYear) return;
  ++linesForYear;
  const std::string_view front = trimmed(text.substr(0, 64));
  if (!front.empty() && (front.front() == '[' || (front.front() >= '1' && front.front() <= '9')))
    year = yearOf(front);
}

EventReader::EventReader(JobFacts& out) : state_(std::make_unique<State>(out)) {}
EventReader::~EventReader() = default;

void EventReader::nccl(const Speaker& who, std::string_view message, Place at) {
  State& s = *state_;
  // "NCCL INFO bootstrap.cc:270 -> 2": where a failed call was made from.
  if (!who.warn && has(message, " -> ")) {
    if (has(message, "bootstrap.cc") && State::near(s.connect, at, kNearLines) &&
        s.connect->host == who.host && s.connect->pid == who.pid &&
        s.connect->index < s.out.run.events.size())
      s.out.run.events[s.connect->index].id = "bootstrap-connect-failed";
    return;
  }
  Event base;
  base.host = std::string(who.host.substr(0, 255));
  base.pid = who.pid;
  base.rank = who.rank;
  base.time = std::string(who.time.substr(0, 64));
  base.location = std::string(who.location.substr(0, 128));
  base.at = at;
  s.match(message, base, who.warn, true);
}

bool EventReader::line(std::string_view text, Place at) {
  State& s = *state_;
  s.lookForYear(text);
  std::vector<Event> found;
  if (s.metrics.line(text, at, found)) {
    for (Event& e : found) s.add(std::move(e));
    return true;
  }
  const std::string_view looked = text.substr(0, kMaxText);
  const bool mayMatch = Table::get().words.in(looked).any();
  const bool crashFrame = State::near(s.crash, at, kNearLines) && has(looked, "crc32_16bytes");
  if (!mayMatch && !crashFrame && !s.traceback) return false;
  const LinePrefix prefix = takePrefix(looked);
  if (crashFrame && s.crash->index < s.out.run.events.size()) {
    s.out.run.events[s.crash->index].id = "segfault-crc32";
    return true;
  }
  Event base;
  base.rank = prefix.rank;
  base.host = std::string(prefix.host);
  base.time = std::string(prefix.time.substr(0, 64));
  base.at = at;
  const bool any = mayMatch && s.match(prefix.rest, base, has(looked, "WARN"), false);
  s.followTraceback(prefix.rest, at, any);
  return any;
}

void EventReader::endOfFile() {
  State& s = *state_;
  if (s.traceback) s.add(std::move(*s.traceback));
  s.traceback.reset();
  s.code.reset();
  s.crash.reset();
  s.connect.reset();
  s.metrics.endOfFile();
}

void EventReader::finish() {
  State& s = *state_;
  std::unordered_map<std::uint32_t, FileOwner> owners;
  for (Event& e : s.out.run.events) {
    e.seconds = inYear(e.seconds, s.year);
    e.lastSeconds = inYear(e.lastSeconds, s.year);
    if (!e.host.empty() || e.rank >= 0 || e.at.file >= s.out.files.size()) continue;
    const auto [entry, isNew] = owners.try_emplace(e.at.file);
    if (isNew) entry->second = ownerOf(s.out.files[e.at.file]);
    e.rank = entry->second.rank;
    e.host = entry->second.host;
  }
}

}  // namespace rdmaguard::readers
