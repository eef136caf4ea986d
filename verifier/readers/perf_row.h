// One line of a bandwidth table: heading, row or entry of the device list. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "verifier/engine/run_facts.h"

namespace rdmaguard::readers {

/// What a column holds.
enum class Column : std::uint8_t {
  Size,
  Count,
  Type,
  Redop,
  Root,
  Time,
  Algbw,
  Busbw,
  Wrong,
  Other
};

/// A heading: its columns, left to right, and the units where they differ from nccl-tests' own
/// (bytes, microseconds, GB/s).
struct Heading {
  std::vector<Column> columns;
  std::vector<double> units;  ///< what to multiply a column by
  bool ncclTests = false;     ///< "#wrong" or "error" and "redop": nccl-tests' or rccl-tests' own
};

/// A row before it is known which operation it measured.
struct ParsedRow {
  engine::BusbwRow row;
  std::uint64_t count = 0;
  std::string_view type, redop;  ///< views of the line
  bool hasRoot = false;
  int root = -1;
  bool inPlaceUnchecked = false;
};

/// An entry of "Using devices".
struct ListedRank {
  int rank = -1;
  std::string_view host;
};

/// A line that names its columns; nothing for any other line.
std::optional<Heading> parseHeading(std::string_view line);
/// A row; `heading` may be null, when only the form that nccl-tests and rccl-tests print is taken.
/// Anything may stand in front of it.
std::optional<ParsedRow> parseRow(std::string_view line, const Heading* heading);
/// "#  Rank  0 Group  0 Pid 4200 on node-0 device  0 [0x0a] NVIDIA H100"
std::optional<ListedRank> parseRank(std::string_view line);

}  // namespace rdmaguard::readers
