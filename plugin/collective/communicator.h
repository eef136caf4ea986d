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
  std::atomic<std::uint64_t> tail;        ///< every position below is drained
  std::atomic<std::uint64_t> groups;      ///< Group events so far
  std::atomic<std::uint64_t> handleBase;  ///< 0 while closed
  /// What an open group leads to, by group number modulo 4 (groups of one communicator overlap
  /// only when graph replays run beside launches): [63:33] group  [32] batch  [31:0] position.
  std::array<std::atomic<std::uint64_t>, 4> groupSlots;
};
static_assert(sizeof(LaunchLine) == 64);

/// One (operation, data type) the API callbacks have met, resolved once, and the count of its
/// calls. NCCL lets one thread at a time call collectives on a communicator, so plain increments
/// are enough.
struct alignas(64) ApiMemo {
  std::atomic<std::uint32_t> state;  ///< 0 empty, 1 being written, 2 valid
  Operation operation;
  TypeCode type;
  const char* func;
  const char* datatype;
  Handle handle;  ///< of a call that is not graph-captured
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> bytes;  ///< per rank
};
static_assert(sizeof(ApiMemo) == 64);

/// One (operation, data type, algorithm, protocol) the launches have met, resolved once.
struct alignas(64) CollMemo {
  std::atomic<std::uint32_t> state;  ///< as ApiMemo
  Operation operation;
  TypeCode type;
  NameCode algorithm;
  NameCode protocol;
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
  std::uint16_t generation;
  LiteralRanges literals;
  std::array<ApiTally, 16> apiTally;  ///< by Operation

  // Losses, counted by whoever causes them.
  alignas(64) std::atomic<std::uint64_t> overrun;
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
  std::atomic<std::uint8_t> nonce;
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

/// Communicator that `handle` names, nullptr when it cannot be one of this process.
inline Communicator* communicatorOf(Handle handle) {
  if (nonceOf(handle) != pool.nonce.load(std::memory_order_relaxed) ||
      indexOf(handle) >= pool.committed.load(std::memory_order_acquire)) {
    return nullptr;
  }
  return reinterpret_cast<Communicator*>(pool.base.load(std::memory_order_relaxed) +
                                         (std::size_t{indexOf(handle)} << kStrideShift));
}

/// Slot that a Task or Child handle names; the caller checks the position in its word.
inline Slot* slotOf(Handle handle) {
  Communicator* communicator = communicatorOf(handle);
  return communicator == nullptr ? nullptr : &communicator->ring[positionOf(handle) & (kSlots - 1)];
}

}  // namespace rdmaguard::collective
