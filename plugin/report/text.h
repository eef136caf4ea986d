// Sentences and figures as the log shows them. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::report {

/// "mlx5_0..7" for consecutive names, "mlx5_0,mlx5_2" otherwise, "none" for no name.
/// Numbers sort as numbers.
std::string deviceRange(std::vector<std::string> names);

/// Bytes in binary units where they divide evenly, as nccl-tests users read sizes
/// ("64 MiB", "20000 B"), else with one decimal ("76.3 MiB").
std::string messageSize(std::uint64_t bytes);

/// Bytes in decimal units with three figures ("1.23 GB"), as link traffic is counted.
std::string traffic(std::uint64_t bytes);

/// Megabits per second as a port's rate: "400 Gb/s", "2.5 Gb/s"; "speed unknown" for 0.
std::string portRate(std::int64_t megabits);

/// "0x1f00d" as NCCL writes commId and commHash; "unknown" for 0, which stands for that.
std::string commId(std::uint64_t id);

/// Bus bandwidth of one operation and size over some time.
struct BusbwRow {
  std::string operation;
  std::uint64_t bytes = 0;           ///< message size, as nccl-tests counts it
  std::uint64_t count = 0;           ///< collectives timed
  double p50 = 0, min = 0, max = 0;  ///< busbw in GB/s (10^9 bytes)
  double seconds = 0;                ///< time spent in them
};

/// The rows that took the most time, at most `most` of them, as one phrase:
/// "AllReduce 64 MiB x120 busbw 312.4 GB/s (298.1 to 318.0)".
std::string busbwPhrase(std::span<const BusbwRow> rows, std::size_t most);

/// `items` as numbered, wrapped lines, each begun with `indent`: a list in a block.
std::string numbered(std::span<const std::string> items, std::string_view indent);

}  // namespace rdmaguard::report
