// See region.h.
#include "verifier/readers/region.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "verifier/readers/batch.h"
#include "verifier/readers/clean.h"
#include "verifier/readers/environment.h"
#include "verifier/readers/ports.h"
#include "verifier/readers/spec.h"

namespace rdmaguard::readers {
namespace {

enum Kind : std::size_t { kSpec, kBatch, kPorts, kEnvironment, kNone };

constexpr unsigned bit(Kind k) {
  return 1U << k;
}

struct Row {
  RegionReader reader;
  /// Kinds that end a region of this one by a line that starts theirs, even where this reader
  /// would take the line. A script may hold a manifest, and nearly every line is a script's.
  unsigned endedBy;
};

// In the order in which a line is offered to them.
constexpr std::array<Row, kNone> kRegions{
    Row{{"spec", claimSpec, readSpec}, bit(kBatch) | bit(kPorts)},
    Row{{"batch", claimBatch, readBatch}, bit(kPorts)},
    Row{{"ports", claimPorts, readPorts}, bit(kSpec) | bit(kBatch)},
    Row{{"environment", claimEnvironment, readEnvironment}, bit(kSpec) | bit(kBatch) | bit(kPorts)},
};

// Lines of other kinds that may stand within a region: output of several processes in one file.
constexpr std::uint64_t kMaxGap = 256;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool indented(std::string_view line) {
  return !line.empty() && (line.front() == ' ' || line.front() == '\t');
}

std::size_t indentation(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? line.size() : first;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// "host:123:456 [0] NCCL INFO", whatever stands before: not the words of a script or a comment.
bool unmistakablyLog(std::string_view line) {
  for (const std::string_view words : {" NCCL INFO ", " NCCL WARN "}) {
    const auto at = line.find(words);
    if (at == std::string_view::npos || at == 0) continue;
    const char before = line[at - 1];
    if ((before == ']' || isDigit(before)) &&
        line.substr(0, at).find(':') != std::string_view::npos)
      return true;
  }
  return false;
}

bool isFence(std::string_view line) {
  return line.starts_with("```") || line.starts_with("~~~");
}

}  // namespace

LineRouter::LineRouter(JobFacts& out)
    : out_(out), events_(out), log_(out, events_), perf_(out), kind_(kNone) {}

void LineRouter::line(std::string_view text, Place at, bool further) {
  if (!further) ++out_.linesRead;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (json_.gathering()) {
    gatherJson(text, at);
    return;
  }
  plain(text, at, further);
}

void LineRouter::plain(std::string_view text, Place at, bool further) {
  // Quoted in mail or drawn into a box: what stands in it may be a log.
  // Further in, a manifest may have it.
  if (!text.empty() &&
      (text.front() == '>' || text.front() == '\xe2' || (text.front() == ' ' && kind_ == kNone))) {
    const auto first = std::min(text.find_first_not_of(' '), text.size() - 1);
    if (text[first] == '>' || text[first] == '\xe2') text = withoutFrame(text.substr(first));
  }
  if (!text.empty() && text.front() == '{' && unwrapped(text, at)) return;
  if (kind_ == kSpec || kind_ == kBatch) {
    const std::string_view bare = withoutControls(text, controls_);
    if (regionFirst(bare)) {
      const bool head = tableHead(bare, at);
      if (head || offerRegion(bare, at)) {
        ++counts_.lines;
        if (!head) perf_.command(bare);
        return;
      }
    }
  }
  // NUL runs stand where a network file system lost a writer's bytes.
  if (!text.empty() && text.front() != '\0') {
    if (log_.line(text, at)) {
      ++counts_.lines;
      return;
    }
  }
  const std::string_view bare = withoutControls(text, controls_);
  if (bare.size() != text.size() && log_.line(bare, at)) {
    ++counts_.lines;
    return;
  }
  if (bare.size() != text.size() && text.find('\0') != std::string_view::npos &&
      readEnvironBlock(text, at, out_)) {
    ++counts_.lines;
    return;
  }
  if (bare.size() != text.size() && looksBinary(text)) ++counts_.binary;
  // Progress bars write over their line.
  std::string_view rest = bare;
  for (auto part = rest.find('\r'); part != std::string_view::npos; part = rest.find('\r')) {
    other(withoutFrame(rest.substr(0, part)), at, further);
    rest.remove_prefix(part + 1);
  }
  other(withoutFrame(rest), at, further);
}

/// Whether the open spec or script has the first word on a line that may quote a log.
bool LineRouter::regionFirst(std::string_view text) const {
  if (text.empty()) return false;
  const bool comment = text.front() == '#';
  if (kind_ == kSpec && !indented(text) && !comment) return false;
  return comment || !unmistakablyLog(text);
}

void LineRouter::other(std::string_view text, Place at, bool further) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) {
    // Within a region the numbers of the next line make up for it.
    if (kind_ == kNone) {
      perf_.line(text, at);
      events_.line(text, at);
    }
    return;
  }
  if (JsonGatherer::mayStart(text) && (kind_ == kNone || !indented(text)) && gatherJson(text, at))
    return;
  ++counts_.lines;
  if (isFence(text)) {
    close(false);
    return;
  }
  if (tableHead(text, at)) return;
  // What kinds of regions and tables say of a line depends on the line alone where none is open.
  const bool alone = kind_ == kNone && !perf_.open() && !further;
  const std::uint64_t shape = alone ? LineShapes::markOf(text) : 0;
  if (!nobodys_.holds(shape)) {
    if (perf_.open() && perf_.line(text, at)) {
      close(false);
      return;
    }
    if (offerRegion(text, at)) {
      perf_.command(text);
      return;
    }
    if (perf_.line(text, at)) return;
    if (alone && !PerfReader::mayNote(text)) nobodys_.add(shape);
  }
  if (events_.line(text, at)) return;
  if (further) return;
  ++counts_.unknown;
  ++out_.linesUnknown;
  if (looksBinary(text)) ++counts_.binary;
}

/// True: the line was taken, by a value that goes on or by the readers of one that ended.
bool LineRouter::gatherJson(std::string_view text, Place at) {
  const bool begins = !json_.gathering();
  const JsonGatherer::Step step = json_.take(text, at);
  if (!jsonAllowed_ && step == JsonGatherer::Step::Wants) {
    json_.clear();
    return false;
  }
  switch (step) {
    case JsonGatherer::Step::Wants:
      return true;
    case JsonGatherer::Step::Complete:
      jsonValue();
      return true;
    case JsonGatherer::Step::Refused:
      break;
  }
  if (begins) {
    json_.clear();
    return false;
  }
  const std::string lines = json_.text();
  const Place first = json_.first();
  json_.clear();
  again(lines, first);
  return true;
}

void LineRouter::jsonValue() {
  const std::string value = json_.text();
  const Place first = json_.first();
  json_.clear();
  if (readSpecJson(value, first, out_) || perf_.json(value, first) ||
      readPortsJson(value, first, out_)) {
    ++counts_.lines;
    close(false);
    return;
  }
  again(value, first);
}

/// Lines that were gathered for a JSON value and are none of the known ones: each for itself.
void LineRouter::again(const std::string& text, Place first) {
  const bool allowed = jsonAllowed_;
  jsonAllowed_ = false;
  std::string_view rest = text;
  for (Place at = first;; ++at.line) {
    const auto end = rest.find('\n');
    const std::string_view one = rest.substr(0, end);
    if (!one.empty()) ++counts_.lines;
    if (!one.empty() && !log_.line(one, at) && !offerRegion(one, at) && !perf_.line(one, at) &&
        !events_.line(one, at)) {
      ++counts_.unknown;
      ++out_.linesUnknown;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  jsonAllowed_ = allowed;
}

/// Container runtimes and log collectors keep each line as an object: {"log":"...\n", ...}.
bool LineRouter::unwrapped(std::string_view text, Place at) {
  if (unwrapping_ || !text.ends_with('}')) return false;
  constexpr std::array<std::string_view, 3> kKeys{"log", "message", "msg"};
  bool mayHold = false;
  for (const std::string_view key : kKeys) {
    const auto found = text.find(key);
    mayHold = mayHold || (found != std::string_view::npos && found > 0 && text[found - 1] == '"');
  }
  if (!mayHold) return false;
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return false;
  for (const std::string_view key : kKeys) {
    const auto value = object.find(std::string(key));
    if (value == object.end() || !value->is_string()) continue;
    unwrapping_ = true;
    const std::string inner = value->get<std::string>();
    std::string_view rest = inner;
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      plain(rest.substr(0, end), at, false);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    unwrapping_ = false;
    return true;
  }
  return false;
}

/// The head of a table is no comment of the manifest or script before it, which it ends.
bool LineRouter::tableHead(std::string_view text, Place at) {
  if (kind_ == kNone || !text.starts_with('#') || !perf_.line(text, at)) return false;
  close(false);
  return true;
}

bool LineRouter::offerRegion(std::string_view text, Place at) {
  // A further piece of a line goes where its first one went.
  if (kind_ != kNone && at.line == regionLast_) {
    append(text, at);
    return true;
  }
  if (kind_ != kNone && at.line - regionLast_ > kMaxGap) close(false);
  // A code block ends where its indentation does.
  if (kind_ != kNone && indentation(text) < regionIndentation_) close(false);
  unsigned mayStart = ~0U;
  if (kind_ != kNone) {
    const Claim claim = kRegions[kind_].reader.claim(text, true);
    if (claim != Claim::No) mayStart = kRegions[kind_].endedBy;
    for (std::size_t k = 0; k < kRegions.size(); ++k) {
      if (k == kind_ || (mayStart >> k & 1U) == 0) continue;
      if (kRegions[k].reader.claim(text, false) != Claim::Starts) continue;
      begin(k, text, at);
      return true;
    }
    if (claim == Claim::Continues) append(text, at);
    if (claim == Claim::Starts) begin(kind_, text, at);
    if (claim == Claim::No) close(false);
    if (claim != Claim::No) return true;
  }
  for (std::size_t k = 0; k < kRegions.size(); ++k) {
    if (kRegions[k].reader.claim(text, false) != Claim::Starts) continue;
    begin(k, text, at);
    return true;
  }
  // A script in a code block: no manifest is open whose block this could be.
  if (!indented(text)) return false;
  const std::size_t by = indentation(text);
  if (kRegions[kBatch].reader.claim(text.substr(by), false) != Claim::Starts) return false;
  begin(kBatch, text, at);
  regionIndentation_ = by;
  return true;
}

void LineRouter::begin(std::size_t kind, std::string_view text, Place at) {
  close(false);
  kind_ = kind;
  regionFirst_ = at;
  regionLast_ = at.line;
  append(text, at);
}

void LineRouter::append(std::string_view text, Place at) {
  const std::uint64_t gap = at.line - regionLast_;
  regionLast_ = at.line;
  if (regionTooLong_ || region_.size() + gap + text.size() > kMaxRegionBytes) {
    regionTooLong_ = true;
    return;
  }
  region_.append(gap, '\n');
  region_.append(text);
}

void LineRouter::close(bool cut) {
  if (kind_ == kNone) return;
  const std::size_t kind = kind_;
  kind_ = kNone;
  regionIndentation_ = 0;
  region_ += '\n';
  kRegions[kind].reader.read(region_, regionFirst_, cut || regionTooLong_, out_);
  region_.clear();
  if (region_.capacity() > (std::size_t{1} << 20)) region_.shrink_to_fit();
  regionTooLong_ = false;
}

LineRouter::Counts LineRouter::endOfFile(bool cut) {
  if (json_.gathering()) {
    const std::string lines = json_.text();
    const Place first = json_.first();
    json_.clear();
    again(lines, first);
  }
  close(cut);
  log_.endOfFile(cut);
  perf_.endOfFile();
  events_.endOfFile();
  return std::exchange(counts_, {});
}

void LineRouter::finish() {
  log_.finish();
  perf_.finish();
  events_.finish();
}

}  // namespace rdmaguard::readers
