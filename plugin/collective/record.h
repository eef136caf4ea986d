// The callbacks' side of the recorder: what runs on NCCL's threads. No lock, no allocation, no
// system call, no log; everything unexpected is counted and ignored. Called by the adapters in
// plugin/entry only.
//
// Inline here is what every collective passes through; it is kept short, because between two
// collectives a job's own work drives code and data out of the caches, and what then counts is
// how many lines have to come back. The rest is in record.cc, off the path.
#pragma once

#include <ctime>

#include "plugin/collective/communicator.h"

namespace rdmaguard::collective {

/// The words of a Coll as NCCL gives them; any may be null.
struct CollWords {
  const char* func;
  const char* datatype;
  const char* algo;
  const char* proto;
};

/// A collective to be recorded, words resolved.
struct Launch {
  std::uint64_t codes = 0;  ///< as Slot::codes
  std::uint64_t bytes = 0;  ///< per rank
  std::uint64_t sequence = 0;
  /// Children awaited, as word bits: KernelCh (v3+) or ProxyOp (v1, v2).
  std::uint64_t children = 0;
};

/// Time of an event that carries none, ns.
inline std::uint64_t hostNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// Off the path, in record.cc.
[[gnu::cold]] void countStale() noexcept;
[[gnu::cold]] void countForeign() noexcept;
/// Takes the slot of `position` from whoever has it; nullptr when that is another launch.
[[gnu::cold]] Slot* claim(Communicator& communicator, std::uint64_t position) noexcept;
/// Words of an API call that is not the last one seen; counts it. The handle.
Handle startOtherCollApi(Communicator& communicator, const char* func, const char* datatype,
                         std::uint64_t count, bool captured) noexcept;
/// Words of a Coll: memo::make() without states.
std::uint64_t collWords(Communicator& communicator, const CollWords& words) noexcept;
/// A Coll that answers no API call whose memo knows its words.
Handle startOtherColl(Communicator& communicator, Handle group, Handle api, const CollWords& words,
                      std::uint64_t count, std::uint64_t sequence, std::uint8_t channels,
                      std::uint64_t children) noexcept;
/// End of a group whose slot is not simply that of its one collective.
[[gnu::cold]] void endGroup(Communicator& communicator, Slot& slot, Handle group) noexcept;
/// Words of a P2p: memo::make() of its direction and type.
std::uint64_t p2pWords(Communicator& communicator, const char* func, const char* datatype) noexcept;
/// Adds one send or receive to the batch of its group; the P2p's handle.
Handle addP2p(Communicator& communicator, Handle group, bool graph, std::uint64_t words,
              std::uint64_t count, int peer, unsigned channels) noexcept;
/// A symmetric collective (v7): leader of its group's kernel, or one that shares it.
Handle startSymmetric(Communicator& communicator, Handle group, Handle api, const CollWords& words,
                      std::uint64_t count, std::uint64_t sequence, std::uint8_t channels) noexcept;
void stopTracked(Slot& slot, Handle child, bool hostTime) noexcept;

/// Asks for code that is about to run, from `function` on. Between two collectives it has left the
/// caches, and instruction misses, unlike these, come one after the other.
template <std::size_t kBytes, class Function>
inline void expectCode(Function* function) {
  const char* at = reinterpret_cast<const char*>(function);
  for (std::size_t i = 0; i < kBytes; i += 64) __builtin_prefetch(at + i);
}

/// GroupApi: nothing to record, but the first callback of a launch; what the next ones need can
/// be on its way meanwhile.
inline void expectLaunch(const Communicator& communicator) {
  __builtin_prefetch(&pool);
  const std::uint64_t next = communicator.launch.head.load(std::memory_order_relaxed);
  __builtin_prefetch(&communicator.ring[next & (kSlots - 1)], 1);
  __builtin_prefetch(
      &communicator.apiMemo[communicator.launch.lastMemo.load(std::memory_order_relaxed)], 1);
}

/// CollApi: counts the call; the handle tells its Coll what the caller asked for.
inline Handle startCollApi(Communicator& communicator, const char* func, const char* datatype,
                           std::uint64_t count, bool captured) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const std::uint32_t index = communicator.launch.lastMemo.load(kRelaxed);
  ApiMemo& entry = communicator.apiMemo[index];
  const std::uint64_t words = entry.words.load(std::memory_order_acquire);
  if ((words & 0xff) != memo::kValid || entry.func != func || entry.datatype != datatype ||
      captured) [[unlikely]] {
    return startOtherCollApi(communicator, func, datatype, count, captured);
  }
  entry.calls.store(entry.calls.load(kRelaxed) + 1, kRelaxed);
  entry.bytes.store(entry.bytes.load(kRelaxed) + count * memo::calledBytes(words), kRelaxed);
  return ofKind(communicator.launch.handleBase.load(kRelaxed), Kind::CollApi) | index << 12;
}

/// A fresh ring position and its slot, to be filled and published; nullptr slot: counted as lost.
struct Allocation {
  std::uint64_t position = 0;
  Slot* slot = nullptr;
};
inline Allocation allocate(Communicator& communicator) {
  LaunchLine& line = communicator.launch;
  const std::uint64_t position = line.head.fetch_add(1, std::memory_order_relaxed);
  Slot* slot = &communicator.ring[position & (kSlots - 1)];
  // The tail is past the previous owner's position: it was published and drained, so the slot is
  // ours without looking at it, and its line need not be here before we store to it.
  const auto behind =
      static_cast<std::uint32_t>(position) - line.tail.load(std::memory_order_acquire);
  if (behind >= kSlots) [[unlikely]]
    slot = claim(communicator, position);
  return {position & kPositionMask, slot};
}

/// Group: takes the position of its first collective, and nothing else: the collective's start then
/// needs no read-modify-write. From NCCL 2.23 to 2.27 Coll and P2p come only when the handle is not
/// null.
inline Handle startGroup(Communicator& communicator) {
  const Handle base = communicator.launch.handleBase.load(std::memory_order_relaxed);
  if (base == 0) [[unlikely]]
    return 0;
  const Allocation to = allocate(communicator);
  return groupHandle(base, to.position, to.slot == nullptr);
}

/// The slot of the group's position while nothing was put there, else a fresh one.
inline Allocation slotFor(Communicator& communicator, Handle base, Handle group) {
  const std::uint64_t position = positionOf(group);
  Slot& slot = communicator.ring[position & (kSlots - 1)];
  if (isGroupOf(group, base) &&
      word::unpublished(slot.word.load(std::memory_order_relaxed), position)) [[likely]] {
    return {position, &slot};
  }
  return allocate(communicator);
}

/// Fills and publishes a slot.
inline void publish(const Allocation& to, const Launch& launch, SlotState state) {
  Slot& slot = *to.slot;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  slot.startNs.store(Slot::kNoStart, kRelaxed);
  slot.stopNs.store(0, kRelaxed);
  slot.bytes.store(launch.bytes, kRelaxed);
  slot.sequence.store(launch.sequence, kRelaxed);
  slot.codes.store(launch.codes, kRelaxed);
  slot.peers.store(0, kRelaxed);
  slot.word.store(word::make(to.position, state) | word::kSealed | launch.children,
                  std::memory_order_release);
}

inline Handle startColl(Communicator& communicator, Handle group, const Launch& launch) {
  const Handle base = communicator.launch.handleBase.load(std::memory_order_relaxed);
  if (base == 0) [[unlikely]]
    return 0;
  const Allocation to = slotFor(communicator, base, group);
  if (to.slot == nullptr) [[unlikely]]
    return 0;
  publish(to, launch, SlotState::Active);
  return taskHandle(base, to.position);
}

/// A Coll that answers an API call (v5+) whose memo knows its words. Takes the words one by one,
/// as NCCL has just stored them: fetching two at a time would wait for those stores. False: not
/// such a Coll, nothing was done.
inline bool startAnswer(Communicator& communicator, Handle group, Handle api, const char* func,
                        const char* datatype, const char* algo, const char* proto,
                        std::uint64_t count, std::uint64_t sequence, std::uint8_t channels,
                        std::uint64_t children, Handle& handle) {
  const Handle base = communicator.launch.handleBase.load(std::memory_order_relaxed);
  const ApiMemo& entry = communicator.apiMemo[api >> 12 & 7];
  const std::uint64_t known = entry.words.load(std::memory_order_acquire);
  // Bit 15 and up equal to the base's: an API call of this opening whose words have a memo.
  if ((api ^ ofKind(base, Kind::CollApi)) >> 15 != 0 ||
      (known & 0xffff) != (memo::kCollValid | memo::kValid) || entry.func != func ||
      entry.collDatatype != datatype || entry.collAlgo != algo || entry.collProto != proto)
      [[unlikely]] {
    return false;
  }
  const std::uint64_t captured = api >> 11 & 1;
  static_assert(codes::kFromApi >> 1 == codes::kGraph);
  handle = startColl(
      communicator, group,
      {(known & memo::kCodes) | codes::kFromApi >> captured | std::uint64_t{channels} << 24,
       count * memo::launchedBytes(known), sequence, children});
  return true;
}

inline void stopGroup(Handle group) {
  Communicator* communicator = communicatorOf(group, Kind::Group);
  if (communicator == nullptr) [[unlikely]]
    return;
  Slot& slot = communicator->ring[positionOf(group) & (kSlots - 1)];
  const std::uint64_t w = slot.word.load(std::memory_order_relaxed);
  // The usual group: a Coll is in its slot, and no batch is linked to it.
  if (word::position(w) == positionOf(group) && (w & word::kSealed) != 0 &&
      slot.peers.load(std::memory_order_relaxed) == 0) [[likely]] {
    return;
  }
  endGroup(*communicator, slot, group);
}

/// KernelCh or ProxyOp start of a Task; with host time the first one takes the time itself. `first`
/// is called for the first child of a Task.
template <bool kHostTime, class First>
inline Handle startChild(Handle task, std::uint8_t channel, std::uint64_t startNs, First first) {
  Slot* slot = slotOf(task, Kind::Task);
  if (slot == nullptr) [[unlikely]] {
    if (task != 0) countStale();
    return 0;
  }
  std::uint64_t w = slot->word.load(std::memory_order_acquire);
  do {
    if (!word::is(w, positionOf(task), SlotState::Active)) [[unlikely]] {
      countStale();
      return 0;
    }
    if ((w & word::kTracked) == 0 || word::open(w) == word::kOpenMax) [[likely]]
      break;
  } while (!slot->word.compare_exchange_weak(w, w + word::kOpenOne, std::memory_order_acquire));
  const std::uint64_t least = slot->startNs.load(std::memory_order_relaxed);
  if (least == Slot::kNoStart) first();
  if constexpr (kHostTime) {
    if (least == Slot::kNoStart) slot->startNs.store(hostNs(), std::memory_order_relaxed);
  } else {
    if (startNs < least && startNs != 0) slot->startNs.store(startNs, std::memory_order_relaxed);
  }
  return childHandle(task, channel);
}

/// KernelChStop: the GPU's stop time of one channel.
inline void recordStop(Handle child, std::uint64_t stopNs) {
  Slot* slot = slotOf(child, Kind::Child);
  if (slot == nullptr || !word::is(slot->word.load(std::memory_order_acquire), positionOf(child),
                                   SlotState::Active)) [[unlikely]] {
    return countStale();
  }
  if (stopNs > slot->stopNs.load(std::memory_order_relaxed)) {
    slot->stopNs.store(stopNs, std::memory_order_relaxed);
  }
}

/// Stop of a KernelCh or ProxyOp; the last one finishes the slot.
inline void stopChild(Handle child, bool hostTime) {
  Slot* slot = slotOf(child, Kind::Child);
  if (slot == nullptr) [[unlikely]]
    return countStale();
  std::uint64_t w = slot->word.load(std::memory_order_acquire);
  for (;;) {
    if (!word::is(w, positionOf(child), SlotState::Active)) [[unlikely]]
      return countStale();
    if ((w & word::kTracked) != 0 || word::remaining(w) == 0) [[unlikely]] {
      return stopTracked(*slot, child, hostTime);
    }
    // The children were announced exactly: one less, and with the last one Active becomes Done.
    const std::uint64_t next = word::remaining(w) == 1 ? word::with(w - 1, SlotState::Done) : w - 1;
    if (slot->word.compare_exchange_weak(w, next, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) [[likely]] {
      return;
    }
  }
}

}  // namespace rdmaguard::collective
