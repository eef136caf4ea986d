// What the collective recorder hands out: finished collectives and the counts that prove none was
// lost. Read by plugin/report; values only, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "rdmaguard/busbw.h"

namespace rdmaguard::collective {

/// Where a duration comes from.
enum class TimingSource : std::uint8_t {
  None,        ///< no child event was delivered
  KernelGpu,   ///< GPU global timer of the kernel's channels (interface v4+, NCCL 2.27+)
  KernelHost,  ///< host time at which the kernel's channels were seen (v3, NCCL 2.26)
  ProxyHost,   ///< host time of the network operations (v1, v2, NCCL 2.23 to 2.25)
};

/// Why a collective carries no duration.
enum class Untimed : std::uint8_t {
  No,            ///< it carries one
  NoChildren,    ///< no kernel or proxy event was delivered for it
  SharedPlan,    ///< symmetric collectives of one group share a kernel; no share of it is its own
  InvalidClock,  ///< its first start lies after its last stop, or a time stamp was missing
};

/// One finished collective, or one group of point-to-point calls on one communicator.
struct Finished {
  Operation operation = Operation::Unknown;
  std::uint64_t index = 0;  ///< order of launch on this communicator, from 0, with gaps for drops
  std::uint64_t sequence =
      0;                    ///< NCCL's number per function and communicator; 0 for point-to-point
  std::uint64_t bytes = 0;  ///< message size as nccl-tests counts it; 0 when the type is unknown
  std::uint64_t sentBytes = 0;      ///< point-to-point only: sum over peers
  std::uint64_t receivedBytes = 0;  ///< point-to-point only: sum over peers
  unsigned sends = 0;               ///< point-to-point only: send calls in the group
  unsigned receives = 0;            ///< point-to-point only: receive calls in the group
  std::uint64_t durationNs = 0;     ///< 0 when untimed
  double algbw = 0;                 ///< GB/s (10^9 bytes); 0 when untimed
  double busbw = 0;            ///< GB/s; 0 when untimed or while the number of ranks is unknown
  std::string_view algorithm;  ///< NCCL's word ("RING"), "" when NCCL gave none
  std::string_view protocol;   ///< NCCL's word ("SIMPLE"), "" when NCCL gave none
  std::string_view datatype;   ///< the caller's where known ("ncclFloat32"), "" when unknown
  unsigned channels = 0;       ///< channels NCCL announced; an upper bound in v1 to v3
  TimingSource timing = TimingSource::None;
  Untimed untimed = Untimed::No;
  bool inferred = false;   ///< `operation` follows from the pattern of sends and receives
  bool graph = false;      ///< launched by a CUDA graph
  bool symmetric = false;  ///< a symmetric-memory kernel (v7)
};

/// Called for each finished collective. The string views live until the communicator is closed.
using Sink = std::function<void(const Finished&)>;

/// Calls of one operation that NCCL announced and never reported a launch for: copy-engine
/// collectives, symmetric kernels up to 2.30, Broadcast in 2.29.2 to 2.30. Counted, never timed.
struct ApiOnly {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  ///< per rank, summed over the calls
};
using ApiOnlyTable = std::array<ApiOnly, 12>;  ///< indexed by Operation

/// Completeness of one communicator. After finish(): seen == written + dropped(), always. While it
/// runs, the difference is in flight.
struct Counters {
  std::uint64_t seen = 0;     ///< collectives and point-to-point groups that NCCL told us of
  std::uint64_t written = 0;  ///< handed to the sink, plus apiOnly, which is written as a count
  std::uint64_t untimed = 0;  ///< of those written, without a duration (apiOnly included)
  std::uint64_t apiOnly = 0;  ///< see ApiOnly; while running it may hold calls not launched yet
  std::uint64_t droppedOverrun = 0;     ///< overwritten before they were finished and read
  std::uint64_t droppedIncomplete = 0;  ///< started, never completed
  std::uint64_t dropped() const { return droppedOverrun + droppedIncomplete; }
};

/// Handles and contexts that were not ours to follow, over the whole process.
struct Strays {
  std::uint64_t staleHandles = 0;  ///< closed, overwritten or never ours; ignored
  std::uint64_t foreignPids = 0;   ///< proxy operations that another process asked for (PXN)
};

constexpr std::string_view name(TimingSource source) {
  constexpr std::array<std::string_view, 4> kNames{"none", "kernel_gpu", "kernel_host",
                                                   "proxy_host"};
  return kNames[static_cast<std::size_t>(source)];
}

constexpr std::string_view name(Untimed why) {
  constexpr std::array<std::string_view, 4> kNames{"", "no_children", "shared_plan",
                                                   "invalid_clock"};
  return kNames[static_cast<std::size_t>(why)];
}

}  // namespace rdmaguard::collective
