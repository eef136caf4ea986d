// NCCL's profiler interface v5: first in NCCL 2.28.3, symbol ncclProfiler_v5.
// For plugin/entry's adapters; adds the API events, and `type` grows to 64 bits.
#pragma once

#include "nccl_abi/profiler_v4.h"

namespace nccl_abi::profiler_v5 {

using EventStateArgs = EventStateArgsV4;
using profiler_v4::KernelCh;

/// A ncclGroupStart..ncclGroupEnd of the application, or the implicit group of one call.
struct GroupApi {
  bool graphCaptured;  ///< true: the call was captured in a CUDA graph
  int groupDepth;
};

/// A collective as the application called it, before NCCL normalises count and type.
struct CollApi {
  const char* func;
  std::size_t count;  ///< elements, as the caller gave them
  const char* datatype;
  int root;
  void* stream;  ///< cudaStream_t
  bool graphCaptured;
};

/// A send or receive as the application called it.
struct P2pApi {
  const char* func;
  std::size_t count;  ///< elements
  const char* datatype;
  void* stream;  ///< cudaStream_t
  bool graphCaptured;
};

/// One kernel launch; the same bytes in v5 to v7.
struct KernelLaunch {
  void* stream;  ///< cudaStream_t
};

/// One collective of one communicator; `parentObj` is its CollApi. The same bytes in v5 and v6.
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
  void* parentGroup;  ///< handle of the Group event
};

/// One send or receive; `parentObj` is its P2pApi. The same bytes in v5 and v6.
struct P2p {
  const char* func;  ///< "Send" or "Recv"
  void* buff;
  const char* datatype;
  std::size_t count;  ///< elements
  int peer;           ///< rank
  std::uint8_t nChannels;
  void* parentGroup;  ///< handle of the Group event
};

struct EventDescriptor {
  std::uint64_t type;  ///< one event_type bit
  void* parentObj;     ///< handle of the parent event
  int rank;            ///< not set for API events before 2.31
  union {
    GroupApi groupApi;
    CollApi collApi;
    P2pApi p2pApi;
    KernelLaunch kernelLaunch;
    Coll coll;
    P2p p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelCh kernelCh;
    NetPlugin netPlugin;
  };
};
NCCL_ABI_SIZE(EventDescriptor, 112);
NCCL_ABI_DESCRIPTOR_HEAD(EventDescriptor);
NCCL_ABI_AT(EventDescriptor, groupApi.graphCaptured, 24);
NCCL_ABI_AT(EventDescriptor, groupApi.groupDepth, 28);
NCCL_ABI_AT(EventDescriptor, collApi.func, 24);
NCCL_ABI_AT(EventDescriptor, collApi.count, 32);
NCCL_ABI_AT(EventDescriptor, collApi.datatype, 40);
NCCL_ABI_AT(EventDescriptor, collApi.root, 48);
NCCL_ABI_AT(EventDescriptor, collApi.stream, 56);
NCCL_ABI_AT(EventDescriptor, collApi.graphCaptured, 64);
NCCL_ABI_AT(EventDescriptor, p2pApi.func, 24);
NCCL_ABI_AT(EventDescriptor, p2pApi.count, 32);
NCCL_ABI_AT(EventDescriptor, p2pApi.datatype, 40);
NCCL_ABI_AT(EventDescriptor, p2pApi.stream, 48);
NCCL_ABI_AT(EventDescriptor, p2pApi.graphCaptured, 56);
NCCL_ABI_AT(EventDescriptor, kernelLaunch.stream, 24);
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
NCCL_ABI_AT(EventDescriptor, coll.parentGroup, 104);
NCCL_ABI_AT(EventDescriptor, p2p.func, 24);
NCCL_ABI_AT(EventDescriptor, p2p.buff, 32);
NCCL_ABI_AT(EventDescriptor, p2p.datatype, 40);
NCCL_ABI_AT(EventDescriptor, p2p.count, 48);
NCCL_ABI_AT(EventDescriptor, p2p.peer, 56);
NCCL_ABI_AT(EventDescriptor, p2p.nChannels, 60);
NCCL_ABI_AT(EventDescriptor, p2p.parentGroup, 64);
NCCL_ABI_AT(EventDescriptor, kernelCh.channelId, 24);
NCCL_ABI_AT(EventDescriptor, kernelCh.pTimer, 32);
NCCL_ABI_AT(EventDescriptor, netPlugin.id, 24);
NCCL_ABI_AT(EventDescriptor, netPlugin.data, 32);

/// The exported object `ncclProfiler_v5`; see profiler_common.h for threads.
struct Profiler {
  const char* name;
  /// `commName` is the user's pointer or null and must be copied. `commId` equals the commId that
  /// NCCL logs, except for split communicators.
  Result (*init)(void** context, std::uint64_t commId, int* activationMask, const char* commName,
                 int nNodes, int nRanks, int rank, Logger logger);
  Result (*startEvent)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};
NCCL_ABI_PROFILER_SLOTS(Profiler);

}  // namespace nccl_abi::profiler_v5
