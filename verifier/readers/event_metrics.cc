// See event_metrics.h.
#include "verifier/readers/event_metrics.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "verifier/readers/event_prefix.h"
#include "verifier/readers/event_time.h"

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxColumns = 64;
constexpr double kNearNothing = 0.02;  // of the most seen
constexpr int kRowsToBeSure = 2;
constexpr double kBusyPercent = 50;

std::vector<std::string_view> fieldsOf(std::string_view text) {
  std::vector<std::string_view> fields;
  while (fields.size() < kMaxColumns) {
    const auto comma = text.find(',');
    fields.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return fields;
}

std::optional<double> figure(std::string_view s) {
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size() || !std::isfinite(value)) return {};
  return value;
}

bool hasAny(std::string_view text, const auto& words) {
  for (const std::string_view w : words)
    if (text.find(w) != std::string_view::npos) return true;
  return false;
}

}  // namespace

bool MetricsReader::heading(std::string_view text) {
  constexpr std::array<std::string_view, 5> kTimes{"time", "timestamp", "ts", "date", "datetime"};
  // Nearly every line with a comma in it stops here.
  if (trimmed(text.substr(0, text.find(','))).size() > kTimes[1].size()) return false;
  const auto fields = fieldsOf(text);
  if (fields.size() < 2) return false;
  std::vector<Series> columns;
  bool useful = false;
  for (const std::string_view field : fields) {
    std::string name(field.substr(0, 64));
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (columns.empty()) {
      bool isTime = false;
      for (const std::string_view t : kTimes) isTime |= name == t;
      if (!isTime) return false;
    }
    Series s;
    constexpr std::array<std::string_view, 6> kStores{"storage", "nfs",  "disk",
                                                      "lustre",  "read", "dataset"};
    constexpr std::array<std::string_view, 6> kRates{"mib", "mb", "gib", "gb", "bytes", "bps"};
    if (hasAny(name, kStores) && hasAny(name, kRates) && name.find("write") == std::string::npos)
      s.kind = Kind::StorageReads;
    else if (name.find("gpu") != std::string::npos && name.find("util") != std::string::npos)
      s.kind = Kind::GpuUse;
    useful |= s.kind != Kind::Other;
    s.name = std::move(name);
    columns.push_back(std::move(s));
  }
  if (!useful) return false;
  columns_ = std::move(columns);
  return true;
}

bool MetricsReader::line(std::string_view text, engine::Place at,
                         std::vector<engine::Event>& found) {
  if (text.size() > 2048 || text.find(',') == std::string_view::npos) return false;
  if (columns_.empty()) return heading(text);
  const auto fields = fieldsOf(text);
  if (fields.size() != columns_.size() || secondsOf(fields[0]) < 0) return heading(text);
  // A job that is over reads nothing either, and then no GPU works.
  bool anyBusy = false, anyUse = false;
  for (std::size_t i = 1; i < fields.size(); ++i)
    if (columns_[i].kind == Kind::GpuUse) {
      anyUse = true;
      anyBusy |= figure(fields[i]).value_or(0) >= kBusyPercent;
    }
  for (std::size_t i = 1; i < fields.size(); ++i) {
    Series& s = columns_[i];
    const auto value = figure(fields[i]);
    if (s.kind == Kind::Other || !value) continue;
    s.most = std::max(s.most, *value);
    if (s.most <= 0 || *value > s.most * kNearNothing || (anyUse && !anyBusy)) {
      s.low = 0;
      continue;
    }
    if (s.low++ == 0) {
      s.lowSince = at;
      s.lowTime = std::string(fields[0]);
    }
    if (s.low < kRowsToBeSure || s.told) continue;
    s.told = true;
    engine::Event e;
    e.id = s.kind == Kind::StorageReads ? "storage-stalled" : "gpu-idle";
    e.failure = s.kind == Kind::StorageReads;
    e.device = s.kind == Kind::GpuUse ? s.name.substr(0, s.name.find('_')) : std::string();
    e.detail = s.name + " fell to nothing";
    e.time = s.lowTime;
    e.seconds = secondsOf(s.lowTime);
    e.at = s.lowSince;
    found.push_back(std::move(e));
  }
  return true;
}

}  // namespace rdmaguard::readers
