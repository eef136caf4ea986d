// The collective recorder's consumer side: open a communicator, drain what has finished, close it.
// Called by plugin/entry (open, finish, close) and plugin/report (drain); never from a callback
// in steady state. These functions may allocate and lock; the callbacks never do.
#pragma once

#include <cstdint>
#include <string_view>

#include "nccl_abi/profiler_common.h"
#include "plugin/collective/finished.h"

namespace rdmaguard::collective {

struct Communicator;

/// Communicators that can be open at once in one process.
inline constexpr unsigned kMaxCommunicators = 1024;

/// What the recorder must know of a communicator.
struct CommunicatorInfo {
  int abiVersion = 0;            ///< profiler interface in use, 1 to 7
  int nRanks = -1;               ///< -1: unknown (v1 to v3), see setRanks
  int rank = -1;                 ///< -1: unknown
  const void* inside = nullptr;  ///< any address inside NCCL's object; null: unknown
};

/// The event mask to ask NCCL for. v1 and v2 have no kernel events, so the proxy's stand in for
/// them; later versions never ask for NetPlugin, which only buys ProxyStep events. API and Group
/// events come unasked (NCCL 2.23 to 2.30).
constexpr int wantedMask(int abiVersion) {
  using namespace nccl_abi::event_type;
  return static_cast<int>(abiVersion <= 2 ? (kColl | kP2p | kProxyOp) : (kColl | kP2p | kKernelCh));
}

/// Begins a communicator; the result is the context to give to NCCL. nullptr when
/// kMaxCommunicators are open or memory is refused: the communicator is then not recorded. Any
/// thread; takes a lock. About 340 KB, touched here so that no callback meets a page fault.
Communicator* open(const CommunicatorInfo& info) noexcept;

/// Number of ranks, -1 while unknown. v1 and v2 learn it from the first AllGather or ReduceScatter.
int ranks(const Communicator& communicator) noexcept;

/// Tells the number of ranks once it is known (v1 to v3). Any thread.
void setRanks(Communicator& communicator, int nRanks) noexcept;

/// What v1 to v3 tell of a communicator with its first collective and not at init.
struct Learned {
  std::uint64_t commId = 0;  ///< commHash; 0 until then, and always from v4 on
  int rank = -1;
};
/// Any thread.
Learned learned(const Communicator& communicator) noexcept;

/// Now on CLOCK_MONOTONIC, ns: the clock drain() reckons with.
std::uint64_t now() noexcept;

/// When a collective whose end NCCL does not announce is taken as finished.
struct Patience {
  /// Without an open child and without news for this long: finished. Applies where the number of
  /// children is not known (v1 to v3, CollNet, point-to-point).
  std::uint64_t quietNs = 500'000'000;
  /// Never started although a later collective of the communicator has finished, without news for
  /// this long: untimed. NCCL was told to stop sending kernel events.
  std::uint64_t abandonNs = 60'000'000'000;
};

/// Hands what has finished since the last call to `sink`, in order of launch (one that finishes
/// late comes late), and returns how many. One thread at a time per communicator: report's, or
/// the one that finalizes. Drain often: a ring holds 4096 collectives, some 30 ms of the fastest
/// small all-reduces. Costs nanoseconds when nothing was launched.
std::uint64_t drain(Communicator& communicator, const Sink& sink, std::uint64_t nowNs = now(),
                    const Patience& patience = {});

/// The last drain: what never started is handed over as untimed, what started and never completed
/// is dropped as incomplete. Afterwards seen == written + dropped().
Counters finish(Communicator& communicator, const Sink& sink);

/// The counts so far. The thread that drains.
Counters counters(const Communicator& communicator);

/// Calls that were announced and never launched, by operation. The thread that drains.
ApiOnlyTable apiOnly(const Communicator& communicator);

/// Ends a communicator after finish(). Its memory stays readable: late callbacks find handles of
/// it stale. Any thread; takes a lock.
void close(Communicator* communicator) noexcept;

/// Counts of the whole process. Any thread.
Strays strays() noexcept;

}  // namespace rdmaguard::collective
