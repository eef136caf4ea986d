// See perf_json.h.
#include "verifier/readers/perf_json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "verifier/readers/perf_op.h"

namespace rdmaguard::readers {
namespace {

using engine::BusbwRow;
using engine::PerfTable;
using Json = nlohmann::json;

const Json& at(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

// Numbers come as numbers and as strings.
std::optional<double> number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  const auto from = text.find_first_not_of(' ');
  if (from == std::string::npos) return {};
  double parsed = 0;
  if (std::from_chars(text.data() + from, text.data() + text.size(), parsed).ec != std::errc())
    return {};
  return std::isfinite(parsed) ? std::optional(parsed) : std::nullopt;
}

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::uint64_t bytes(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  const auto n = number(value);
  return n && *n >= 0 && *n < 1.8e19 ? static_cast<std::uint64_t>(*n) : 0;
}

long wrong(const Json& value) {
  const auto n = number(value);
  return n && *n >= 0 && *n < 1e15 ? std::lround(*n) : -1;
}

bool saysNo(const Json& value) {
  return value == false || text(value) == "false" || text(value) == "FAILED";
}

// nccl-tests -J: one object for the run.
bool readRun(const Json& run, engine::Place place, PerfTables& out) {
  const Json& results = at(run, "results");
  if (!results.is_array()) return false;
  const bool measured = std::any_of(results.begin(), results.end(), [](const Json& r) {
    return at(r, "out_of_place").is_object() || at(r, "in_place").is_object();
  });
  if (!measured && at(run, "average_bus_bandwidth").is_null()) return false;
  PerfTable& t = out.open(place);
  t.tool = "nccl-tests";
  if (const auto code = number(at(run, "nccl_version")); code && *code > 0 && *code < 1e7)
    t.ncclVersion = versionOf(static_cast<int>(*code));
  for (const Json& arg : at(run, "args"))
    if (arg.is_string() && t.op.empty()) t.op = operationIn(arg.get_ref<const std::string&>());
  for (const Json& device : at(at(run, "config"), "devices")) {
    const auto rank = number(at(device, "rank"));
    if (rank && *rank >= 0 && *rank < 1e7)
      out.list(t, static_cast<int>(*rank), text(at(device, "hostname")));
  }
  for (const Json& result : results) {
    const Json& outOf = at(result, "out_of_place");
    const Json& inPlace = at(result, "in_place");
    const Json& side = outOf.is_object() ? outOf : inPlace;
    const auto busbw = number(at(side, "bus_bw"));
    if (!busbw) continue;
    if (t.op.empty()) t.op = operationOf(text(at(result, "experiment_name")));
    BusbwRow row;
    row.sizeBytes = bytes(at(result, "size"));
    row.busbw = *busbw;
    row.algbw = number(at(side, "alg_bw")).value_or(0);
    row.timeUs = number(at(side, "time")).value_or(number(at(side, "cpu_time")).value_or(0));
    row.wrong = wrong(at(side, "nwrong"));
    row.inPlaceBusbw = number(at(inPlace, "bus_bw")).value_or(-1);
    row.at = place;
    out.add(t, std::move(row));
  }
  const Json& bounds = at(run, "out_of_bounds");
  t.outOfBounds = wrong(at(bounds, "count"));
  t.failed |= saysNo(at(bounds, "okay"));
  const Json& average = at(run, "average_bus_bandwidth");
  if (const auto gbps = number(at(average, "bandwidth"))) {
    BusbwRow row;
    row.average = true;
    row.busbw = *gbps;
    row.at = place;
    t.rows.push_back(std::move(row));
  }
  t.failed |= saysNo(at(average, "okay"));
  for (const Json& error : at(run, "errors")) t.failed |= !text(error).empty();
  return true;
}

// rccl-tests: an object for each size and side.
bool readSide(const Json& side, engine::Place place, PerfTables& out) {
  const auto busbw = number(at(side, "busBw"));
  if (!busbw) return false;
  const std::string op = operationOf(text(at(side, "name")));
  int gpus = 0;
  for (const char* key : {"gpus", "ranks", "nranks"})
    if (const auto n = number(at(side, key)); n && *n > 0 && *n < 1e7) gpus = static_cast<int>(*n);
  const bool sameRun = out.any() && out.last().tool == "rccl-tests" && out.last().op == op &&
                       out.last().nRanks == gpus && out.last().at.file == place.file;
  PerfTable& t = sameRun ? out.last() : out.open(place);
  t.tool = "rccl-tests";
  t.op = op;
  t.nRanks = gpus;
  const std::uint64_t size = bytes(at(side, "size"));
  const Json& where = at(side, "inPlace");
  const bool inPlace = where == true || number(where).value_or(0) != 0 || text(where) == "true";
  if (inPlace && !t.rows.empty() && t.rows.back().sizeBytes == size &&
      t.rows.back().inPlaceBusbw < 0) {
    t.rows.back().inPlaceBusbw = *busbw;
    return true;
  }
  BusbwRow row;
  row.sizeBytes = size;
  row.busbw = *busbw;
  row.algbw = number(at(side, "algBw")).value_or(0);
  row.timeUs = number(at(side, "time")).value_or(0);
  row.wrong = wrong(at(side, "#wrong").is_null() ? at(side, "wrong") : at(side, "#wrong"));
  if (inPlace) row.inPlaceBusbw = *busbw;
  row.at = place;
  out.add(t, std::move(row));
  return true;
}

}  // namespace

bool readPerfJson(std::string_view input, engine::Place place, PerfTables& out) {
  // Cheaper than parsing what is somebody else's.
  if (input.find("bus_bw") == std::string_view::npos &&
      input.find("busBw") == std::string_view::npos &&
      input.find("average_bus_bandwidth") == std::string_view::npos)
    return false;
  const Json value = Json::parse(input, nullptr, false);
  if (value.is_discarded()) return false;
  if (value.is_object()) return readRun(value, place, out) || readSide(value, place, out);
  if (!value.is_array()) return false;
  bool any = false;
  for (const Json& item : value) any |= readRun(item, place, out) || readSide(item, place, out);
  return any;
}

}  // namespace rdmaguard::readers
