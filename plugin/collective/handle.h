// Event handles: 64-bit numbers, not pointers, so that a handle NCCL kept too long, or that came
// from another process, can be told apart and ignored. Used by record.h and the adapters.
//
//   [63:56] nonce of this process, never 0   [55:53] kind   [52:43] communicator's index
//   Group, Task, Child:  [37:8] position of the slot in the ring, modulo 2^30   [7:0] channel
//   API:     [27:12] generation of the index  [11] graph-captured  [10:6] operation  [5:0] data
//   type
#pragma once

#include <cstdint>

#include "rdmaguard/busbw.h"

namespace rdmaguard::collective {

enum class Kind : std::uint8_t {
  None,
  Group,  ///< leads to the slot reserved for the group's first collective
  CollApi,
  P2pApi,
  Task,   ///< a Coll, or the batch a P2p belongs to: its handle leads to a slot
  Child,  ///< a KernelCh or ProxyOp of a Task
};

/// Ring positions as handles and slots hold them.
inline constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << 30) - 1;

using Handle = std::uint64_t;

/// What the handles of one opening of a communicator have in common; never 0.
/// `prefix` is the nonce times eight.
constexpr Handle handleBase(std::uint32_t prefix, unsigned index, std::uint16_t generation) {
  return std::uint64_t{prefix} << 53 | std::uint64_t{index} << 43 | std::uint64_t{generation} << 27;
}
constexpr Handle ofKind(Handle base, Kind kind) {
  return base | std::uint64_t{static_cast<std::uint8_t>(kind)} << 53;
}
/// `base` of a kind that does not carry the generation.
constexpr Handle bareOfKind(Handle base, Kind kind) {
  return ofKind(base >> 43 << 43, kind);
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
  return bareOfKind(base, Kind::Task) | (position & kPositionMask) << 8;
}
/// The same slot as `task`, for one of its channels.
constexpr Handle childHandle(Handle task, std::uint8_t channel) {
  constexpr Handle kFlip =
      std::uint64_t{static_cast<std::uint8_t>(Kind::Task) ^ static_cast<std::uint8_t>(Kind::Child)}
      << 53;
  return (task ^ kFlip) | channel;
}

/// `lost`: no slot could be reserved.
constexpr Handle groupHandle(Handle base, std::uint64_t position, bool lost) {
  return bareOfKind(base, Kind::Group) | (position & kPositionMask) << 8 | std::uint64_t{lost};
}
/// Whether `h` is a group of the communicator with this base that has a slot.
constexpr bool isGroupOf(Handle h, Handle base) {
  return h >> 43 == bareOfKind(base, Kind::Group) >> 43 && (h & 1) == 0;
}

/// What an API handle says about the call, for the launches that name it as their parent.
struct ApiCall {
  std::uint8_t memo = kNoMemo;  ///< index of the ApiMemo that knows its words
  bool captured = false;
  Operation operation = Operation::Unknown;
  std::uint8_t datatype = 0;
  static constexpr std::uint8_t kNoMemo = 15;
};
constexpr Handle apiHandle(Handle base, Kind kind, const ApiCall& call) {
  return ofKind(base, kind) | std::uint64_t{call.memo} << 12 | std::uint64_t{call.captured} << 11 |
         std::uint64_t{static_cast<std::uint8_t>(call.operation)} << 6 | call.datatype;
}
constexpr ApiCall apiCallOf(Handle h) {
  return {static_cast<std::uint8_t>(h >> 12 & 15), (h >> 11 & 1) != 0,
          static_cast<Operation>(h >> 6 & 31), static_cast<std::uint8_t>(h & 63)};
}
/// Whether `h` is an API handle of `kind` of this opening of the communicator.
constexpr bool isApiOf(Handle h, Handle base, Kind kind) {
  return h >> 27 == ofKind(base, kind) >> 27;
}
static_assert(isApiOf(apiHandle(handleBase(56, 3, 513), Kind::CollApi,
                                {2, true, Operation::Broadcast, 12}),
                      handleBase(56, 3, 513), Kind::CollApi));

inline Handle handleFrom(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
inline void* pointerFrom(Handle h) {
  return reinterpret_cast<void*>(h);  // NOLINT(performance-no-int-to-ptr): opaque to NCCL
}

}  // namespace rdmaguard::collective
