// The callbacks' less frequent paths: words met for the first time, a full ring, point-to-point
// batches, symmetric kernels. Runs on NCCL's threads under the rules of record.h.
#include "plugin/collective/record.h"

#include <algorithm>

namespace rdmaguard::collective {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::uint64_t plus(std::uint64_t remaining, unsigned channels) {
  return remaining == word::kUnbounded ? remaining
                                       : std::min(remaining + channels, word::kUnbounded);
}

/// Whether the batch in `slot` is still open at `position`; if so it awaits `channels` more.
bool extendBatch(Slot& slot, std::uint64_t position, unsigned channels) {
  std::uint64_t w = slot.word.load(std::memory_order_acquire);
  std::uint64_t next = 0;
  do {
    if (!word::is(w, position, SlotState::Active) || (w & word::kSealed) != 0) return false;
    next = (w & ~std::uint64_t{0xffff}) | plus(word::remaining(w), channels);
  } while (!slot.word.compare_exchange_weak(w, next, std::memory_order_acq_rel,
                                            std::memory_order_acquire));
  return true;
}

/// No more calls will come: the batch may finish.
void sealBatch(Slot& slot, std::uint64_t position) {
  std::uint64_t w = slot.word.load(std::memory_order_acquire);
  std::uint64_t next = 0;
  do {
    if (!word::is(w, position, SlotState::Active)) return;
    next = w | word::kSealed;
    if (word::complete(next)) next = word::with(next, SlotState::Done);
  } while (!slot.word.compare_exchange_weak(w, next, std::memory_order_acq_rel,
                                            std::memory_order_acquire));
}

/// Where a P2p goes: the batch its group has (`extend`), or a slot for a new one.
struct BatchPlace {
  Allocation at;
  bool extend = false;
  bool alone = false;        ///< no group will end it: one call, sealed at once
  Slot* linkFrom = nullptr;  ///< a Coll in the group's slot, to point to the new batch
};
BatchPlace batchPlace(Communicator& communicator, Handle base, Handle group) {
  if (!isGroupOf(group, base)) return {allocate(communicator), false, true, nullptr};
  const std::uint64_t position = positionOf(group);
  Slot& slot = communicator.ring[position & (kSlots - 1)];
  const std::uint64_t w = slot.word.load(std::memory_order_acquire);
  if (word::unpublished(w, position)) return {{position, &slot}, false, false, nullptr};
  if (word::position(w) != position) return {allocate(communicator), false, true, nullptr};
  if ((codes::flags(slot.codes.load(kRelaxed)) & codes::kP2p) != 0) {
    return {{position, &slot}, true, false, nullptr};
  }
  const std::uint64_t link = slot.peers.load(kRelaxed);
  if (link == 0) return {allocate(communicator), false, false, &slot};
  return {{link - 1, &communicator.ring[(link - 1) & (kSlots - 1)]}, true, false, nullptr};
}

/// One more send or receive in a batch's own fields. The launching thread alone writes them.
void tally(Slot& slot, std::uint64_t words, std::uint64_t count, int peer, unsigned channels) {
  const bool send = memo::operation(words) == Operation::Send;
  const std::uint64_t bytes = count * memo::calledBytes(words);
  const NameCode type = memo::datatype(words);
  std::uint64_t c = slot.codes.load(kRelaxed);
  if (codes::sends(c) + codes::receives(c) == 0) {
    slot.sequence.store(bytes, kRelaxed);
    c |= std::uint64_t{type} << 16;
  } else {
    if (slot.sequence.load(kRelaxed) != bytes) c |= codes::kUnequal;
    if (codes::datatype(c) != type) c &= ~(std::uint64_t{0xff} << 16);
  }
  if (memo::calledBytes(words) == 0) c |= codes::kNoSize;
  if (channels > codes::channels(c)) {
    c = (c & ~(std::uint64_t{0xff} << 24)) | std::uint64_t{channels & 0xff} << 24;
  }
  const unsigned calls = send ? codes::sends(c) : codes::receives(c);
  if (calls != 0xffff) c += std::uint64_t{1} << (send ? 32 : 48);
  slot.codes.store(c, kRelaxed);
  Slot::Field& sum = send ? slot.bytes : slot.received;
  sum.store(sum.load(kRelaxed) + bytes, kRelaxed);
  slot.peers.store(slot.peers.load(kRelaxed) + peerMark(static_cast<std::uint64_t>(peer), send),
                   kRelaxed);
}

std::size_t mix(const void* a, const void* b, const void* c, const void* d) {
  const auto n = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return static_cast<std::size_t>((n(a) ^ n(b) * 3 ^ n(c) * 5 ^ n(d) * 7) * 0x9e3779b97f4a7c15 >>
                                  58);
}

/// Finds the entry of `table` that `holds` the words, else makes one with `fill`, else (table full
/// or words that may change) nullptr. Entries never change once valid.
template <std::size_t kSize, class Memo, class Holds, class Fill>
Memo* remember(std::array<Memo, kSize>& table, std::size_t preferred, bool lasting, Holds holds,
               Fill fill) {
  for (std::size_t i = 0; i < kSize; ++i) {
    Memo& entry = table[(preferred + i) % kSize];
    std::uint64_t words = entry.words.load(std::memory_order_acquire);
    if ((words & 0xff) == memo::kValid && holds(entry)) return &entry;
    if (words == 0 && lasting &&
        entry.words.compare_exchange_strong(words, 1, std::memory_order_acquire)) {
      const std::uint64_t made = fill(entry);
      entry.words.store(made | memo::kValid, std::memory_order_release);
      return &entry;
    }
  }
  return nullptr;
}

ApiMemo* apiMemoFor(Communicator& communicator, const char* func, const char* datatype) {
  const LiteralRanges& literals = communicator.literals;
  return remember(
      communicator.apiMemo, mix(func, datatype, nullptr, nullptr),
      literals.hold(func) && literals.hold(datatype),
      [&](const ApiMemo& e) { return e.func == func && e.datatype == datatype; },
      [&](ApiMemo& e) {
        e.func = func;
        e.datatype = datatype;
        return memo::make(operationFrom(func), typeFrom(datatype, communicator.abiVersion), 0, 0,
                          0);
      });
}

/// Words resolved anew, by content.
std::uint64_t resolve(Communicator& communicator, const CollWords& words) {
  const TypeCode type = typeFrom(words.datatype, communicator.abiVersion);
  return memo::make(operationFrom(words.func), type, type.bytes,
                    communicator.names.code(words.algo), communicator.names.code(words.proto));
}

bool lasting(const Communicator& communicator, const CollWords& words) {
  const LiteralRanges& literals = communicator.literals;
  return literals.hold(words.func) && literals.hold(words.datatype) && literals.hold(words.algo) &&
         literals.hold(words.proto);
}

/// Lets the API call's memo know the words of the launches that answer it. The first ones stay.
void teach(Communicator& communicator, ApiMemo& entry, const CollWords& words,
           std::uint64_t resolved) {
  std::uint64_t known = entry.words.load(std::memory_order_acquire);
  if ((known & 0xffff) != memo::kValid || entry.func != words.func ||
      memo::launchedBytes(resolved) == 0 || !lasting(communicator, words) ||
      !entry.words.compare_exchange_strong(known, known | std::uint64_t{1} << 8,
                                           std::memory_order_acquire)) {
    return;
  }
  entry.collDatatype = words.datatype;
  entry.collAlgo = words.algo;
  entry.collProto = words.proto;
  // The caller's type and size stay, the launch's size and words join them.
  constexpr std::uint64_t kLaunched = std::uint64_t{15} << 24 | std::uint64_t{0xffff} << 40;
  entry.words.store((known & ~kLaunched) | (resolved & kLaunched) | memo::kCollValid,
                    std::memory_order_release);
}

/// Flags of the API call a Coll answers, and the caller's type in `resolved`.
std::uint64_t answerFlags(Communicator& communicator, Handle api, std::uint64_t& resolved) {
  if (!isApiOf(api, communicator.launch.handleBase.load(kRelaxed), Kind::CollApi)) {
    resolved &= ~(std::uint64_t{0xff} << 56);
    return 0;
  }
  ApiCall call = apiCallOf(api);
  if (call.memo != ApiCall::kNoMemo) {
    const std::uint64_t known = communicator.apiMemo[call.memo & 7].words.load(kRelaxed);
    call.operation = memo::operation(known);
    call.datatype = memo::datatype(known);
  }
  if (call.datatype != kNoName) {
    resolved = (resolved & ~(std::uint64_t{0xff} << 16)) | std::uint64_t{call.datatype} << 16;
  }
  resolved = (resolved & ~(std::uint64_t{0xff} << 56)) |
             std::uint64_t{static_cast<std::uint8_t>(call.operation)} << 56;
  return call.captured ? codes::kGraph : codes::kFromApi;
}

Launch launchFrom(std::uint64_t resolved, std::uint64_t flags, std::uint64_t count,
                  std::uint64_t sequence, std::uint8_t channels, std::uint64_t children) {
  if (memo::launchedBytes(resolved) == 0) flags |= codes::kNoSize;
  return {(resolved & memo::kCodes) | flags | std::uint64_t{channels} << 24,
          count * memo::launchedBytes(resolved), sequence, children};
}

}  // namespace

void countStale() noexcept {
  strayCounters.staleHandles.fetch_add(1, kRelaxed);
}
void countForeign() noexcept {
  strayCounters.foreignPids.fetch_add(1, kRelaxed);
}

Slot* claim(Communicator& communicator, std::uint64_t position) noexcept {
  Slot& slot = communicator.ring[position & (kSlots - 1)];
  std::uint64_t w = slot.word.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t ahead = (word::position(w) - position) & kPositionMask;
    const bool newer = ahead != 0 && ahead < kPositionMask / 2;
    if (word::state(w) == SlotState::Writing || newer) {
      // A launch a whole ring away holds the slot this instant: this one is lost, and counted.
      communicator.overrun.fetch_add(1, kRelaxed);
      return nullptr;
    }
    const std::uint64_t c = slot.codes.load(kRelaxed);
    const std::uint64_t bytes = slot.bytes.load(kRelaxed);
    if (!slot.word.compare_exchange_weak(w,
                                         word::make(position & kPositionMask, SlotState::Writing),
                                         std::memory_order_acq_rel, std::memory_order_acquire)) {
      continue;
    }
    if (word::state(w) != SlotState::Free) {
      communicator.overrun.fetch_add(1, kRelaxed);
      if ((codes::flags(c) & codes::kFromApi) != 0) {
        communicator.overrunFromApi[codes::apiOperation(c) & 15].fetch_add(1, kRelaxed);
        communicator.overrunFromApiBytes[codes::apiOperation(c) & 15].fetch_add(bytes, kRelaxed);
      }
    }
    return &slot;
  }
}

Handle startOtherCollApi(Communicator& communicator, const char* func, const char* datatype,
                         std::uint64_t count, bool captured) noexcept {
  const Handle base = communicator.launch.handleBase.load(kRelaxed);
  if (base == 0) return 0;
  ApiMemo* entry = apiMemoFor(communicator, func, datatype);
  ApiCall call;
  call.captured = captured;
  std::atomic<std::uint64_t>* calls = nullptr;
  std::atomic<std::uint64_t>* bytes = nullptr;
  std::uint64_t size = 0;
  if (entry != nullptr) {
    call.memo = static_cast<std::uint8_t>(entry - communicator.apiMemo.data());
    communicator.launch.lastMemo.store(call.memo, kRelaxed);
    size = memo::calledBytes(entry->words.load(kRelaxed));
    calls = &entry->calls;
    bytes = &entry->bytes;
  } else {
    const TypeCode type = typeFrom(datatype, communicator.abiVersion);
    call.operation = operationFrom(func);
    call.datatype = type.code;
    size = type.bytes;
    ApiTally& sum = communicator.apiTally[static_cast<std::size_t>(call.operation)];
    calls = &sum.calls;
    bytes = &sum.bytes;
  }
  if (!captured) {
    calls->store(calls->load(kRelaxed) + 1, kRelaxed);
    bytes->store(bytes->load(kRelaxed) + count * size, kRelaxed);
  }
  return apiHandle(base, Kind::CollApi, call);
}

std::uint64_t collWords(Communicator& communicator, const CollWords& words) noexcept {
  const CollMemo* entry = remember(
      communicator.collMemo, mix(words.func, words.datatype, words.algo, words.proto),
      lasting(communicator, words),
      [&](const CollMemo& e) {
        return e.func == words.func && e.datatype == words.datatype && e.algo == words.algo &&
               e.proto == words.proto;
      },
      [&](CollMemo& e) {
        e.func = words.func;
        e.datatype = words.datatype;
        e.algo = words.algo;
        e.proto = words.proto;
        return resolve(communicator, words);
      });
  return (entry != nullptr ? entry->words.load(kRelaxed) : resolve(communicator, words)) &
         ~std::uint64_t{0xffff};
}

Handle startOtherColl(Communicator& communicator, Handle group, Handle api, const CollWords& words,
                      std::uint64_t count, std::uint64_t sequence, std::uint8_t channels,
                      std::uint64_t children) noexcept {
  std::uint64_t resolved = collWords(communicator, words);
  const std::uint64_t flags = answerFlags(communicator, api, resolved);
  if (flags != 0 && apiCallOf(api).memo != ApiCall::kNoMemo) {
    teach(communicator, communicator.apiMemo[apiCallOf(api).memo & 7], words, resolved);
  }
  return startColl(communicator, group,
                   launchFrom(resolved, flags, count, sequence, channels, children));
}

std::uint64_t p2pWords(Communicator& communicator, const char* func,
                       const char* datatype) noexcept {
  const ApiMemo* entry = apiMemoFor(communicator, func, datatype);
  return entry != nullptr ? entry->words.load(kRelaxed) & ~std::uint64_t{0xffff}
                          : memo::make(operationFrom(func),
                                       typeFrom(datatype, communicator.abiVersion), 0, 0, 0);
}

void stopTracked(Slot& slot, Handle child, bool hostTime) noexcept {
  std::uint64_t w = slot.word.load(std::memory_order_acquire);
  bool stamped = false;
  for (;;) {
    if (!word::is(w, positionOf(child), SlotState::Active)) return countStale();
    std::uint64_t next = w;
    if ((w & word::kTracked) != 0 && word::open(w) != 0) next -= word::kOpenOne;
    if (word::remaining(w) != 0 && word::remaining(w) != word::kUnbounded) next -= 1;
    if (hostTime && word::open(next) == 0 && !stamped) {
      slot.stopNs.store(hostNs(), kRelaxed);
      stamped = true;
    }
    if (word::complete(next)) next = word::with(next, SlotState::Done);
    if (slot.word.compare_exchange_weak(w, next, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
      return;
    }
  }
}

void endGroup(Communicator& communicator, Slot& slot, Handle group) noexcept {
  if ((group & 1) != 0) return;  // it never had a slot
  const std::uint64_t position = positionOf(group);
  std::uint64_t w = slot.word.load(std::memory_order_acquire);
  if (word::unpublished(w, position)) {
    // Nothing came. The position is given up, so that the tail can pass it.
    if (slot.word.compare_exchange_strong(w, word::make(position, SlotState::Free),
                                          std::memory_order_acq_rel)) {
      communicator.unused.fetch_add(1, kRelaxed);
    }
    return;
  }
  if (word::position(w) != position) return;  // a launch a whole ring later took it
  if ((codes::flags(slot.codes.load(kRelaxed)) & codes::kP2p) != 0) {
    sealBatch(slot, position);
  } else if (const std::uint64_t link = slot.peers.load(kRelaxed); link != 0) {
    sealBatch(communicator.ring[(link - 1) & (kSlots - 1)], link - 1);
  }
}

Handle addP2p(Communicator& communicator, Handle group, bool graph, std::uint64_t words,
              std::uint64_t count, int peer, unsigned channels) noexcept {
  const Handle base = communicator.launch.handleBase.load(kRelaxed);
  if (base == 0) return 0;
  // A rank's message to itself is copied by the kernel without a channel of its own: NCCL announces
  // channels for it and never reports one (2.26 to 2.30).
  if (peer == communicator.rank && channels != word::kUnbounded) channels = 0;
  const unsigned announced = channels == word::kUnbounded ? 0 : channels;
  BatchPlace place = batchPlace(communicator, base, group);
  if (place.extend && extendBatch(*place.at.slot, place.at.position, channels)) {
    tally(*place.at.slot, words, count, peer, announced);
    return taskHandle(base, place.at.position);
  }
  if (place.extend) place = {allocate(communicator), false, true, nullptr};  // it was lost
  Slot* slot = place.at.slot;
  if (slot == nullptr) return 0;
  slot->startNs.store(Slot::kNoStart, kRelaxed);
  for (Slot::Field* field : {&slot->stopNs, &slot->bytes, &slot->received, &slot->peers}) {
    field->store(0, kRelaxed);
  }
  slot->codes.store(codes::kP2p | (graph ? codes::kGraph : 0), kRelaxed);
  tally(*slot, words, count, peer, announced);
  if (place.linkFrom != nullptr) place.linkFrom->peers.store(place.at.position + 1, kRelaxed);
  slot->word.store(word::make(place.at.position, SlotState::Active) | word::kTracked |
                       plus(0, channels) | (place.alone ? word::kSealed : 0),
                   std::memory_order_release);
  return taskHandle(base, place.at.position);
}

Handle startSymmetric(Communicator& communicator, Handle group, Handle api, const CollWords& words,
                      std::uint64_t count, std::uint64_t sequence, std::uint8_t channels) noexcept {
  const Handle base = communicator.launch.handleBase.load(kRelaxed);
  if (base == 0) return 0;
  std::uint64_t resolved = collWords(communicator, words);
  std::uint64_t flags = codes::kSymmetric | answerFlags(communicator, api, resolved);
  // The group's slot is its first collective's, the one that leads the kernel.
  const std::uint64_t position = positionOf(group);
  Slot& leader = communicator.ring[position & (kSlots - 1)];
  const std::uint64_t w = leader.word.load(std::memory_order_acquire);
  if (isGroupOf(group, base) && word::position(w) == position && !word::unpublished(w, position) &&
      (codes::flags(leader.codes.load(kRelaxed)) & codes::kSymmetric) != 0) {
    leader.codes.store(leader.codes.load(kRelaxed) | codes::kSharedPlan, kRelaxed);
    flags |= codes::kSharedPlan;
  }
  const Allocation to = slotFor(communicator, base, group);
  if (to.slot == nullptr) return 0;
  publish(to, launchFrom(resolved, flags, count, sequence, channels, channels),
          channels == 0 ? SlotState::Done : SlotState::Active);
  return taskHandle(base, to.position);
}

}  // namespace rdmaguard::collective
