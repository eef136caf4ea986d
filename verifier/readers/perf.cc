// See perf.h.
#include "verifier/readers/perf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <set>
#include <string>

#include "verifier/readers/event_prefix.h"
#include "verifier/readers/event_words.h"
#include "verifier/readers/perf_json.h"
#include "verifier/readers/perf_op.h"
#include "verifier/readers/perf_row.h"
#include "verifier/readers/perf_tables.h"

namespace rdmaguard::readers {
namespace {

using engine::BusbwRow;
using engine::PerfTable;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What every line of a table but its rows and its heading has one of: nearly all lines of a log
// come here, and have none.
bool mayBeOfTable(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kWords{
      "Collective test", "ccl-tests", "nThread", "Using devices", "Avg bus bandwidth",
      "Out of bounds",   "Rank",      "_perf",   "failure"};
  static const WordSet words(kWords);
  return words.in(text).any();
}

// "busbw", "algbw(GB/s)", "Busbw", "BW".
bool namesBandwidth(std::string_view text) {
  const auto afterB = [&](std::size_t w) {
    return w > 0 && (text[w - 1] == 'b' || text[w - 1] == 'B');
  };
  for (auto w = text.find('w'); w != std::string_view::npos; w = text.find('w', w + 1))
    if (afterB(w) || (w >= 4 && text.substr(w - 4, 8) == "andwidth")) return true;
  for (auto w = text.find('W'); w != std::string_view::npos; w = text.find('W', w + 1))
    if (afterB(w)) return true;
  return false;
}

// The number behind `key`, blanks, ':' and '=' between them skipped.
template <typename T>
std::optional<T> numberAfter(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  text = text.substr(std::min(text.size(), text.find_first_not_of(" \t:=")));
  T value{};
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return {};
  return value;
}

}  // namespace

struct PerfReader::State {
  explicit State(JobFacts& facts) : out(facts), tables(facts) {}

  JobFacts& out;
  PerfTables tables;
  std::optional<Heading> heading;
  bool closed = true;       // the table's last lines were seen
  std::string announcedOp;  // of a command line or a "Collective test starting"
  std::string announcedTool;

  PerfTable& current(Place at) {
    if (closed) {
      PerfTable& t = tables.open(at);
      t.op = announcedOp;
      t.tool = announcedTool;
      closed = false;
      return t;
    }
    return tables.last();
  }
  // A line that begins a run: what came before belongs to another one.
  void begin(Place at) {
    if (!closed && tables.last().rowsSeen == 0 && tables.last().nRanks == 0) return;
    closed = true;
    heading.reset();
    current(at);
  }
  void command(std::string_view text) {
    if (!contains(text, "_perf")) return;
    std::string op = operationIn(text);
    if (op.empty()) return;
    announcedOp = op;
    if (!closed && tables.last().rowsSeen == 0 && tables.last().op.empty())
      tables.last().op = std::move(op);
    else
      closed = true;
  }
  void average(double gbps, bool failed, Place at);
  bool preamble(std::string_view text, Place at);
  bool footer(std::string_view text, Place at);
};

void PerfReader::State::average(double gbps, bool failed, Place at) {
  // A run without MPI prints one for each of its processes.
  PerfTable& t = closed && tables.any() && tables.last().at.file == at.file &&
                         !tables.last().rows.empty() && tables.last().rows.back().average
                     ? tables.last()
                     : current(at);
  if (t.tool.empty()) t.tool = "nccl-tests";
  if (t.failed |= failed; t.rows.size() >= engine::kMaxPerfRows) return;
  BusbwRow row;
  row.average = true;
  row.busbw = gbps;
  row.at = at;
  t.rows.push_back(std::move(row));
}

bool PerfReader::State::preamble(std::string_view text, Place at) {
  if (contains(text, "Collective test starting")) {
    announcedOp = operationIn(text);
    begin(at);
    tables.last().op = announcedOp;
    return true;
  }
  if (contains(text, "nccl-tests version")) {
    begin(at);
    announcedTool = tables.last().tool = "nccl-tests";
    if (const auto code = numberAfter<int>(text, "nccl-library"))
      tables.last().ncclVersion = versionOf(*code);
    return true;
  }
  if (contains(text, "rccl-tests: Version")) {
    current(at).tool = announcedTool = "rccl-tests";
    return true;
  }
  if (contains(text, "nThread") && contains(text, "minBytes")) {
    begin(at);
    if (tables.last().tool.empty()) tables.last().tool = "nccl-tests";
    return true;
  }
  if (contains(text, "Using devices") && text.size() < 64) {
    begin(at);
    return true;
  }
  return false;
}

bool PerfReader::State::footer(std::string_view text, Place at) {
  if (contains(text, "Avg bus bandwidth")) {
    if (const auto gbps = numberAfter<double>(text, "Avg bus bandwidth")) {
      average(*gbps, text.ends_with("FAILED"), at);
      closed = true;
    }
    return true;
  }
  if (contains(text, "Out of bounds values")) {
    // "node-[1,2] alone: Out of bounds values : 0 OK" is somebody's remark, not a table's end.
    if (!text.starts_with('#') && !text.starts_with("Out")) return false;
    if (text.find("Out of bounds") > 8) return false;
    PerfTable& t = current(at);
    t.outOfBounds = numberAfter<long>(text, "values").value_or(-1);
    t.failed |= text.ends_with("FAILED");
    return true;
  }
  if (contains(text, "Collective test concluded")) {
    closed = true;
    announcedOp.clear();
    return true;
  }
  return false;
}

PerfReader::PerfReader(JobFacts& out) : state_(std::make_unique<State>(out)) {}
PerfReader::~PerfReader() = default;

bool PerfReader::line(std::string_view text, Place at) {
  constexpr std::size_t kLongest = 4096;
  if (text.size() > kLongest) return false;
  State& s = *state_;
  const std::string_view body = takePrefix(text).rest;
  if (body.empty()) return false;
  const bool mayBe = mayBeOfTable(body);
  if (mayBe && (s.preamble(body, at) || s.footer(body, at))) return true;
  if (const auto rank = mayBe ? parseRank(body) : std::nullopt) {
    if (!s.closed && s.tables.last().rowsSeen != 0) s.begin(at);
    s.tables.list(s.current(at), rank->rank, rank->host);
    return true;
  }
  if (namesBandwidth(body)) {
    if (auto heading = parseHeading(body)) {
      if (!s.closed && s.tables.last().rowsSeen != 0) s.begin(at);
      PerfTable& t = s.current(at);
      if (heading->ncclTests && t.tool.empty()) t.tool = "nccl-tests";
      s.heading = std::move(heading);
      return true;
    }
  }
  // Tags that takePrefix does not know may stand in front of a row: parseRow skips them.
  if (auto row = parseRow(body, s.closed ? nullptr : s.heading ? &*s.heading : nullptr)) {
    s.tables.add(s.current(at), *row, at);
    return true;
  }
  if (mayBe) s.command(body);
  if (mayBe && (contains(body, "Test NCCL failure") || contains(body, ": Test failure ") ||
                contains(body, "Test CUDA failure"))) {
    if (!s.closed) s.tables.last().failed = true;
    return false;  // what failed is for the event reader
  }
  return !s.closed && (contains(body, "out-of-place") || contains(body, "(GB/s)") || body == "#" ||
                       body == "..." || contains(body, "Blocking Enabled"));
}

bool PerfReader::mayNote(std::string_view text) {
  return mayBeOfTable(text) || namesBandwidth(text);
}

bool PerfReader::open() const {
  return !state_->closed && (state_->heading || state_->tables.last().rowsSeen > 0);
}

void PerfReader::command(std::string_view text) {
  state_->command(text);
}

bool PerfReader::json(std::string_view text, Place at) {
  state_->closed = true;
  return readPerfJson(text, at, state_->tables);
}

void PerfReader::endOfFile() {
  state_->closed = true;
  state_->heading.reset();
  state_->announcedOp.clear();
  state_->announcedTool.clear();
  state_->tables.endOfFile();
}

void PerfReader::finish() {
  state_->tables.finish();
}

}  // namespace rdmaguard::readers
