// See verify_busbw.h.
#include "verifier/cli/verify_busbw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "verifier/engine/baseline.h"

namespace rdmaguard::cli {
namespace {

using engine::BusbwRow;
using engine::PerfTable;

/// "64 MiB", "1000 B": whole numbers only.
std::string bytes(std::uint64_t n) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && n >= 1024 && n % 1024 == 0) {
    n /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", n, kUnits[unit]);
}

std::string figure(const BusbwRow& row) {
  if (row.average) return fmt::format("{:>10}  {:>9.2f} GB/s", "average", row.busbw);
  std::string text = fmt::format("{:>10}  {:>9.2f} GB/s (algbw {:.2f}", bytes(row.sizeBytes),
                                 row.busbw, row.algbw);
  if (row.inPlaceBusbw >= 0) text += fmt::format(", in place {:.2f}", row.inPlaceBusbw);
  text += ')';
  if (row.wrong > 0) text += fmt::format(", {} elements WRONG", row.wrong);
  return text;
}

std::string title(const PerfTable& table) {
  std::string text = table.op.empty() ? std::string("operation not named") : table.op;
  if (table.nRanks > 0)
    text += fmt::format(", {} rank{}", table.nRanks, table.nRanks == 1 ? "" : "s");
  if (!table.hosts.empty())
    text += fmt::format(" on {} host{}", table.hosts.size(), table.hosts.size() == 1 ? "" : "s");
  if (!table.ncclVersion.empty()) text += ", NCCL " + table.ncclVersion;
  if (table.failed) text += "; the run ended in an error";
  return text;
}

}  // namespace

std::vector<std::string> busbwLines(const engine::JobFacts& facts) {
  std::vector<std::string> lines;
  for (const PerfTable& table : facts.run.tables) {
    lines.push_back(fmt::format("{} [{}]", title(table), facts.source(table.at)));
    const BusbwRow* fastest = nullptr;
    const BusbwRow* largest = nullptr;
    for (const BusbwRow& row : table.rows) {
      if (row.average) continue;
      if (fastest == nullptr || row.busbw > fastest->busbw) fastest = &row;
      if (largest == nullptr || row.sizeBytes >= largest->sizeBytes) largest = &row;
    }
    for (const BusbwRow& row : table.rows) {
      const bool worth = row.average || &row == fastest || &row == largest || row.wrong > 0;
      if (worth) lines.push_back("  " + figure(row) + "  " + engine::standingOf(row));
    }
  }
  return lines;
}

}  // namespace rdmaguard::cli
