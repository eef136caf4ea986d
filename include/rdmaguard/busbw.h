// Bus bandwidth as nccl-tests defines it (NVIDIA/nccl-tests doc/PERFORMANCE.md):
// algbw = message bytes / time, busbw = algbw x a factor of the operation.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaguard {

/// A collective (or point-to-point batch) as a user names it.
enum class Operation : std::uint8_t {
  Unknown,
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  AlltoAll,
  Gather,
  Scatter,
  SendRecv,
  Send,
  Recv,
};

constexpr std::string_view name(Operation op) {
  switch (op) {
    case Operation::Unknown:
      return "Unknown";
    case Operation::AllReduce:
      return "AllReduce";
    case Operation::AllGather:
      return "AllGather";
    case Operation::ReduceScatter:
      return "ReduceScatter";
    case Operation::Broadcast:
      return "Broadcast";
    case Operation::Reduce:
      return "Reduce";
    case Operation::AlltoAll:
      return "AlltoAll";
    case Operation::Gather:
      return "Gather";
    case Operation::Scatter:
      return "Scatter";
    case Operation::SendRecv:
      return "SendRecv";
    case Operation::Send:
      return "Send";
    case Operation::Recv:
      return "Recv";
  }
  return "Unknown";
}

/// busbw / algbw for `op` over `ranks` ranks (>= 1); 0 for Unknown.
constexpr double busFactor(Operation op, int ranks) {
  if (ranks < 1) return 0.0;
  const double n = ranks;
  switch (op) {
    case Operation::AllReduce:
      return 2.0 * (n - 1) / n;
    case Operation::AllGather:
    case Operation::ReduceScatter:
    case Operation::AlltoAll:
    case Operation::Gather:
    case Operation::Scatter:
      return (n - 1) / n;
    case Operation::Broadcast:
    case Operation::Reduce:
    case Operation::SendRecv:
    case Operation::Send:
    case Operation::Recv:
      return 1.0;
    case Operation::Unknown:
      return 0.0;
  }
  return 0.0;
}

/// Message size in bytes as nccl-tests counts it. `perRankBytes` is what one call
/// was given: sendcount for AllGather, recvcount for ReduceScatter, the count per
/// peer for AlltoAll/Gather/Scatter, the count itself for every other operation.
constexpr std::uint64_t messageBytes(Operation op, std::uint64_t perRankBytes, int ranks) {
  switch (op) {
    case Operation::AllGather:
    case Operation::ReduceScatter:
    case Operation::AlltoAll:
    case Operation::Gather:
    case Operation::Scatter:
      return perRankBytes * static_cast<std::uint64_t>(ranks > 0 ? ranks : 1);
    default:
      return perRankBytes;
  }
}

}  // namespace rdmaguard
