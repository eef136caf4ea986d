// The names of collective operations, and what the columns of a table say of them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaguard::readers {

/// "all_reduce" for "AllReduce", "all_reduce_perf", "allreduce"; as nccl-tests names its programs.
/// Empty for anything else.
std::string operationOf(std::string_view word) noexcept;

/// The operation a text names: the name of an nccl-tests program anywhere in it
/// ("/opt/all_gather_perf -b 8"), else, if `loose`, an operation's name as a word
/// ("results/alltoall.txt"). Empty = none.
std::string operationIn(std::string_view text, bool loose = false) noexcept;

/// A data type as nccl-tests and rccl-tests name them ("float", "bfloat16", "f8e4m3").
bool isElementType(std::string_view word) noexcept;

/// What one row shows of the operation that it measured.
struct OperationSigns {
  std::uint64_t size = 0, count = 0;
  std::string_view type, redop;  ///< redop empty = not printed
  bool hasRoot = false;
  int root = -1;
  double algbw = 0, busbw = 0;
  bool inPlaceUnchecked = false;  ///< #wrong is a number out of place and N/A in place
  int nRanks = 0;                 ///< 0 = not known
};

/// The operation that fits; empty = several do. nccl-tests src/*.cu: which arguments each passes
/// for redop, root and in-place checks, how it counts elements, and its factor of busbw over algbw.
std::string_view inferOperation(const OperationSigns& row) noexcept;

}  // namespace rdmaguard::readers
