// NCCL's profiler interface v3: first in NCCL 2.26.2, symbol ncclProfiler_v3.
// For plugin/entry's adapters; adds KernelCh (without a GPU time) and NetPlugin events.
#pragma once

#include "nccl_abi/profiler_v2.h"

namespace nccl_abi::profiler_v3 {

using EventStateArgs = EventStateArgsV1;
using profiler_v2::P2p;

/// One collective of one communicator.
struct Coll {
  const char* name;  ///< communicator name; always null in the releases that have v1 to v3
  std::uint64_t commHash;
  std::uint64_t seqNumber;  ///< per function and communicator
  const char* func;         ///< "AllReduce", "Broadcast", ...
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;  ///< elements; AllGather and Broadcast are counted in bytes as ncclInt8
  int root;
  const char* datatype;       ///< see kDataTypes
  std::uint8_t nMaxChannels;  ///< upper bound of the KernelCh events that follow
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};

/// One channel's share of a kernel; start and stop are seen by the host only.
struct KernelCh {
  std::uint8_t channelId;
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
NCCL_ABI_SIZE(EventDescriptor, 120);
NCCL_ABI_DESCRIPTOR_HEAD(EventDescriptor);
NCCL_ABI_AT(EventDescriptor, coll.name, 24);
NCCL_ABI_AT(EventDescriptor, coll.commHash, 32);
NCCL_ABI_AT(EventDescriptor, coll.seqNumber, 40);
NCCL_ABI_AT(EventDescriptor, coll.func, 48);
NCCL_ABI_AT(EventDescriptor, coll.sendBuff, 56);
NCCL_ABI_AT(EventDescriptor, coll.recvBuff, 64);
NCCL_ABI_AT(EventDescriptor, coll.count, 72);
NCCL_ABI_AT(EventDescriptor, coll.root, 80);
NCCL_ABI_AT(EventDescriptor, coll.datatype, 88);
NCCL_ABI_AT(EventDescriptor, coll.nMaxChannels, 96);
NCCL_ABI_AT(EventDescriptor, coll.nWarps, 97);
NCCL_ABI_AT(EventDescriptor, coll.algo, 104);
NCCL_ABI_AT(EventDescriptor, coll.proto, 112);
NCCL_ABI_AT(EventDescriptor, p2p.name, 24);
NCCL_ABI_AT(EventDescriptor, p2p.commHash, 32);
NCCL_ABI_AT(EventDescriptor, p2p.func, 40);
NCCL_ABI_AT(EventDescriptor, p2p.buff, 48);
NCCL_ABI_AT(EventDescriptor, p2p.datatype, 56);
NCCL_ABI_AT(EventDescriptor, p2p.count, 64);
NCCL_ABI_AT(EventDescriptor, p2p.peer, 72);
NCCL_ABI_AT(EventDescriptor, kernelCh.channelId, 24);
NCCL_ABI_AT(EventDescriptor, netPlugin.id, 24);
NCCL_ABI_AT(EventDescriptor, netPlugin.data, 32);

/// The exported object `ncclProfiler_v3`; see profiler_common.h for threads.
struct Profiler {
  const char* name;
  Result (*init)(void** context, int* activationMask);
  Result (*startEvent)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};
NCCL_ABI_PROFILER_SLOTS(Profiler);

}  // namespace nccl_abi::profiler_v3
