// The callbacks' side of the recorder: what runs on NCCL's threads. No lock, no allocation, no
// system call, no log; everything unexpected is counted and ignored. Called by the adapters in
// plugin/entry only; inline, so that a version's whole path lies in one piece of text.
#pragma once

#include <ctime>

#include "plugin/collective/communicator.h"

namespace rdmaguard::collective {

/// A collective as its Coll event states it, words resolved.
struct Launch {
  Operation operation = Operation::Unknown;
  TypeCode type;
  NameCode algorithm = kNoName;
  NameCode protocol = kNoName;
  std::uint8_t channels = 0;
  std::uint64_t count = 0;
  std::uint64_t sequence = 0;
};

/// Time of an event that carries none, ns.
inline std::uint64_t hostNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// Cold paths, in record.cc.
void countStale() noexcept;
void countForeign() noexcept;
/// Takes the slot of `position` from whoever has it; nullptr when that is another launch.
Slot* claim(Communicator& communicator, std::uint64_t position) noexcept;
ApiMemo* learnApi(Communicator& communicator, const char* func, const char* datatype,
                  ApiMemo& scratch) noexcept;
const CollMemo* learnColl(Communicator& communicator, const char* func, const char* datatype,
                          const char* algo, const char* proto, CollMemo& scratch) noexcept;
void sealBatch(Communicator& communicator, std::uint64_t group) noexcept;
/// Adds one send or receive to the batch of its group; the P2p's handle.
Handle addP2p(Communicator& communicator, Handle group, bool graph, bool send, TypeCode type,
              std::uint64_t count, int peer, int self, unsigned channels) noexcept;
/// A symmetric collective (v7): leader of its group's kernel, or one that shares it.
Handle startSymmetric(Communicator& communicator, Handle group, const Launch& launch,
                      std::uint64_t flags) noexcept;

inline std::size_t mix(const void* a, const void* b, const void* c, const void* d) {
  const auto n = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return static_cast<std::size_t>((n(a) ^ n(b) * 3 ^ n(c) * 5 ^ n(d) * 7) * 0x9e3779b97f4a7c15 >>
                                  58);
}

/// Resolved words of an API call. `scratch` serves when they cannot be remembered.
inline ApiMemo* findApi(Communicator& communicator, const char* func, const char* datatype,
                        ApiMemo& scratch) {
  ApiMemo& entry = communicator.apiMemo[mix(func, datatype, nullptr, nullptr) & 7];
  if (entry.state.load(std::memory_order_acquire) == 2 && entry.func == func &&
      entry.datatype == datatype) [[likely]] {
    return &entry;
  }
  return learnApi(communicator, func, datatype, scratch);
}

inline const CollMemo* findColl(Communicator& communicator, const char* func, const char* datatype,
                                const char* algo, const char* proto, CollMemo& scratch) {
  const CollMemo& entry = communicator.collMemo[mix(func, datatype, algo, proto) & 15];
  if (entry.state.load(std::memory_order_acquire) == 2 && entry.func == func &&
      entry.algo == algo && entry.proto == proto && entry.datatype == datatype) [[likely]] {
    return &entry;
  }
  return learnColl(communicator, func, datatype, algo, proto, scratch);
}

/// GroupApi: nothing to record, but the first callback of a launch; what the next ones need can
/// be on its way meanwhile.
inline void expectLaunch(Communicator& communicator) {
  const std::uint64_t next = communicator.launch.head.load(std::memory_order_relaxed);
  __builtin_prefetch(&communicator.ring[next & (kSlots - 1)], 1);
}

/// CollApi: counts the call; the handle tells its Coll what the caller asked for.
inline Handle startCollApi(Communicator& communicator, const char* func, const char* datatype,
                           std::uint64_t count, bool captured) {
  ApiMemo scratch;
  ApiMemo* memo = findApi(communicator, func, datatype, scratch);
  if (captured) {
    return apiHandle(communicator.launch.handleBase.load(std::memory_order_relaxed), Kind::CollApi,
                     {communicator.generation, true, memo->operation, memo->type.code});
  }
  const std::uint64_t bytes = count * memo->type.bytes;
  if (memo != &scratch) [[likely]] {
    memo->calls.store(memo->calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    memo->bytes.store(memo->bytes.load(std::memory_order_relaxed) + bytes,
                      std::memory_order_relaxed);
  } else {
    ApiTally& tally = communicator.apiTally[static_cast<std::size_t>(memo->operation)];
    tally.calls.store(tally.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    tally.bytes.store(tally.bytes.load(std::memory_order_relaxed) + bytes,
                      std::memory_order_relaxed);
  }
  return memo->handle;
}

inline Handle startGroup(Communicator& communicator) {
  const Handle base = communicator.launch.handleBase.load(std::memory_order_relaxed);
  if (base == 0) return 0;
  return groupHandle(base, communicator.launch.groups.fetch_add(1, std::memory_order_relaxed));
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
  if (position - line.tail.load(std::memory_order_acquire) >= kSlots) [[unlikely]] {
    slot = claim(communicator, position);
  }
  return {position & kPositionMask, slot};
}

inline std::uint64_t pack(const Launch& launch, std::uint64_t flags) {
  return flags | std::uint64_t{launch.type.code} << 16 | std::uint64_t{launch.channels} << 24 |
         std::uint64_t{static_cast<std::uint8_t>(launch.operation)} << 32 |
         std::uint64_t{launch.algorithm} << 40 | std::uint64_t{launch.protocol} << 48;
}

/// Fills and publishes a slot in `state` with `children` (word bits) awaited.
inline void publish(const Allocation& to, const Launch& launch, std::uint64_t flags,
                    SlotState state, std::uint64_t children) {
  Slot& slot = *to.slot;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  slot.startNs.store(Slot::kNoStart, kRelaxed);
  slot.stopNs.store(0, kRelaxed);
  slot.bytes.store(launch.count * launch.type.bytes, kRelaxed);
  slot.sequence.store(launch.sequence, kRelaxed);
  slot.codes.store(pack(launch, launch.type.bytes == 0 ? flags | codes::kNoSize : flags), kRelaxed);
  slot.word.store(word::make(to.position, state) | children, std::memory_order_release);
}

/// Flags (and the caller's operation, for the balance of API calls), and the caller's data type,
/// from the API call a launch answers.
inline std::uint64_t flagsFrom(const Communicator& communicator, Handle api, NameCode& type) {
  if (kindOf(api) != Kind::CollApi || communicatorOf(api) != &communicator) return 0;
  const ApiCall call = apiCallOf(api);
  if (call.generation != communicator.generation) return 0;
  if (call.datatype != kNoName) type = call.datatype;
  if (call.captured) return codes::kGraph;
  return codes::kFromApi | std::uint64_t{static_cast<std::uint8_t>(call.operation)} << 56;
}

/// Coll: `children` states how many KernelCh or ProxyOp will come, as word bits.
inline Handle startColl(Communicator& communicator, const Launch& launch, std::uint64_t flags,
                        std::uint64_t children) {
  const Handle base = communicator.launch.handleBase.load(std::memory_order_relaxed);
  if (base == 0) return 0;
  const Allocation to = allocate(communicator);
  if (to.slot == nullptr) [[unlikely]]
    return 0;
  publish(to, launch, flags, SlotState::Active, children | word::kSealed);
  return taskHandle(base, to.position);
}

inline void stopGroup(Handle handle) {
  Communicator* communicator = communicatorOf(handle);
  if (communicator == nullptr) return;
  const std::uint64_t group = groupOf(handle);
  const std::uint64_t entry =
      communicator->launch.groupSlots[group & 3].load(std::memory_order_relaxed);
  // [32] says that the group has a batch of sends and receives.
  if (entry >> 32 == (group << 1 | 1)) [[unlikely]]
    sealBatch(*communicator, group);
}

/// KernelCh or ProxyOp start of a Task; `startNs` 0: take the host's time if it is the first.
template <bool kHostTime>
inline Handle startChild(Handle task, std::uint8_t channel, std::uint64_t startNs) {
  Slot* slot = kindOf(task) == Kind::Task ? slotOf(task) : nullptr;
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
    if ((w & word::kTracked) == 0 || word::open(w) == word::kOpenMax) break;
  } while (!slot->word.compare_exchange_weak(w, w + word::kOpenOne, std::memory_order_acquire));
  const std::uint64_t least = slot->startNs.load(std::memory_order_relaxed);
  if constexpr (kHostTime) {
    if (least == Slot::kNoStart) slot->startNs.store(hostNs(), std::memory_order_relaxed);
  } else {
    if (startNs < least && startNs != 0) slot->startNs.store(startNs, std::memory_order_relaxed);
  }
  return childHandle(task, channel);
}

/// KernelChStop: the GPU's stop time of one channel.
inline void recordStop(Handle child, std::uint64_t stopNs) {
  Slot* slot = slotOf(child);
  if (slot == nullptr) [[unlikely]]
    return countStale();
  const std::uint64_t w = slot->word.load(std::memory_order_acquire);
  if (!word::is(w, positionOf(child), SlotState::Active)) [[unlikely]]
    return countStale();
  if (stopNs > slot->stopNs.load(std::memory_order_relaxed)) {
    slot->stopNs.store(stopNs, std::memory_order_relaxed);
  }
}

/// Stop of a KernelCh or ProxyOp; the last one finishes the slot.
template <bool kHostTime>
inline void stopChild(Handle child) {
  Slot* slot = slotOf(child);
  if (slot == nullptr) [[unlikely]]
    return countStale();
  std::uint64_t w = slot->word.load(std::memory_order_acquire);
  bool stamped = false;
  for (;;) {
    if (!word::is(w, positionOf(child), SlotState::Active)) [[unlikely]]
      return countStale();
    std::uint64_t next = w;
    if ((w & word::kTracked) != 0 && word::open(w) != 0) next -= word::kOpenOne;
    if (word::remaining(w) != 0 && word::remaining(w) != word::kUnbounded) next -= 1;
    if constexpr (kHostTime) {
      if (word::open(next) == 0 && !stamped) {
        slot->stopNs.store(hostNs(), std::memory_order_relaxed);
        stamped = true;
      }
    }
    if (word::complete(next)) next = word::with(next, SlotState::Done);
    if (slot->word.compare_exchange_weak(w, next, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      return;
    }
  }
}

}  // namespace rdmaguard::collective
