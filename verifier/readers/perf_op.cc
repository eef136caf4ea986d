// See perf_op.h.
#include "verifier/readers/perf_op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rdmaguard::readers {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool isNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Without '_' and '-', in lower case -> as nccl-tests names it. Longer names in front of those
// they begin with.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kOperations{{
    {"allreduce", "all_reduce"},
    {"allgatherv", "all_gather_v"},
    {"allgather", "all_gather"},
    {"reducescatter", "reduce_scatter"},
    {"alltoallv", "alltoallv"},
    {"alltoall", "alltoall"},
    {"all2all", "alltoall"},
    {"broadcast", "broadcast"},
    {"bcast", "broadcast"},
    {"sendrecv", "sendrecv"},
    {"sendreceive", "sendrecv"},
    {"p2p", "sendrecv"},
    {"hypercube", "hypercube"},
    {"reduce", "reduce"},
    {"gather", "gather"},
    {"scatter", "scatter"},
}};

std::string folded(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, 48))
    if (c != '_' && c != '-') out += lower(c);
  return out;
}

// Bytes of one element; 0 = not a type nccl-tests has.
std::uint64_t sizeOfType(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 15> kTypes{{
      {"int8", 1},
      {"uint8", 1},
      {"char", 1},
      {"int32", 4},
      {"int", 4},
      {"uint32", 4},
      {"int64", 8},
      {"uint64", 8},
      {"half", 2},
      {"float16", 2},
      {"bfloat16", 2},
      {"float", 4},
      {"float32", 4},
      {"double", 8},
      {"float64", 8},
  }};
  for (const auto& [name, bytes] : kTypes)
    if (type == name) return bytes;
  return type.find('8') != std::string_view::npos && type.starts_with("f") ? 1 : 0;
}

}  // namespace

std::string operationOf(std::string_view word) noexcept {
  std::string name = folded(word);
  for (const std::string_view suffix : {"perf", "test", "bench", "benchmark"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      name.resize(name.size() - suffix.size());
  if (name.starts_with("nccl") || name.starts_with("rccl")) name.erase(0, 4);
  for (const auto& [from, to] : kOperations)
    if (name == from) return std::string(to);
  return {};
}

std::string operationIn(std::string_view text, bool loose) noexcept {
  text = text.substr(0, 4096);
  for (auto at = text.find("_perf"); at != std::string_view::npos;
       at = text.find("_perf", at + 5)) {
    std::size_t from = at;
    while (from > 0 && isNameChar(text[from - 1])) --from;
    if (std::string op = operationOf(text.substr(from, at - from)); !op.empty()) return op;
  }
  if (!loose) return {};
  // A name may hold '-' or '_' between its words, and those also stand around it: try the whole
  // word, then what begins at each of its parts.
  const std::string name = folded(text);
  for (const auto& [from, to] : kOperations)
    if (from.size() > 6 && name.find(from) != std::string::npos) return std::string(to);
  return {};
}

bool isElementType(std::string_view word) noexcept {
  if (sizeOfType(word) != 0) return true;
  constexpr std::array<std::string_view, 4> kFamilies{"fp8", "f8e", "bf16", "fp16"};
  return std::any_of(kFamilies.begin(), kFamilies.end(),
                     [word](std::string_view family) { return word.starts_with(family); }) ||
         word == "bool";
}

std::string_view inferOperation(const OperationSigns& row) noexcept {
  const double factor = row.algbw > 0 && row.busbw > 0 ? row.busbw / row.algbw : 0;
  constexpr double kRounding = 0.02;
  // Only all-reduce moves more than its size over the bus.
  if (factor > 1 + kRounding && row.algbw > 0.5) return "all_reduce";
  const std::uint64_t element = sizeOfType(row.type);
  const bool countsAll = element != 0 && row.count * element == row.size;
  const bool countsShare = element != 0 && row.count * element < row.size;
  if (row.redop == "none") {
    if (row.hasRoot && row.root >= 0) return countsAll ? "broadcast" : "";
    return row.inPlaceUnchecked ? "alltoall" : "all_gather";
  }
  if (row.redop.empty()) {
    // The oldest tables leave out the columns an operation has no use for.
    if (row.hasRoot) return row.root >= 0 && !row.type.empty() ? "broadcast" : "";
    return "";
  }
  if (row.hasRoot && row.root >= 0) return "reduce";
  if (countsShare) return "reduce_scatter";
  if (row.nRanks > 2 && row.algbw > 0.5 && std::abs(factor - 1) < kRounding) return "sendrecv";
  return "all_reduce";
}

}  // namespace rdmaguard::readers
