// Tables in the making: what the lines and JSON values of a bandwidth test add up to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/job_facts.h"
#include "verifier/readers/perf_row.h"

namespace rdmaguard::readers {

/// "2.29.3" for NCCL_VERSION_CODE 22903 ("2.7.8" for 2708, as it was coded until 2.8).
std::string versionOf(int code);

class PerfTables {
 public:
  explicit PerfTables(engine::JobFacts& out) : out_(out) {}

  bool any() const { return !out_.run.tables.empty(); }
  /// A new table. Past the most that are kept, the last one is taken again.
  engine::PerfTable& open(engine::Place at);
  engine::PerfTable& last() { return out_.run.tables.back(); }

  /// A rank of the device list.
  void list(engine::PerfTable& table, int rank, std::string_view host);
  /// A row, kept within kMaxPerfRows so that the largest sizes stay.
  void add(engine::PerfTable& table, const ParsedRow& row, engine::Place at);
  void add(engine::PerfTable& table, engine::BusbwRow row);

  void endOfFile() {}
  /// Completes every table: operation, averages last.
  void finish();

 private:
  struct Signs {
    std::uint64_t listed = 0;           // entries of the device list
    std::vector<std::string> inferred;  // operations that rows pointed at, each once
  };
  Signs& signs(const engine::PerfTable& table);

  engine::JobFacts& out_;
  std::vector<Signs> signs_;  // parallel to the tables that this reader opened
};

}  // namespace rdmaguard::readers
