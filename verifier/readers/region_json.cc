// See region_json.h.
#include "verifier/readers/region_json.h"

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxDepth = 256;
constexpr std::string_view kBlanks = " \t\r";
// Of numbers and of true, false and null: prose and log lines soon hold another letter.
constexpr std::string_view kWordBytes = "0123456789+-.eEtrufalsn";

}  // namespace

bool JsonGatherer::mayStart(std::string_view line) {
  const auto first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return false;
  const auto next = line.find_first_not_of(kBlanks, first + 1);
  const char follows = next == std::string_view::npos ? '\0' : line[next];
  if (line[first] == '{') return follows == '\0' || follows == '"' || follows == '}';
  if (line[first] == '[') return follows == '\0' || follows == '{' || follows == '"';
  return false;
}

JsonGatherer::Step JsonGatherer::take(std::string_view line, Place at) {
  const bool samePiece = gathering_ && at.line == lastLine_;
  if (!gathering_) {
    gathering_ = true;
    first_ = at;
  } else if (!samePiece) {
    text_ += '\n';
  }
  lastLine_ = at.line;
  text_ += line;
  // A string holds no line end.
  if (inString_ && !samePiece) return Step::Refused;
  if (text_.size() > kMaxRegionBytes) return Step::Refused;
  return scan(line);
}

JsonGatherer::Step JsonGatherer::scan(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inString_) {
      if (escaped_) {
        escaped_ = false;
        continue;
      }
      i = line.find_first_of("\"\\", i);
      if (i == std::string_view::npos) break;
      if (line[i] == '"')
        inString_ = false;
      else
        escaped_ = true;
      continue;
    }
    if (kBlanks.find(c) != std::string_view::npos) continue;
    if (closed_) {
      if (c != ',') return Step::Refused;
      continue;
    }
    switch (c) {
      case '"':
        inString_ = true;
        break;
      case '{':
      case '[':
        if (open_.size() >= kMaxDepth) return Step::Refused;
        open_ += c == '{' ? '}' : ']';
        break;
      case '}':
      case ']':
        if (open_.empty() || open_.back() != c) return Step::Refused;
        open_.pop_back();
        closed_ = open_.empty();
        break;
      case ',':
      case ':':
        break;
      default:
        if (kWordBytes.find(c) == std::string_view::npos) return Step::Refused;
    }
  }
  return closed_ ? Step::Complete : Step::Wants;
}

void JsonGatherer::clear() {
  gathering_ = false;
  text_.clear();
  if (text_.capacity() > (std::size_t{1} << 20)) text_.shrink_to_fit();
  open_.clear();
  inString_ = escaped_ = closed_ = false;
  lastLine_ = 0;
}

}  // namespace rdmaguard::readers
