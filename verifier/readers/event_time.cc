// See event_time.h.
#include "verifier/readers/event_time.h"

#include <array>
#include <cstdint>

namespace rdmaguard::readers {
namespace {

constexpr double kDay = 86'400;

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// Reads from the front of a text; every take leaves it as it was when it fails.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  char peek(std::size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at;
    return true;
  }
  void blanks() {
    while (peek() == ' ') ++at;
  }
  // `least` to `most` digits, and no digit after them; -1 = not so.
  std::int64_t number(std::size_t least, std::size_t most) {
    std::int64_t value = 0;
    std::size_t n = 0;
    while (n < most && isDigit(peek(n))) value = value * 10 + (peek(n++) - '0');
    if (n < least || isDigit(peek(n))) return -1;
    at += n;
    return value;
  }
};

// Days from 1970-01-01, by the proleptic Gregorian calendar.
std::int64_t daysFrom1970(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t ofEra = year - era * 400;
  const std::int64_t ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719'468;
}

/// The digits behind a decimal point.
double takeFraction(Cursor& c) {
  double fraction = 0, unit = 1;
  while (isDigit(c.peek())) {
    unit /= 10;
    fraction += unit * (c.peek() - '0');
    ++c.at;
  }
  return fraction;
}

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"Mon", "Tue", "Wed", "Thu",
                                                    "Fri", "Sat", "Sun"};

template <std::size_t N>
int takeName(Cursor& c, const std::array<std::string_view, N>& names) {
  const std::string_view word = c.text.substr(c.at, 3);
  for (std::size_t i = 0; i < N; ++i)
    if (word == names[i]) {
      c.at += 3;
      return static_cast<int>(i) + 1;
    }
  return 0;
}

// "08:02:10", "08:02:10.123", "08:02:10,123"; seconds since midnight, -1 = none.
// Seconds are read leniently: some kernels' logs come with "058".
double takeClock(Cursor& c) {
  const Cursor saved = c;
  const std::int64_t h = c.number(1, 2);
  const std::int64_t m = h >= 0 && c.take(':') ? c.number(2, 2) : -1;
  const std::int64_t s = m >= 0 && c.take(':') ? c.number(1, 3) : -1;
  if (s < 0 || h > 24 || m > 59 || s > 60) {
    c = saved;
    return -1;
  }
  double fraction = 0;
  if ((c.peek() == '.' || c.peek() == ',') && isDigit(c.peek(1))) {
    ++c.at;
    fraction = takeFraction(c);
  }
  return static_cast<double>(h * 3600 + m * 60 + s) + fraction;
}

// "Z", "+00:00", "-0800", " UTC"
void takeZone(Cursor& c) {
  if (c.take('Z')) return;
  if (c.text.substr(c.at).starts_with(" UTC")) {
    c.at += 4;
    return;
  }
  const Cursor saved = c;
  if (c.take('+') || c.take('-')) {
    if (c.number(4, 4) >= 0) return;
    if (c.number(2, 2) >= 0 && c.take(':') && c.number(2, 2) >= 0) return;
    c = saved;
  }
}

struct Stamp {
  double seconds = -1;
  int year = 0;  // 0: none written
  std::size_t end = 0;
};

double withDate(std::int64_t year, std::int64_t month, std::int64_t day, double clock) {
  if (month < 1 || month > 12 || day < 1 || day > 31 || clock < 0) return -1;
  return static_cast<double>(daysFrom1970(year, static_cast<int>(month), static_cast<int>(day))) *
             kDay +
         clock;
}

// 2026-10-18 01:12:09, 2026-10-18T01:12:09.083-08:00, 2026/10/18 01:12:09
Stamp isoStamp(Cursor c) {
  const std::int64_t year = c.number(4, 4);
  const char separator = c.peek();
  if (year < 1970 || (separator != '-' && separator != '/')) return {};
  ++c.at;
  const std::int64_t month = c.number(1, 2);
  if (month < 0 || !c.take(separator)) return {};
  const std::int64_t day = c.number(1, 2);
  if (day < 0 || (!c.take('T') && !c.take(' ') && !c.take('_'))) return {};
  const double seconds = withDate(year, month, day, takeClock(c));
  if (seconds < 0) return {};
  takeZone(c);
  return {seconds, static_cast<int>(year), c.at};
}

// Wed Oct 14 08:02:10 2026, Oct 14 08:02:10
Stamp kernelStamp(Cursor c) {
  if (c.peek() < 'A' || c.peek() > 'Z') return {};
  if (takeName(c, kWeekdays) != 0) c.blanks();
  const int month = takeName(c, kMonths);
  if (month == 0 || c.peek() != ' ') return {};
  c.blanks();
  const std::int64_t day = c.number(1, 2);
  if (day < 0 || !c.take(' ')) return {};
  const double clock = takeClock(c);
  if (clock < 0) return {};
  Cursor after = c;
  after.blanks();
  const std::int64_t year = after.number(4, 4);
  if (year < 1970) return {withDate(kNoYear, month, day, clock), 0, c.at};
  return {withDate(year, month, day, clock), static_cast<int>(year), after.at};
}

// E1019 04:10:31.110223400; absl writes the same with the year: E20261019 04:10:31
Stamp glogStamp(Cursor c) {
  const char level = c.peek();
  if (level != 'E' && level != 'W' && level != 'I' && level != 'F') return {};
  ++c.at;
  std::int64_t date = c.number(4, 4);
  if (date < 0) date = c.number(8, 8);
  // PyTorch drops the zero in front of the month: "E805".
  if (date < 0) date = c.number(3, 3);
  if (date < 0 || !c.take(' ')) return {};
  const double clock = takeClock(c);
  if (clock < 0) return {};
  const std::int64_t year = date > 9999 ? date / 10'000 : 0;
  const double seconds = withDate(year != 0 ? year : kNoYear, date / 100 % 100, date % 100, clock);
  return {seconds, static_cast<int>(year), c.at};
}

// 12345.678901 between brackets
Stamp countStamp(Cursor c) {
  c.blanks();
  const std::int64_t whole = c.number(1, 12);
  if (whole < 0 || !c.take('.') || !isDigit(c.peek())) return {};
  const double fraction = takeFraction(c);
  return {static_cast<double>(whole) + fraction, 0, c.at};
}

Stamp clockStamp(Cursor c) {
  if (!isDigit(c.peek())) return {};
  const double clock = takeClock(c);
  return {clock, 0, clock < 0 ? 0 : c.at};
}

Stamp stampAt(Cursor c, bool bracketed) {
  for (const auto form : {isoStamp, kernelStamp, glogStamp})
    if (const Stamp s = form(c); s.seconds >= 0) return s;
  if (bracketed)
    if (const Stamp s = countStamp(c); s.seconds >= 0) return s;
  return clockStamp(c);
}

}  // namespace

std::size_t stampLength(std::string_view text) noexcept {
  Cursor c{text.substr(0, 160)};
  const std::string_view whole = c.text;
  // "<6>[  3.1]": the kernel's level
  if (c.peek() == '<' && isDigit(c.peek(1)) && c.peek(2) == '>' && c.peek(3) == '[') c.at += 3;
  const bool bracketed = c.take('[');
  const Stamp stamp = stampAt(c, bracketed);
  if (stamp.seconds < 0) return 0;
  c.at = stamp.end;
  if (bracketed) {
    const auto close = whole.find(']', c.at);
    if (close == std::string_view::npos) return 0;
    c.at = close + 1;
  }
  c.take(':');
  return c.peek() == ' ' ? c.at + 1 : c.at;
}

double secondsOf(std::string_view stamp) noexcept {
  Cursor c{stamp.substr(0, 160)};
  c.blanks();
  c.take('[');
  return stampAt(c, true).seconds;
}

int yearOf(std::string_view stamp) noexcept {
  Cursor c{stamp.substr(0, 160)};
  c.blanks();
  c.take('[');
  return stampAt(c, true).year;
}

double inYear(double seconds, int year) noexcept {
  const auto from = static_cast<double>(daysFrom1970(kNoYear, 1, 1)) * kDay;
  const auto to = static_cast<double>(daysFrom1970(kNoYear + 1, 1, 1)) * kDay;
  if (seconds < from || seconds >= to || year < kNoYear) return seconds;
  // From March on a common year is a day behind the leap year.
  const auto march = static_cast<double>(daysFrom1970(kNoYear, 3, 1)) * kDay;
  const double ofYear =
      seconds < march
          ? seconds - from
          : seconds - march +
                static_cast<double>(daysFrom1970(year, 3, 1) - daysFrom1970(year, 1, 1)) * kDay;
  return static_cast<double>(daysFrom1970(year, 1, 1)) * kDay + ofYear;
}

}  // namespace rdmaguard::readers
