// NCCL's profiler interface v4: first in NCCL 2.27.3, symbol ncclProfiler_v4.
// For plugin/entry's adapters; init names the communicator, KernelCh carries GPU times.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi::profiler_v4 {

using EventStateArgs = EventStateArgsV4;

/// One collective of one communicator.
struct Coll {
  std::uint64_t seqNumber;  ///< per function and communicator
  const char* func;         ///< "AllReduce", "Broadcast", ...
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;  ///< elements; AllGather and Broadcast are counted in bytes as ncclInt8
  int root;
  const char* datatype;    ///< see kDataTypes
  std::uint8_t nChannels;  ///< KernelCh events that follow, exactly; 0 with CollNet algorithms
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};

/// One send or receive.
struct P2p {
  const char* func;  ///< "Send" or "Recv"
  void* buff;
  const char* datatype;
  std::size_t count;       ///< elements
  int peer;                ///< rank
  std::uint8_t nChannels;  ///< 2.28 leaves it unset when a v4 plugin is loaded
};

/// One channel's share of a kernel; the same bytes in v4 to v7.
struct KernelCh {
  std::uint8_t channelId;
  std::uint64_t pTimer;  ///< start, GPU global timer, ns; not comparable between GPUs
};

struct EventDescriptor {
  std::uint8_t type;  ///< one event_type bit
  void* parentObj;    ///< handle of the parent event
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelCh kernelCh;
    NetPlugin netPlugin;
  };
};
NCCL_ABI_SIZE(EventDescriptor, 104);
NCCL_ABI_DESCRIPTOR_HEAD(EventDescriptor);
NCCL_ABI_AT(EventDescriptor, coll.seqNumber, 24);
NCCL_ABI_AT(EventDescriptor, coll.func, 32);
NCCL_ABI_AT(EventDescriptor, coll.sendBuff, 40);
NCCL_ABI_AT(EventDescriptor, coll.recvBuff, 48);
NCCL_ABI_AT(EventDescriptor, coll.count, 56);
NCCL_ABI_AT(EventDescriptor, coll.root, 64);
NCCL_ABI_AT(EventDescriptor, coll.datatype, 72);
NCCL_ABI_AT(EventDescriptor, coll.nChannels, 80);
NCCL_ABI_AT(EventDescriptor, coll.nWarps, 81);
NCCL_ABI_AT(EventDescriptor, coll.algo, 88);
NCCL_ABI_AT(EventDescriptor, coll.proto, 96);
NCCL_ABI_AT(EventDescriptor, p2p.func, 24);
NCCL_ABI_AT(EventDescriptor, p2p.buff, 32);
NCCL_ABI_AT(EventDescriptor, p2p.datatype, 40);
NCCL_ABI_AT(EventDescriptor, p2p.count, 48);
NCCL_ABI_AT(EventDescriptor, p2p.peer, 56);
NCCL_ABI_AT(EventDescriptor, p2p.nChannels, 60);
NCCL_ABI_AT(EventDescriptor, kernelCh.channelId, 24);
NCCL_ABI_AT(EventDescriptor, kernelCh.pTimer, 32);
NCCL_ABI_AT(EventDescriptor, netPlugin.id, 24);
NCCL_ABI_AT(EventDescriptor, netPlugin.data, 32);

/// The exported object `ncclProfiler_v4`; see profiler_common.h for threads.
struct Profiler {
  const char* name;
  /// `commName` is the user's pointer or null and must be copied. `commHash` equals the commId
  /// that NCCL logs, except for split communicators.
  Result (*init)(void** context, int* activationMask, const char* commName, std::uint64_t commHash,
                 int nNodes, int nRanks, int rank, Logger logger);
  Result (*startEvent)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};
NCCL_ABI_PROFILER_SLOTS(Profiler);

}  // namespace nccl_abi::profiler_v4
