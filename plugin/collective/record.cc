// The callbacks' less frequent paths: words met for the first time, a full ring, point-to-point
// batches, symmetric kernels. Runs on NCCL's threads under the rules of record.h.
#include "plugin/collective/record.h"

#include <algorithm>

namespace rdmaguard::collective {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// What an open group leads to, or nullptr; `batch` selects sends and receives, else the symmetric
/// collective that leads the group's kernel.
Slot* groupSlot(Communicator& communicator, std::uint64_t group, bool batch,
                std::uint64_t& position) {
  const std::uint64_t entry = communicator.launch.groupSlots[group & 3].load(kRelaxed);
  if (entry >> 32 != (group << 1 | (batch ? 1 : 0))) return nullptr;
  position = entry & kPositionMask;
  return &communicator.ring[entry & (kSlots - 1)];
}

void setGroupSlot(Communicator& communicator, std::uint64_t group, bool batch,
                  std::uint64_t position) {
  communicator.launch.groupSlots[group & 3].store(
      group << 33 | std::uint64_t{batch} << 32 | position, kRelaxed);
}

/// Whether `handle` is a group of this communicator.
bool isGroupOf(const Communicator& communicator, Handle handle) {
  return kindOf(handle) == Kind::Group && communicatorOf(handle) == &communicator;
}

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

/// One more send or receive in a batch's own fields. The launching thread alone writes them.
void tally(Slot& slot, bool send, TypeCode type, std::uint64_t count, int peer, unsigned channels) {
  const std::uint64_t bytes = count * type.bytes;
  std::uint64_t c = slot.codes.load(kRelaxed);
  const bool first = codes::sends(c) + codes::receives(c) == 0;
  if (first) {
    slot.sequence.store(bytes, kRelaxed);
    c |= std::uint64_t{type.code} << 16;
  } else {
    if (slot.sequence.load(kRelaxed) != bytes) c |= codes::kUnequal;
    if (codes::datatype(c) != type.code) c &= ~(std::uint64_t{0xff} << 16);
  }
  if (type.bytes == 0) c |= codes::kNoSize;
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

ApiMemo* learnApi(Communicator& communicator, const char* func, const char* datatype,
                  ApiMemo& scratch) noexcept {
  for (ApiMemo& entry : communicator.apiMemo) {
    if (entry.state.load(std::memory_order_acquire) == 2 && entry.func == func &&
        entry.datatype == datatype) {
      return &entry;
    }
  }
  ApiMemo* into = &scratch;
  if (communicator.literals.hold(func) && communicator.literals.hold(datatype)) {
    const std::size_t preferred = mix(func, datatype, nullptr, nullptr);
    for (std::size_t i = 0; i < communicator.apiMemo.size(); ++i) {
      ApiMemo& entry = communicator.apiMemo[(preferred + i) & 7];
      std::uint32_t empty = 0;
      if (entry.state.compare_exchange_strong(empty, 1, std::memory_order_acquire)) {
        into = &entry;
        break;
      }
    }
  }
  into->operation = operationFrom(func);
  into->type = typeFrom(datatype, communicator.abiVersion);
  into->func = func;
  into->datatype = datatype;
  into->handle = apiHandle(communicator.launch.handleBase.load(kRelaxed), Kind::CollApi,
                           {communicator.generation, false, into->operation, into->type.code});
  if (into != &scratch) into->state.store(2, std::memory_order_release);
  return into;
}

const CollMemo* learnColl(Communicator& communicator, const char* func, const char* datatype,
                          const char* algo, const char* proto, CollMemo& scratch) noexcept {
  for (CollMemo& entry : communicator.collMemo) {
    if (entry.state.load(std::memory_order_acquire) == 2 && entry.func == func &&
        entry.datatype == datatype && entry.algo == algo && entry.proto == proto) {
      return &entry;
    }
  }
  CollMemo* into = &scratch;
  const LiteralRanges& literals = communicator.literals;
  if (literals.hold(func) && literals.hold(datatype) && literals.hold(algo) &&
      literals.hold(proto)) {
    const std::size_t preferred = mix(func, datatype, algo, proto);
    for (std::size_t i = 0; i < communicator.collMemo.size(); ++i) {
      CollMemo& entry = communicator.collMemo[(preferred + i) & 15];
      std::uint32_t empty = 0;
      if (entry.state.compare_exchange_strong(empty, 1, std::memory_order_acquire)) {
        into = &entry;
        break;
      }
    }
  }
  into->operation = operationFrom(func);
  into->type = typeFrom(datatype, communicator.abiVersion);
  into->algorithm = communicator.names.code(algo);
  into->protocol = communicator.names.code(proto);
  into->func = func;
  into->datatype = datatype;
  into->algo = algo;
  into->proto = proto;
  if (into != &scratch) into->state.store(2, std::memory_order_release);
  return into;
}

void sealBatch(Communicator& communicator, std::uint64_t group) noexcept {
  std::uint64_t position = 0;
  Slot* slot = groupSlot(communicator, group, true, position);
  if (slot == nullptr) return;
  std::uint64_t w = slot->word.load(std::memory_order_acquire);
  std::uint64_t next = 0;
  do {
    if (!word::is(w, position, SlotState::Active)) return;
    next = w | word::kSealed;
    if (word::complete(next)) next = word::with(next, SlotState::Done);
  } while (!slot->word.compare_exchange_weak(w, next, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
}

Handle addP2p(Communicator& communicator, Handle group, bool graph, bool send, TypeCode type,
              std::uint64_t count, int peer, int self, unsigned channels) noexcept {
  const Handle base = communicator.launch.handleBase.load(kRelaxed);
  if (base == 0) return 0;
  // A rank's message to itself is copied by the kernel without a channel of its own: NCCL announces
  // channels for it and never reports one (2.26 to 2.30).
  if (peer == self && channels != word::kUnbounded) channels = 0;
  const bool grouped = isGroupOf(communicator, group);
  std::uint64_t position = 0;
  Slot* slot = grouped ? groupSlot(communicator, groupOf(group), true, position) : nullptr;
  if (slot == nullptr || !extendBatch(*slot, position, channels)) {
    const Allocation to = allocate(communicator);
    if (to.slot == nullptr) return 0;
    slot = to.slot;
    position = to.position;
    slot->startNs.store(Slot::kNoStart, kRelaxed);
    for (Slot::Field* field : {&slot->stopNs, &slot->bytes, &slot->received, &slot->peers}) {
      field->store(0, kRelaxed);
    }
    slot->codes.store(codes::kP2p | (graph ? codes::kGraph : 0), kRelaxed);
    tally(*slot, send, type, count, peer, channels == word::kUnbounded ? 0 : channels);
    if (grouped) setGroupSlot(communicator, groupOf(group), true, position);
    slot->word.store(word::make(position, SlotState::Active) | word::kTracked | plus(0, channels) |
                         (grouped ? 0 : word::kSealed),
                     std::memory_order_release);
  } else {
    tally(*slot, send, type, count, peer, channels == word::kUnbounded ? 0 : channels);
  }
  return taskHandle(base, position);
}

Handle startSymmetric(Communicator& communicator, Handle group, const Launch& launch,
                      std::uint64_t flags) noexcept {
  const Handle base = communicator.launch.handleBase.load(kRelaxed);
  if (base == 0) return 0;
  flags |= codes::kSymmetric;
  const bool grouped = isGroupOf(communicator, group);
  std::uint64_t leaderPosition = 0;
  Slot* leader = grouped ? groupSlot(communicator, groupOf(group), false, leaderPosition) : nullptr;
  if (leader != nullptr &&
      word::position(leader->word.load(std::memory_order_acquire)) == leaderPosition) {
    // All collectives of the group run in the leader's kernel.
    leader->codes.store(leader->codes.load(kRelaxed) | codes::kSharedPlan, kRelaxed);
    flags |= codes::kSharedPlan;
  }
  const Allocation to = allocate(communicator);
  if (to.slot == nullptr) return 0;
  if (launch.channels == 0) {
    publish(to, launch, flags, SlotState::Done, word::kSealed);
  } else {
    if (grouped) setGroupSlot(communicator, groupOf(group), false, to.position);
    publish(to, launch, flags, SlotState::Active, word::kSealed | launch.channels);
  }
  return taskHandle(base, to.position);
}

}  // namespace rdmaguard::collective
