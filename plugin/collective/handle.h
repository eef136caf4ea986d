// Event handles: 64-bit numbers, not pointers, so that a handle NCCL kept too long, or that came
// from another process, can be told apart and ignored. Used by record.h and the adapters.
//
//   [63:56] nonce of this process, never 0   [55:53] kind   [52:43] communicator's index
//   slots:   [37:8] position in the ring, modulo 2^30   [7:0] channel
//   Group:   [30:0] number of the group on its communicator
//   API:     [27:12] generation of the index  [11] graph-captured  [10:6] operation  [5:0] data
//   type
#pragma once

#include <cstdint>

#include "rdmaguard/busbw.h"

namespace rdmaguard::collective {

enum class Kind : std::uint8_t {
  None,
  Group,
  CollApi,
  P2pApi,
  Task,   ///< a Coll, or the batch a P2p belongs to: its handle leads to a slot
  Child,  ///< a KernelCh or ProxyOp of a Task
};

/// Ring positions as handles and slots hold them.
inline constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << 30) - 1;
inline constexpr std::uint64_t kGroupMask = (std::uint64_t{1} << 31) - 1;

using Handle = std::uint64_t;

constexpr Handle handleBase(std::uint8_t nonce, unsigned index) {
  return std::uint64_t{nonce} << 56 | std::uint64_t{index} << 43;
}
constexpr Handle ofKind(Handle base, Kind kind) {
  return base | std::uint64_t{static_cast<std::uint8_t>(kind)} << 53;
}
constexpr std::uint8_t nonceOf(Handle h) {
  return static_cast<std::uint8_t>(h >> 56);
}
constexpr Kind kindOf(Handle h) {
  return static_cast<Kind>(h >> 53 & 7);
}
constexpr unsigned indexOf(Handle h) {
  return static_cast<unsigned>(h >> 43 & 1023);
}

constexpr std::uint64_t positionOf(Handle h) {
  return h >> 8 & kPositionMask;
}
constexpr Handle taskHandle(Handle base, std::uint64_t position) {
  return ofKind(base, Kind::Task) | (position & kPositionMask) << 8;
}
/// The same slot as `task`, for one of its channels.
constexpr Handle childHandle(Handle task, std::uint8_t channel) {
  constexpr Handle kFlip =
      std::uint64_t{static_cast<std::uint8_t>(Kind::Task) ^ static_cast<std::uint8_t>(Kind::Child)}
      << 53;
  return (task ^ kFlip) | channel;
}

constexpr std::uint64_t groupOf(Handle h) {
  return h & kGroupMask;
}
constexpr Handle groupHandle(Handle base, std::uint64_t group) {
  return ofKind(base, Kind::Group) | (group & kGroupMask);
}

/// What an API handle says about the call, for the launches that name it as their parent.
struct ApiCall {
  std::uint16_t generation = 0;
  bool captured = false;
  Operation operation = Operation::Unknown;
  std::uint8_t datatype = 0;
};
constexpr Handle apiHandle(Handle base, Kind kind, const ApiCall& call) {
  return ofKind(base, kind) | std::uint64_t{call.generation} << 12 |
         std::uint64_t{call.captured} << 11 |
         std::uint64_t{static_cast<std::uint8_t>(call.operation)} << 6 | call.datatype;
}
constexpr ApiCall apiCallOf(Handle h) {
  return {static_cast<std::uint16_t>(h >> 12), (h >> 11 & 1) != 0,
          static_cast<Operation>(h >> 6 & 31), static_cast<std::uint8_t>(h & 63)};
}
static_assert(apiCallOf(apiHandle(handleBase(7, 3), Kind::CollApi,
                                  {513, true, Operation::Broadcast, 12}))
                  .generation == 513);

inline Handle handleFrom(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
inline void* pointerFrom(Handle h) {
  return reinterpret_cast<void*>(h);  // NOLINT(performance-no-int-to-ptr): opaque to NCCL
}

}  // namespace rdmaguard::collective
