// The consumer: finds finished collectives in the ring, works out what they were, hands them over.
// Runs on report's thread or at finalize, one thread at a time per communicator.
#include <algorithm>

#include "plugin/collective/consumer.h"
#include "plugin/collective/record.h"

namespace rdmaguard::collective {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// A slot's content as it was when it was finished.
struct Snapshot {
  std::uint64_t position, startNs, stopNs, bytes, received, sequence, codes, peers;
};

Snapshot copy(const Slot& slot, std::uint64_t position) {
  return {position,
          slot.startNs.load(kRelaxed),
          slot.stopNs.load(kRelaxed),
          slot.bytes.load(kRelaxed),
          slot.received.load(kRelaxed),
          slot.sequence.load(kRelaxed),
          slot.codes.load(kRelaxed),
          slot.peers.load(kRelaxed)};
}

std::uint64_t allPeers(Consumer& consumer, int ranks) {
  const auto n = static_cast<std::uint64_t>(ranks);
  if (consumer.allPeersRanks != n) {
    consumer.allPeers = 0;
    for (std::uint64_t r = 0; r < n; ++r)
      consumer.allPeers += peerMark(r, true) + peerMark(r, false);
    consumer.allPeersRanks = n;
  }
  return consumer.allPeers;
}

/// A group that sends to and receives from every rank in equal pieces is an all-to-all, with or
/// without the rank itself (NCCL leaves out a message from a buffer to itself). Two ranks without
/// themselves are a plain exchange.
bool looksLikeAlltoAll(const Communicator& c, const Snapshot& s, int ranks) {
  const unsigned sends = codes::sends(s.codes);
  if (ranks < 2 || sends != codes::receives(s.codes) ||
      (codes::flags(s.codes) & (codes::kUnequal | codes::kNoSize)) != 0) {
    return false;
  }
  const auto n = static_cast<unsigned>(ranks);
  const std::uint64_t all = allPeers(*c.consumer, ranks);
  if (sends == n) return s.peers == all;
  if (sends != n - 1 || n < 3 || c.rank < 0) return false;
  const auto self = static_cast<std::uint64_t>(c.rank);
  return s.peers == all - peerMark(self, true) - peerMark(self, false);
}

/// What a batch of sends and receives was, and the bytes nccl-tests would count.
void describeBatch(const Communicator& c, const Snapshot& s, int ranks, Finished& f) {
  f.sends = codes::sends(s.codes);
  f.receives = codes::receives(s.codes);
  f.sentBytes = s.bytes;
  f.receivedBytes = s.received;
  f.inferred = true;
  f.bytes = std::max(s.bytes, s.received);
  if (looksLikeAlltoAll(c, s, ranks)) {
    f.operation = Operation::AlltoAll;
    f.bytes = messageBytes(Operation::AlltoAll, s.sequence, ranks);
  } else if (f.sends != 0 && f.receives != 0) {
    f.operation = Operation::SendRecv;
  } else {
    f.operation = f.sends != 0 ? Operation::Send : Operation::Recv;
    f.inferred = false;
  }
}

TimingSource sourceFor(int abiVersion) {
  if (abiVersion >= 4) return TimingSource::KernelGpu;
  return abiVersion == 3 ? TimingSource::KernelHost : TimingSource::ProxyHost;
}

Finished describe(const Communicator& c, const Snapshot& s) {
  const std::uint64_t flags = codes::flags(s.codes);
  const int ranks = c.ranks.load(kRelaxed);
  Finished f;
  f.index = s.position - c.consumer->firstPosition;
  f.datatype = typeName(codes::datatype(s.codes));
  f.channels = codes::channels(s.codes);
  f.graph = (flags & codes::kGraph) != 0;
  f.symmetric = (flags & codes::kSymmetric) != 0;
  if ((flags & codes::kP2p) != 0) {
    describeBatch(c, s, ranks, f);
  } else {
    f.operation = static_cast<Operation>(codes::operation(s.codes));
    f.sequence = s.sequence;
    f.algorithm = c.names.name(codes::algorithm(s.codes));
    f.protocol = c.names.name(codes::protocol(s.codes));
    f.bytes = messageBytes(f.operation, s.bytes, ranks);
  }
  if ((flags & codes::kSharedPlan) != 0) {
    f.untimed = Untimed::SharedPlan;
  } else if (s.startNs == Slot::kNoStart && s.stopNs == 0) {
    f.untimed = Untimed::NoChildren;
  } else if (s.startNs > s.stopNs) {
    f.untimed = Untimed::InvalidClock;
  } else {
    f.timing = sourceFor(c.abiVersion);
    // Below the timer's resolution: one nanosecond rather than an infinite bandwidth.
    f.durationNs = std::max<std::uint64_t>(1, s.stopNs - s.startNs);
    f.algbw = double(f.bytes) / double(f.durationNs);
    f.busbw = f.algbw * busFactor(f.operation, ranks);
  }
  return f;
}

void answerApi(Consumer& consumer, const Snapshot& s) {
  if ((codes::flags(s.codes) & codes::kFromApi) == 0) return;
  ++consumer.answered[codes::apiOperation(s.codes) & 15];
  consumer.answeredBytes[codes::apiOperation(s.codes) & 15] += s.bytes;
}

enum class Verdict { Wait, Finished, Incomplete };

/// Whether a slot that still awaits children is finished all the same.
Verdict judge(const Communicator& c, const Slot& slot, std::uint64_t w, std::uint64_t position,
              std::uint64_t head, std::uint64_t nowNs, const Patience& patience, bool last) {
  const std::uint64_t startNs = slot.startNs.load(kRelaxed);
  const std::uint64_t stopNs = slot.stopNs.load(kRelaxed);
  const bool started = startNs != Slot::kNoStart || stopNs != 0;
  const bool tracked = (w & word::kTracked) != 0;
  const bool allClosed = tracked && word::open(w) == 0;
  if (last) {
    if (!started || allClosed) return Verdict::Finished;
    return Verdict::Incomplete;
  }
  Watch& watch = c.consumer->watches[position & (kSlots - 1)];
  const std::uint64_t times = startNs * 3 + stopNs;
  if (watch.word != w || watch.times != times) {
    watch = {w, times, nowNs};
    return Verdict::Wait;
  }
  const std::uint64_t still = nowNs > watch.sinceNs ? nowNs - watch.sinceNs : 0;
  if ((w & word::kSealed) == 0) return Verdict::Wait;
  if (started) {
    return allClosed && still >= patience.quietNs ? Verdict::Finished : Verdict::Wait;
  }
  // Proxy operations start as soon as they are launched; without any there is no network in it.
  if (c.abiVersion <= 2) return still >= patience.quietNs ? Verdict::Finished : Verdict::Wait;
  // Half a ring of launches after it and none of them started: kernel events are off. With some
  // started it may yet be waiting in another stream; it is given up just before it would be lost.
  const std::uint64_t behind = head - position;
  if (behind > (c.consumer->lastStarted > position ? kSlots / 8 * 7 : kSlots / 2)) {
    return Verdict::Finished;
  }
  return c.consumer->lastFinished > position && still >= patience.abandonNs ? Verdict::Finished
                                                                            : Verdict::Wait;
}

std::uint64_t scan(Communicator& c, const Sink& sink, std::uint64_t nowNs, const Patience& patience,
                   bool last) {
  Consumer& consumer = *c.consumer;
  const std::uint64_t head = c.launch.head.load(std::memory_order_acquire);
  std::uint64_t tail = consumer.tail;
  if (head == tail) return 0;
  const std::uint64_t handedBefore = consumer.handed;
  consumer.running = {};
  consumer.runningBytes = {};
  // What lies a whole ring behind is gone, and was counted by the launch that took its slot.
  if (head - tail > kSlots) tail = head - kSlots;
  bool contiguous = true;
  for (std::uint64_t p = tail; p != head; ++p) {
    Slot& slot = c.ring[p & (kSlots - 1)];
    std::uint64_t w = slot.word.load(std::memory_order_acquire);
    bool settled = false;
    if (word::position(w) != (p & kPositionMask)) {
      // Later owner: lost and counted. Earlier one: its launch has not published it yet.
      const std::uint64_t ahead = (word::position(w) - p) & kPositionMask;
      settled = ahead < kPositionMask / 2;
    } else {
      Verdict verdict = Verdict::Wait;
      switch (word::state(w)) {
        case SlotState::Free:
          settled = true;
          break;
        case SlotState::Writing:
          break;
        case SlotState::Done:
          verdict = Verdict::Finished;
          break;
        case SlotState::Active:
          verdict = judge(c, slot, w, p, head, nowNs, patience, last);
          break;
      }
      const Snapshot s = copy(slot, p);
      if (s.startNs != Slot::kNoStart && word::state(w) != SlotState::Writing) {
        consumer.lastStarted = std::max(consumer.lastStarted, p);
      }
      if (verdict != Verdict::Wait) {
        // If the word still is what it was, nobody wrote the slot while it was copied. If not, a
        // child came (look again next time) or a launch took the slot (and counted the loss).
        if (slot.word.compare_exchange_strong(w, word::with(w, SlotState::Free),
                                              std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
          settled = true;
          answerApi(consumer, s);
          if (verdict == Verdict::Incomplete) {
            ++consumer.incomplete;
          } else {
            const Finished f = describe(c, s);
            ++consumer.handed;
            if (f.untimed != Untimed::No) ++consumer.untimed;
            consumer.lastFinished = std::max(consumer.lastFinished, p);
            if (sink) sink(f);
          }
        }
      }
      if (!settled && word::state(w) != SlotState::Writing &&
          (codes::flags(s.codes) & codes::kFromApi) != 0) {
        ++consumer.running[codes::apiOperation(s.codes) & 15];
        consumer.runningBytes[codes::apiOperation(s.codes) & 15] += s.bytes;
      }
    }
    contiguous = contiguous && settled;
    if (contiguous) tail = p + 1;
  }
  consumer.tail = tail;
  c.launch.tail.store(static_cast<std::uint32_t>(tail), std::memory_order_release);
  return consumer.handed - handedBefore;
}

}  // namespace

std::uint64_t now() noexcept {
  return hostNs();
}

std::uint64_t drain(Communicator& communicator, const Sink& sink, std::uint64_t nowNs,
                    const Patience& patience) {
  return scan(communicator, sink, nowNs, patience, false);
}

Counters finish(Communicator& communicator, const Sink& sink) {
  scan(communicator, sink, now(), {}, true);
  Consumer& consumer = *communicator.consumer;
  consumer.running = {};
  consumer.runningBytes = {};
  // Positions that are neither settled nor counted as lost were taken by groups in which nothing
  // came before the communicator's end.
  const std::uint64_t taken =
      communicator.launch.head.load(std::memory_order_acquire) - consumer.firstPosition;
  const std::uint64_t settled = communicator.unused.load(kRelaxed) + consumer.handed +
                                consumer.incomplete + communicator.overrun.load(kRelaxed);
  if (taken > settled) communicator.unused.fetch_add(taken - settled, kRelaxed);
  return counters(communicator);
}

ApiOnlyTable apiOnly(const Communicator& communicator) {
  const Consumer& consumer = *communicator.consumer;
  ApiOnlyTable table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::uint64_t calls = communicator.apiTally[i].calls.load(kRelaxed);
    std::uint64_t bytes = communicator.apiTally[i].bytes.load(kRelaxed);
    for (const ApiMemo& entry : communicator.apiMemo) {
      const std::uint64_t words = entry.words.load(std::memory_order_acquire);
      if ((words & 0xff) != memo::kValid || static_cast<std::size_t>(memo::operation(words)) != i) {
        continue;
      }
      calls += entry.calls.load(kRelaxed);
      bytes += entry.bytes.load(kRelaxed);
    }
    const std::uint64_t launched =
        consumer.answered[i] + consumer.running[i] + communicator.overrunFromApi[i].load(kRelaxed);
    const std::uint64_t launchedBytes = consumer.answeredBytes[i] + consumer.runningBytes[i] +
                                        communicator.overrunFromApiBytes[i].load(kRelaxed);
    table[i] = {calls > launched ? calls - launched : 0,
                bytes > launchedBytes ? bytes - launchedBytes : 0};
  }
  return table;
}

Counters counters(const Communicator& communicator) {
  const Consumer& consumer = *communicator.consumer;
  Counters c;
  for (const ApiOnly& one : apiOnly(communicator)) c.apiOnly += one.calls;
  c.seen = communicator.launch.head.load(std::memory_order_acquire) - consumer.firstPosition -
           communicator.unused.load(kRelaxed) + c.apiOnly;
  c.written = consumer.handed + c.apiOnly;
  c.untimed = consumer.untimed + c.apiOnly;
  c.droppedOverrun = communicator.overrun.load(kRelaxed);
  c.droppedIncomplete = consumer.incomplete;
  return c;
}

}  // namespace rdmaguard::collective
