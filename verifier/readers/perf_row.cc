// See perf_row.h.
#include "verifier/readers/perf_row.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "verifier/readers/perf_op.h"

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxTokens = 40;
constexpr std::size_t kMaxPrefixTokens = 8;
constexpr std::size_t kMaxLine = 2048;

struct Tokens {
  std::array<std::string_view, kMaxTokens> word;
  std::size_t n = 0;

  explicit Tokens(std::string_view line) {
    line = line.substr(0, kMaxLine);
    std::size_t at = 0;
    while (n < kMaxTokens) {
      while (at < line.size() && isBlank(line[at])) ++at;
      if (at == line.size()) return;
      const std::size_t start = at;
      while (at < line.size() && !isBlank(line[at])) ++at;
      word[n++] = line.substr(start, at - start);
    }
  }

 private:
  // find_first_of calls into the C library for every byte, and every line of a log comes here.
  static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
};

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool allDigits(std::string_view s) {
  return !s.empty() && s.size() < 20 && std::all_of(s.begin(), s.end(), isDigit);
}

std::string lowered(std::string_view s) {
  std::string out(s.substr(0, 64));
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

template <typename T>
std::optional<T> numberIn(std::string_view s) {
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return {};
  return value;
}

std::optional<double> figureIn(std::string_view s) {
  const auto value = numberIn<double>(s);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

bool isFigureOrNone(std::string_view s) {
  return s == "N/A" || s == "-" || s == "nan" || figureIn(s) ||
         (s.ends_with('*') && figureIn(s.substr(0, s.size() - 1)));
}

// "1073741824", "64MB", "2G", "8KiB". Suffixes are powers of 1024, as nccl-tests reads them.
std::optional<std::uint64_t> sizeIn(std::string_view s) {
  if (const auto colon = s.rfind(':'); colon != std::string_view::npos) s.remove_prefix(colon + 1);
  std::size_t digits = 0;
  while (digits < s.size() && isDigit(s[digits])) ++digits;
  if (digits == 0 || digits > 19) return {};
  const auto value = numberIn<std::uint64_t>(s.substr(0, digits));
  if (!value) return {};
  std::string suffix = lowered(s.substr(digits));
  if (suffix.ends_with("ib"))
    suffix.resize(suffix.size() - 2);
  else if (suffix.ends_with('b'))
    suffix.pop_back();
  unsigned shift = 0;
  if (suffix == "k")
    shift = 10;
  else if (suffix == "m")
    shift = 20;
  else if (suffix == "g")
    shift = 30;
  else if (suffix == "t")
    shift = 40;
  else if (!suffix.empty())
    return {};
  if (*value > (~0ULL >> shift)) return {};
  return *value << shift;
}

bool isWord(std::string_view s) {
  return !s.empty() && s.size() <= 24 && isLetter(s.front()) && s != "N/A" && s != "nan" &&
         s != "inf";
}

Column columnOf(std::string_view token) {
  const std::string t = lowered(token);
  const auto has = [&t](std::string_view part) { return t.find(part) != std::string::npos; };
  if (has("busbw") || has("bus_bw") || has("busbandwidth")) return Column::Busbw;
  if (has("algbw") || has("alg_bw") || has("algbandwidth")) return Column::Algbw;
  if (has("wrong") || t.starts_with("error") || t == "res") return Column::Wrong;
  if (has("time") && !has("stamp")) return Column::Time;
  if (t.starts_with("lat")) return Column::Time;
  if (has("size") || t.starts_with("bytes")) return Column::Size;
  if (t.starts_with("count") || t == "n" || t.starts_with("elem") || t == "nelem")
    return Column::Count;
  if (t == "type" || t == "dtype" || t == "datatype") return Column::Type;
  if (t == "redop" || t == "op") return Column::Redop;
  if (t == "root") return Column::Root;
  return Column::Other;
}

// Case tells bytes from bits.
double unitOf(Column column, std::string_view token) {
  const auto has = [token](std::string_view part) {
    return token.find(part) != std::string_view::npos;
  };
  if (column == Column::Time) {
    const std::string t = lowered(token);
    if (t.ends_with("_ms") || t.ends_with("(ms)") || t.ends_with("ms")) return 1e3;
    if (t.ends_with("_s") || t.ends_with("(s)") || t.ends_with("sec")) return 1e6;
    if (t.ends_with("_ns") || t.ends_with("(ns)")) return 1e-3;
    return 1;
  }
  if (column != Column::Algbw && column != Column::Busbw) return 1;
  if (has("GiB")) return 1.073741824;
  if (has("MiB")) return 1.048576e-3;
  if (has("GB")) return 1;
  if (has("MB")) return 1e-3;
  if (has("Gb")) return 1.0 / 8;
  if (has("Mb")) return 1e-3 / 8;
  return 1;
}

bool fits(Column column, std::string_view token) {
  switch (column) {
    case Column::Size:
      return sizeIn(token).has_value();
    case Column::Count:
      return allDigits(token);
    case Column::Type:
    case Column::Redop:
      return isWord(token);
    case Column::Root:
      return numberIn<int>(token).has_value();
    case Column::Time:
    case Column::Algbw:
    case Column::Busbw:
    case Column::Wrong:
      return isFigureOrNone(token);
    case Column::Other:
      return true;
  }
  return true;
}

long wrongIn(std::string_view token) {
  if (token.ends_with('*')) token.remove_suffix(1);
  const auto value = figureIn(token);
  return value && *value < 1e15 ? std::lround(*value) : -1;
}

// Puts a token where its column says. The second time, algbw and busbw are those in place.
struct RowBuilder {
  ParsedRow parsed;
  int times = 0, algbws = 0, busbws = 0, wrongs = 0;
  bool deltas = false;  // "error" holds a difference, not a count

  void put(Column column, std::string_view token, double unit) {
    engine::BusbwRow& row = parsed.row;
    const double figure = figureIn(token).value_or(-1);
    switch (column) {
      case Column::Size:
        row.sizeBytes = sizeIn(token).value_or(0);
        break;
      case Column::Count:
        parsed.count = numberIn<std::uint64_t>(token).value_or(0);
        break;
      case Column::Type:
        parsed.type = token;
        break;
      case Column::Redop:
        parsed.redop = token;
        break;
      case Column::Root:
        parsed.hasRoot = true;
        parsed.root = numberIn<int>(token).value_or(-1);
        break;
      case Column::Time:
        if (times++ == 0 && figure >= 0) row.timeUs = figure * unit;
        break;
      case Column::Algbw:
        if (algbws++ == 0 && figure >= 0) row.algbw = figure * unit;
        break;
      case Column::Busbw:
        if (busbws++ == 0)
          row.busbw = figure < 0 ? 0 : figure * unit;
        else if (busbws == 2 && figure >= 0)
          row.inPlaceBusbw = figure * unit;
        break;
      case Column::Wrong:
        // Until 2.13 nccl-tests printed the largest difference ("2e-06") here.
        deltas |= token.find('e') != std::string_view::npos;
        if (wrongs++ == 0)
          row.wrong = deltas ? -1 : wrongIn(token);
        else
          parsed.inPlaceUnchecked = row.wrong >= 0 && token == "N/A";
        break;
      case Column::Other:
        break;
    }
  }
};

std::optional<ParsedRow> byHeading(const Tokens& tokens, const Heading& heading) {
  const std::size_t width = heading.columns.size();
  for (std::size_t from = 0; from < kMaxPrefixTokens && from + width <= tokens.n; ++from) {
    bool all = true;
    for (std::size_t i = 0; i < width && all; ++i)
      all = fits(heading.columns[i], tokens.word[from + i]);
    if (!all) continue;
    RowBuilder b;
    for (std::size_t i = 0; i < width; ++i)
      b.put(heading.columns[i], tokens.word[from + i], heading.units[i]);
    return b.parsed;
  }
  return {};
}

bool isDate(std::string_view s) {
  return s.size() == 10 && s[4] == '-' && s[7] == '-';
}

// size count type [redop] [root] {time algbw busbw [#wrong]} once or twice: what is there follows
// from how many words there are.
std::optional<ParsedRow> byShape(const Tokens& tokens) {
  for (std::size_t from = 0; from < kMaxPrefixTokens && from + 6 <= tokens.n; ++from) {
    if (!allDigits(tokens.word[from + 1]) || !sizeIn(tokens.word[from]) ||
        !isElementType(tokens.word[from + 2]))
      continue;
    RowBuilder b;
    b.put(Column::Size, tokens.word[from], 1);
    b.put(Column::Count, tokens.word[from + 1], 1);
    b.put(Column::Type, tokens.word[from + 2], 1);
    std::size_t at = from + 3;
    if (isWord(tokens.word[at])) b.put(Column::Redop, tokens.word[at++], 1);
    std::size_t end = tokens.n;
    if (end >= at + 2 && isDate(tokens.word[end - 2])) end -= 2;  // -T 1: time stamps
    std::size_t left = end - at;
    // With per-iteration times each half is 8 wide, with side work 5.
    std::size_t half = 0;
    bool root = false;
    switch (left) {
      case 3:
      case 4:
        half = left;
        break;
      case 5:
        half = 4, root = true;
        break;
      case 6:
        half = 3;
        break;
      case 7:
        half = 3, root = true;
        break;
      case 8:
        half = 4;
        break;
      case 9:
        half = 4, root = true;
        break;
      case 11:
        half = 5, root = true;
        break;
      case 17:
        half = 8, root = true;
        break;
      default:
        return {};
    }
    if (root) {
      if (!fits(Column::Root, tokens.word[at])) return {};
      b.put(Column::Root, tokens.word[at++], 1);
    }
    for (; at + half <= end; at += half) {
      for (std::size_t i = 0; i < half; ++i)
        if (!isFigureOrNone(tokens.word[at + i])) return {};
      b.put(Column::Time, tokens.word[at], 1);
      b.put(Column::Algbw, tokens.word[at + 1], 1);
      b.put(Column::Busbw, tokens.word[at + 2], 1);
      if (half == 5)
        b.put(Column::Wrong, tokens.word[at + 4], 1);
      else if (half > 3)
        b.put(Column::Wrong, tokens.word[at + 3], 1);
    }
    return b.parsed;
  }
  return {};
}

}  // namespace

std::optional<Heading> parseHeading(std::string_view line) {
  if (line.size() > kMaxLine) return {};
  const Tokens tokens(line);
  Heading h;
  bool size = false, busbw = false, redop = false, wrong = false, count = false, oldest = false;
  for (std::size_t i = 0; i < tokens.n; ++i) {
    const std::string_view token = tokens.word[i];
    const Column column = columnOf(token);
    // Tags and the '#' stand in front of the first column.
    if (!size && column != Column::Size) continue;
    size = true;
    busbw |= column == Column::Busbw;
    redop |= column == Column::Redop || column == Column::Type;
    wrong |= column == Column::Wrong;
    count |= column == Column::Count;
    oldest |= token == "N";
    h.columns.push_back(column);
    h.units.push_back(unitOf(column, token));
  }
  if (!size || !busbw || h.columns.size() < 3) return {};
  h.ncclTests = redop && count && wrong;
  // Before 2.0.1 nccl-tests gave times in milliseconds under "bytes N type op root".
  if (oldest)
    for (std::size_t i = 0; i < h.columns.size(); ++i)
      if (h.columns[i] == Column::Time) h.units[i] = 1e3;
  // A time stamp takes two words of a row, and is of no use.
  while (!h.columns.empty() && h.columns.back() == Column::Other) {
    h.columns.pop_back();
    h.units.pop_back();
  }
  return h;
}

std::optional<ParsedRow> parseRow(std::string_view line, const Heading* heading) {
  if (line.size() > kMaxLine) return {};
  const Tokens tokens(line);
  if (tokens.n < 3) return {};
  if (heading)
    if (auto row = byHeading(tokens, *heading)) return row;
  if (heading && !heading->ncclTests) return {};
  return byShape(tokens);
}

std::optional<ListedRank> parseRank(std::string_view line) {
  if (line.size() > kMaxLine || line.find("Rank") == std::string_view::npos) return {};
  const Tokens t(line);
  ListedRank found;
  bool device = false;
  for (std::size_t i = 0; i + 1 < t.n; ++i) {
    if (t.word[i].ends_with("Rank") && found.rank < 0) {
      const auto rank = numberIn<int>(t.word[i + 1]);
      if (!rank || *rank < 0 || *rank > 10'000'000) return {};
      found.rank = *rank;
    } else if (t.word[i] == "on" && found.rank >= 0 && found.host.empty()) {
      found.host = t.word[i + 1];
    } else if (t.word[i] == "device" && !found.host.empty() && numberIn<int>(t.word[i + 1])) {
      device = true;
    }
  }
  return found.rank >= 0 && device ? std::optional(found) : std::nullopt;
}

}  // namespace rdmaguard::readers
