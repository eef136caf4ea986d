// See perf_tables.h.
#include "verifier/readers/perf_tables.h"

#include <algorithm>

#include "verifier/readers/perf_op.h"

namespace rdmaguard::readers {
namespace {

using engine::BusbwRow;
using engine::PerfTable;

constexpr std::size_t kMaxTables = 256;
constexpr std::size_t kMaxHosts = 4096;

// Processes that each run alone, for want of MPI in the build, print a table each: several
// averages in one, all of them 0.
bool severalRunsWithoutTraffic(const PerfTable& t) {
  std::size_t averages = 0;
  for (const BusbwRow& row : t.rows) {
    if (row.busbw > 0) return false;
    averages += row.average ? 1 : 0;
  }
  return averages > 1;
}

}  // namespace

std::string versionOf(int code) {
  if (code <= 0) return {};
  const int major = code >= 10'000 ? code / 10'000 : code / 1'000;
  const int minor = code >= 10'000 ? code / 100 % 100 : code / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

engine::PerfTable& PerfTables::open(engine::Place at) {
  auto& tables = out_.run.tables;
  if (tables.size() < kMaxTables) {
    tables.emplace_back();
    signs_.emplace_back();
    tables.back().at = at;
  }
  return tables.back();
}

PerfTables::Signs& PerfTables::signs(const engine::PerfTable& table) {
  return signs_[static_cast<std::size_t>(&table - out_.run.tables.data())];
}

void PerfTables::list(engine::PerfTable& table, int rank, std::string_view host) {
  if (rank == 0 && table.nRanks > 0) table.everyRankAlone = true;
  table.nRanks = std::max(table.nRanks, rank + 1);
  ++signs(table).listed;
  if (table.hosts.size() >= kMaxHosts) return;
  // The list is in rank order: a host's ranks stand together.
  if (!table.hosts.empty() && table.hosts.back() == host) return;
  if (std::find(table.hosts.begin(), table.hosts.end(), host) == table.hosts.end())
    table.hosts.emplace_back(host);
}

void PerfTables::add(engine::PerfTable& table, const ParsedRow& parsed, engine::Place at) {
  OperationSigns look;
  look.size = parsed.row.sizeBytes;
  look.count = parsed.count;
  look.type = parsed.type;
  look.redop = parsed.redop;
  look.hasRoot = parsed.hasRoot;
  look.root = parsed.root;
  look.algbw = parsed.row.algbw;
  look.busbw = parsed.row.busbw;
  look.inPlaceUnchecked = parsed.inPlaceUnchecked;
  look.nRanks = table.nRanks;
  const std::string_view op = inferOperation(look);
  auto& seen = signs(table).inferred;
  if (!op.empty() && seen.size() < 8 && std::find(seen.begin(), seen.end(), op) == seen.end())
    seen.emplace_back(op);
  BusbwRow row = parsed.row;
  row.at = at;
  add(table, std::move(row));
}

void PerfTables::add(engine::PerfTable& table, engine::BusbwRow row) {
  ++table.rowsSeen;
  constexpr std::size_t kMost = engine::kMaxPerfRows - 8;  // leaves room for averages
  if (table.rows.size() < kMost) {
    table.rows.push_back(std::move(row));
    return;
  }
  const auto smallest = std::min_element(table.rows.begin(), table.rows.end(),
                                         [](const BusbwRow& a, const BusbwRow& b) {
                                           if (a.average != b.average) return b.average;
                                           return a.sizeBytes < b.sizeBytes;
                                         });
  if (smallest->average || smallest->sizeBytes > row.sizeBytes) return;
  *smallest = std::move(row);
}

void PerfTables::finish() {
  auto& tables = out_.run.tables;
  for (std::size_t i = 0; i < tables.size() && i < signs_.size(); ++i) {
    PerfTable& t = tables[i];
    t.allListed = t.nRanks > 0 && !t.everyRankAlone &&
                  signs_[i].listed == static_cast<std::uint64_t>(t.nRanks);
    t.everyRankAlone |= severalRunsWithoutTraffic(t);
    if (t.op.empty()) {
      const auto& seen = signs_[i].inferred;
      const std::string byName =
          t.at.file < out_.files.size() ? operationIn(out_.files[t.at.file], true) : std::string();
      const auto fits = [&seen](std::string_view op) {
        return std::find(seen.begin(), seen.end(), op) != seen.end();
      };
      // A file's name says it where the columns do not, or where they leave it open: no redop is
      // all-gather's and all-to-all's, sum with root -1 all-reduce's and send-receive's.
      if (!byName.empty() && (seen.empty() || !fits("all_reduce") || fits(byName))) {
        t.op = byName;
      } else if (!seen.empty()) {
        t.op = fits("all_reduce") ? "all_reduce" : seen.front();
      }
      t.opInferred = !t.op.empty();
    }
    for (BusbwRow& row : t.rows)
      if (row.op.empty()) row.op = t.op;
    std::stable_sort(t.rows.begin(), t.rows.end(), [](const BusbwRow& a, const BusbwRow& b) {
      return static_cast<int>(a.average) < static_cast<int>(b.average);
    });
  }
  // Tables without a row or an average are command lines and headings: nothing was measured.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const PerfTable& t = tables[i];
    if (t.rows.empty() && t.nRanks == 0 && !t.failed && t.outOfBounds < 0) continue;
    if (kept != i) {
      tables[kept] = std::move(tables[i]);
      if (i < signs_.size()) signs_[kept] = std::move(signs_[i]);
    }
    ++kept;
  }
  tables.resize(kept);
  if (signs_.size() > kept) signs_.resize(kept);
}

}  // namespace rdmaguard::readers
