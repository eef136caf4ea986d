// See baseline.h.
#include "verifier/engine/baseline.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

using Json = nlohmann::json;

// "2.26.2+cuda12.8" -> "2.26.2"
std::string bare(const std::string& version) {
  return version.substr(0, version.find('+'));
}

std::string versionOf(const JobFacts& job, const PerfTable& table) {
  if (!table.ncclVersion.empty()) return bare(table.ncclVersion);
  // The log beside it, where it knows of one version only.
  std::vector<std::string> seen;
  const auto add = [&seen](const std::string& v) {
    std::string version = bare(v);
    if (!version.empty() && std::find(seen.begin(), seen.end(), version) == seen.end())
      seen.push_back(std::move(version));
  };
  for (const std::string& v : job.log.versions) add(v);
  for (const ProcessLog& p : job.log.processes) add(p.ncclVersion);
  return seen.size() == 1 ? seen.front() : std::string();
}

std::pair<std::uint64_t, std::uint64_t> sizesOf(const PerfTable& t) {
  std::uint64_t least = 0, most = 0;
  for (const BusbwRow& row : t.rows) {
    if (row.average) continue;
    least = most == 0 && least == 0 ? row.sizeBytes : std::min(least, row.sizeBytes);
    most = std::max(most, row.sizeBytes);
  }
  return {least, most};
}

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// Empty = understood.
std::string readFigure(const Json& entry, BaselineFigure& figure) {
  if (!entry.is_object()) return "is no object";
  const Json* op = member(entry, "op");
  const Json* gpus = member(entry, "gpus");
  const Json* nccl = member(entry, "nccl");
  const Json* gbps = member(entry, "gbps");
  const Json* size = member(entry, "size_bytes");
  const Json* average = member(entry, "avg");
  if (!op || !op->is_string() || op->get_ref<const std::string&>().empty()) return "has no \"op\"";
  if (!gpus || !gpus->is_number_unsigned() || gpus->get<std::uint64_t>() == 0 ||
      gpus->get<std::uint64_t>() > 10'000'000)
    return "has no \"gpus\" above 0";
  if (!nccl || !nccl->is_string() || nccl->get_ref<const std::string&>().empty())
    return "has no \"nccl\" such as \"2.29.3\"";
  if (!gbps || !gbps->is_number() || !(gbps->get<double>() > 0) ||
      !std::isfinite(gbps->get<double>()))
    return "has no \"gbps\" above 0";
  figure.average = average && *average == true;
  if (figure.average == (size != nullptr)) return "needs either \"size_bytes\" or \"avg\": true";
  if (size && (!size->is_number_unsigned() || size->get<std::uint64_t>() == 0))
    return "has no \"size_bytes\" above 0";
  figure.op = op->get<std::string>();
  figure.gpus = static_cast<int>(gpus->get<std::uint64_t>());
  figure.ncclVersion = bare(nccl->get<std::string>());
  figure.gbps = gbps->get<double>();
  figure.sizeBytes = size ? size->get<std::uint64_t>() : 0;
  return {};
}

bool sameFigure(const BaselineFigure& f, const BusbwRow& row, const PerfTable& t) {
  if (f.op != row.op || f.average != row.average || f.sizeBytes != row.sizeBytes) return false;
  if (!f.average || f.maxBytes == 0) return true;
  // An average says nothing beside one over other sizes.
  return sizesOf(t) == std::pair(f.minBytes, f.maxBytes);
}

}  // namespace

Baseline baselineOfJson(std::string_view text) {
  Baseline out;
  const Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    out.problem = "It is no JSON.";
    return out;
  }
  const Json* list = &value;
  if (value.is_object()) list = member(value, "figures");
  if (!list || !list->is_array()) {
    out.problem = "It holds no list of \"figures\".";
    return out;
  }
  for (const Json& entry : *list) {
    BaselineFigure figure;
    if (const std::string wrong = readFigure(entry, figure); !wrong.empty()) {
      out.problem = cat("Its figure ", std::to_string(out.figures.size() + 1), " ", wrong, ".");
      return out;
    }
    out.figures.push_back(std::move(figure));
  }
  if (out.figures.empty()) out.problem = "Its list of figures is empty.";
  return out;
}

Baseline baselineOfTables(const JobFacts& run) {
  Baseline out;
  for (const PerfTable& t : run.run.tables) {
    const std::string version = versionOf(run, t);
    if (t.nRanks == 0 || version.empty() || t.failed || t.everyRankAlone) continue;
    const auto [least, most] = sizesOf(t);
    for (const BusbwRow& row : t.rows) {
      if (row.op.empty() || row.busbw <= 0) continue;
      out.figures.push_back({.op = row.op,
                             .average = row.average,
                             .sizeBytes = row.sizeBytes,
                             .gpus = t.nRanks,
                             .ncclVersion = version,
                             .gbps = row.busbw,
                             .minBytes = row.average ? least : 0,
                             .maxBytes = row.average ? most : 0});
    }
  }
  if (!out.figures.empty()) return out;
  out.problem = run.run.tables.empty()
                    ? "It holds neither a table of nccl-tests nor a list of figures."
                    : "No table in it names its GPUs (\"# Using devices\") and its NCCL version.";
  return out;
}

void compare(JobFacts& job, const Baseline& baseline) {
  for (PerfTable& t : job.run.tables) {
    const std::string version = versionOf(job, t);
    for (BusbwRow& row : t.rows) {
      row.standing = BusbwRow::Standing::Unverified;
      row.expectedBusbw = -1;
      if (row.op.empty() || t.nRanks == 0 || version.empty()) {
        row.unverifiedBecause = row.op.empty()  ? "the table does not name its operation"
                                : t.nRanks == 0 ? "the table does not list its GPUs"
                                                : "the input does not name the NCCL version";
        continue;
      }
      row.unverifiedBecause =
          cat("no figure for it with ", counted(static_cast<std::size_t>(t.nRanks), "GPU"),
              " and NCCL ", version);
      for (const BaselineFigure& f : baseline.figures) {
        if (f.gpus != t.nRanks || f.ncclVersion != version || !sameFigure(f, row, t)) continue;
        row.expectedBusbw = f.gbps;
        row.standing = row.busbw >= f.gbps * kEnoughOfBaseline ? BusbwRow::Standing::Verified
                                                               : BusbwRow::Standing::Below;
        row.unverifiedBecause.clear();
        break;
      }
    }
  }
}

std::string standingOf(const BusbwRow& row) {
  if (row.standing == BusbwRow::Standing::Unverified || row.expectedBusbw <= 0)
    return row.unverifiedBecause.empty()
               ? "unverified vs baseline"
               : cat("unverified vs baseline (", row.unverifiedBecause, ")");
  return cat(std::to_string(std::lround(100 * row.busbw / row.expectedBusbw)),
             " % of the baseline");
}

}  // namespace rdmaguard::engine
