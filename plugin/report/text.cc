// See text.h.
#include "plugin/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "rdmaguard/wrap.h"

namespace rdmaguard::report {
namespace {

struct Numbered {
  std::string stem;
  long number = -1;  // -1: the name ends in no number
};

Numbered split(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
  const std::size_t length = name.size() - digits;
  const bool padded = length > 1 && name[digits] == '0';
  if (length == 0 || length > 9 || padded) return {name, -1};
  return {name.substr(0, digits), std::stol(name.substr(digits))};
}

std::string scaled(double value, double step, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace

std::string deviceRange(std::vector<std::string> names) {
  if (names.empty()) return "none";
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    const Numbered x = split(a), y = split(b);
    return std::tie(x.stem, x.number) < std::tie(y.stem, y.number);
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    const Numbered first = split(names[i]);
    std::size_t end = i + 1;
    while (first.number >= 0 && end < names.size()) {
      const Numbered next = split(names[end]);
      if (next.stem != first.stem || next.number != first.number + static_cast<long>(end - i))
        break;
      ++end;
    }
    if (!out.empty()) out += ',';
    out += names[i];
    if (end - i >= 3) {
      out += fmt::format("..{}", split(names[end - 1]).number);
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

std::string messageSize(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::uint64_t value = bytes;
  std::size_t unit = 0;
  while (value >= 1024 && value % 1024 == 0 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (value < 1024) return fmt::format("{} {}", value, kUnits[unit]);
  double rest = static_cast<double>(value);
  while (rest >= 1024 && unit + 1 < kUnits.size()) {
    rest /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", rest, kUnits[unit]);
}

std::string traffic(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  return scaled(static_cast<double>(bytes), 1000, kUnits);
}

std::string portRate(std::int64_t megabits) {
  if (megabits <= 0) return "speed unknown";
  if (megabits < 1000) return fmt::format("{} Mb/s", megabits);
  return fmt::format("{:g} Gb/s", static_cast<double>(megabits) / 1000.0);
}

std::string commId(std::uint64_t id) {
  return id == 0 ? "unknown" : fmt::format("{:#x}", id);
}

std::string busbwPhrase(std::span<const BusbwRow> rows, std::size_t most) {
  std::vector<BusbwRow> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const BusbwRow& a, const BusbwRow& b) { return a.seconds > b.seconds; });
  std::string out;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    const BusbwRow& r = sorted[i];
    if (!out.empty()) out += "; ";
    out += fmt::format("{} {} x{} busbw {:.4g} GB/s", r.operation, messageSize(r.bytes), r.count,
                       r.p50);
    if (r.count > 1) out += fmt::format(" ({:.4g} to {:.4g})", r.min, r.max);
  }
  if (sorted.size() > most) out += fmt::format("; {} more", sorted.size() - most);
  return out;
}

std::string numbered(std::span<const std::string> items, std::string_view indent) {
  constexpr std::size_t kWidth = 96;
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string number = items.size() > 1 ? fmt::format("{}. ", i + 1) : std::string();
    out += wrap(items[i], std::string(indent) + number, kWidth) + '\n';
  }
  return out;
}

}  // namespace rdmaguard::report
