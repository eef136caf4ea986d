// Where communicators come from and go to: one reserved region, handed out by index. Opening and
// closing take a lock; callbacks never do.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <new>

#include "plugin/collective/consumer.h"
#include "plugin/collective/literals.h"

namespace rdmaguard::collective {

constinit Pool pool{};
constinit StrayCounters strayCounters{};

namespace {

/// Closed communicators that rest before their memory is used again, so that late callbacks find
/// what they knew. Their handles stay stale afterwards too: positions and generations go on.
constexpr std::size_t kQuarantine = 32;

struct Registry {
  std::mutex lock;
  unsigned capacity = 0;
  std::deque<unsigned> closed;  ///< oldest first
};

// Never destroyed: NCCL may finalize communicators after static destructors have run.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

bool reserve(Registry& to) {
  if (to.capacity != 0) return true;
  // A limit on address space (ulimit -v) may refuse the whole region; take what can be had.
  for (const unsigned count : {kMaxCommunicators, 256U, 64U, 8U, 1U}) {
    void* at = mmap(nullptr, std::size_t{count} << kStrideShift, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    pool.base.store(static_cast<std::byte*>(at), std::memory_order_relaxed);
    to.capacity = count;
    const std::uint64_t seed = peerMark(now() ^ static_cast<std::uint64_t>(getpid()), true);
    pool.prefix.store(static_cast<std::uint32_t>(seed % 255 + 1) << 3, std::memory_order_relaxed);
    return true;
  }
  return false;
}

Communicator* at(unsigned index) {
  return reinterpret_cast<Communicator*>(pool.base.load(std::memory_order_relaxed) +
                                         (std::size_t{index} << kStrideShift));
}

/// An index to use: a fresh one, or the longest closed.
Communicator* take(Registry& from) {
  const unsigned committed = pool.committed.load(std::memory_order_relaxed);
  const bool full = committed == from.capacity;
  if (from.closed.size() > kQuarantine || (full && !from.closed.empty())) {
    const unsigned index = from.closed.front();
    from.closed.pop_front();
    return at(index);
  }
  if (full) return nullptr;
  Communicator* fresh = at(committed);
  if (mprotect(fresh, sizeof(Communicator), PROT_READ | PROT_WRITE) != 0) return nullptr;
  // Fresh anonymous pages are zero, a valid state of every member; writing them faults them in.
  std::memset(static_cast<void*>(fresh), 0, sizeof(Communicator));
  fresh->index = committed;
  fresh->launch.head.store(kSlots, std::memory_order_relaxed);
  pool.committed.store(committed + 1, std::memory_order_release);
  return fresh;
}

void reset(Communicator& c, const CommunicatorInfo& info) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (ApiMemo& entry : c.apiMemo) {
    entry.words.store(0, kRelaxed);
    entry.calls.store(0, kRelaxed);
    entry.bytes.store(0, kRelaxed);
  }
  for (CollMemo& entry : c.collMemo) entry.words.store(0, kRelaxed);
  for (ApiTally& tally : c.apiTally) {
    tally.calls.store(0, kRelaxed);
    tally.bytes.store(0, kRelaxed);
  }
  c.overrun.store(0, kRelaxed);
  c.unused.store(0, kRelaxed);
  for (auto& count : c.overrunFromApi) count.store(0, kRelaxed);
  for (auto& bytes : c.overrunFromApiBytes) bytes.store(0, kRelaxed);
  c.names.clear();
  c.abiVersion = info.abiVersion;
  c.rank = info.rank;
  c.ranks.store(info.nRanks, kRelaxed);
  c.learnedId.store(0, kRelaxed);
  c.learnedRank.store(-1, kRelaxed);
  c.generation = static_cast<std::uint16_t>(c.generation + 1);
  c.literals = literalsAround(info.inside);
  c.launch.lastMemo.store(0, kRelaxed);
  c.launch.tail.store(static_cast<std::uint32_t>(c.launch.head.load(kRelaxed)), kRelaxed);
}

}  // namespace

Communicator* open(const CommunicatorInfo& info) noexcept {
  auto* consumer = new (std::nothrow) Consumer;
  if (consumer == nullptr) return nullptr;
  Registry& all = registry();
  const std::lock_guard lock(all.lock);
  Communicator* c = reserve(all) ? take(all) : nullptr;
  if (c == nullptr) {
    delete consumer;
    return nullptr;
  }
  pool.pid.store(getpid(), std::memory_order_relaxed);
  reset(*c, info);
  consumer->firstPosition = c->launch.head.load(std::memory_order_relaxed);
  consumer->tail = consumer->firstPosition;
  consumer->lastFinished = consumer->firstPosition;
  consumer->lastStarted = consumer->firstPosition;
  c->consumer = consumer;
  c->launch.handleBase.store(
      handleBase(pool.prefix.load(std::memory_order_relaxed), c->index, c->generation),
      std::memory_order_release);
  return c;
}

void close(Communicator* communicator) noexcept {
  if (communicator == nullptr) return;
  Registry& all = registry();
  const std::lock_guard lock(all.lock);
  // Closed twice: a second finalize of the same context.
  if (communicator->launch.handleBase.exchange(0, std::memory_order_relaxed) == 0) return;
  delete communicator->consumer;
  communicator->consumer = nullptr;
  try {
    all.closed.push_back(communicator->index);
  } catch (const std::bad_alloc&) {
    // Its index is not used again: a little memory, no harm.
  }
}

int ranks(const Communicator& communicator) noexcept {
  return communicator.ranks.load(std::memory_order_relaxed);
}

void setRanks(Communicator& communicator, int nRanks) noexcept {
  communicator.ranks.store(nRanks, std::memory_order_relaxed);
}

Learned learned(const Communicator& communicator) noexcept {
  const std::uint64_t id = communicator.learnedId.load(std::memory_order_acquire);
  return {id, id != 0 ? communicator.learnedRank.load(std::memory_order_relaxed) : -1};
}

Strays strays() noexcept {
  return {strayCounters.staleHandles.load(std::memory_order_relaxed),
          strayCounters.foreignPids.load(std::memory_order_relaxed)};
}

}  // namespace rdmaguard::collective
