// A communicator as the callbacks see it, and the region all communicators live in. Laid out for
// cold caches: a launch touches the launch line, one memo line per call and its slot; a child
// touches the pool line and its slot. Included by record.h (callbacks) and the consumer's sources.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plugin/collective/collective.h"
#include "plugin/collective/handle.h"
#include "plugin/collective/names.h"
#include "plugin/collective/slot.h"

namespace rdmaguard::collective {

/// Collectives in flight or unread that one communicator can hold. A power of two.
inline constexpr std::uint64_t kSlots = 4096;

/// What a launch always reads. Written by launching threads; `tail` by drain.
struct alignas(64) LaunchLine {
  std::atomic<std::uint64_t> head;        ///< next ring position
  std::atomic<std::uint32_t> tail;        ///< every position below is drained; low 32 bits
  std::atomic<std::uint32_t> lastMemo;    ///< the ApiMemo in use, to be fetched early
  std::atomic<std::uint64_t> handleBase;  ///< 0 while closed
};
static_assert(sizeof(LaunchLine) == 64);

/// Resolved words in one field, laid out as Slot::codes so that a launch takes them over as they
/// are. [7:0] and [15:8]: states, 0 empty, 1 being written, 2 valid.
namespace memo {
inline constexpr std::uint64_t kValid = 2;
inline constexpr std::uint64_t kCollValid = kValid << 8;
/// [27:24] bytes of one element as launched, [31:28] as called.
constexpr std::uint64_t launchedBytes(std::uint64_t words) {
  return words >> 24 & 15;
}
constexpr std::uint64_t calledBytes(std::uint64_t words) {
  return words >> 28 & 15;
}
/// What goes into Slot::codes.
inline constexpr std::uint64_t kCodes = ~std::uint64_t{0xff00ffff};
constexpr NameCode datatype(std::uint64_t words) {
  return static_cast<NameCode>(words >> 16);
}
constexpr Operation operation(std::uint64_t words) {
  return static_cast<Operation>(words >> 32 & 0xff);
}
constexpr std::uint64_t make(Operation operation, TypeCode type, std::uint8_t launchedBytes,
                             NameCode algorithm, NameCode protocol) {
  const std::uint64_t op = static_cast<std::uint8_t>(operation);
  return std::uint64_t{type.code} << 16 | std::uint64_t{launchedBytes} << 24 |
         std::uint64_t{type.bytes} << 28 | op << 32 | std::uint64_t{algorithm} << 40 |
         std::uint64_t{protocol} << 48 | op << 56;
}
}  // namespace memo

/// One (operation, data type) the API callbacks have met, resolved once, with the count of its
/// calls and the words of the launches that answer it: everything a launch needs in one line. NCCL
/// lets one thread at a time call collectives on a communicator, so plain increments are enough.
struct alignas(64) ApiMemo {
  std::atomic<std::uint64_t> words;
  const char* func;
  const char* datatype;
  const char* collDatatype;  ///< NCCL launches AllGather and Broadcast as bytes
  const char* collAlgo;
  const char* collProto;
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> bytes;  ///< per rank
};
static_assert(sizeof(ApiMemo) == 64);

/// One (operation, data type, algorithm, protocol) the launches have met, resolved once.
struct alignas(64) CollMemo {
  std::atomic<std::uint64_t> words;
  const char* func;
  const char* datatype;
  const char* algo;
  const char* proto;
};
static_assert(sizeof(CollMemo) == 64);

/// Calls whose words could not be remembered by address.
struct ApiTally {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> bytes;
};

/// Read-only memory of the object that holds NCCL: its literals may be remembered by address.
struct LiteralRanges {
  struct Range {
    std::uintptr_t begin, end;
  };
  std::array<Range, 4> ranges;

  bool hold(const char* word) const {
    if (word == nullptr) return true;
    const auto at = reinterpret_cast<std::uintptr_t>(word);
    for (const Range& r : ranges) {
      if (at >= r.begin && at < r.end) return true;
    }
    return false;
  }
};

struct Consumer;

struct Communicator {
  LaunchLine launch;
  std::array<ApiMemo, 8> apiMemo;
  std::array<CollMemo, 16> collMemo;

  // Set by open(), read where it is not hot.
  alignas(64) unsigned index;
  int abiVersion;
  int rank;
  std::atomic<int> ranks;
  std::atomic<std::uint64_t> learnedId;  ///< v1 to v3: from the first Coll; 0 before
  std::atomic<int> learnedRank;
  std::uint16_t generation;
  LiteralRanges literals;
  std::array<ApiTally, 16> apiTally;  ///< by Operation

  // Counted by whoever causes them.
  alignas(64) std::atomic<std::uint64_t> overrun;
  std::atomic<std::uint64_t> unused;  ///< slots of groups that held nothing to record
  std::array<std::atomic<std::uint64_t>, 16> overrunFromApi;       ///< by Operation
  std::array<std::atomic<std::uint64_t>, 16> overrunFromApiBytes;  ///< by Operation

  Names names;
  Consumer* consumer;  ///< drain's own state

  std::array<Slot, kSlots> ring;
};

/// Distance between communicators in the region.
inline constexpr unsigned kStrideShift = 19;
static_assert(sizeof(Communicator) <= std::size_t{1} << kStrideShift);

/// Where the communicators are. Written by open() under its lock; `committed` only grows, and
/// handles name an index below it, so that a decoded address is always readable.
struct alignas(64) Pool {
  std::atomic<std::byte*> base;
  std::atomic<std::uint32_t> committed;
  std::atomic<std::uint32_t> prefix;  ///< the nonce, as it stands above a handle's kind
  std::atomic<std::int32_t> pid;
};
/// The one piece of global state of the recorder; owned by pool.cc.
extern Pool pool;

/// Strays of the process; owned by pool.cc.
struct alignas(64) StrayCounters {
  std::atomic<std::uint64_t> staleHandles;
  std::atomic<std::uint64_t> foreignPids;
};
extern StrayCounters strayCounters;

/// Communicator that `handle` of `kind` names; nullptr when it is of another kind or cannot be one
/// of this process.
inline Communicator* communicatorOf(Handle handle, Kind kind) {
  const std::uint32_t index = indexOf(handle);
  if (handle >> 53 !=
          (pool.prefix.load(std::memory_order_relaxed) | static_cast<std::uint8_t>(kind)) ||
      index >= pool.committed.load(std::memory_order_acquire)) [[unlikely]] {
    return nullptr;
  }
  return reinterpret_cast<Communicator*>(pool.base.load(std::memory_order_relaxed) +
                                         (std::size_t{index} << kStrideShift));
}

/// Slot that a Task or Child handle names; the caller checks the position in its word.
inline Slot* slotOf(Handle handle, Kind kind) {
  Communicator* communicator = communicatorOf(handle, kind);
  if (communicator == nullptr) [[unlikely]]
    return nullptr;
  return &communicator->ring[positionOf(handle) & (kSlots - 1)];
}

}  // namespace rdmaguard::collective
