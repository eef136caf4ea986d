// NCCL's profiler interface v7: first in NCCL 2.31.2, symbol ncclProfiler_v7.
// For plugin/entry's adapters; adds user tags, symmetric collectives and kernel phases.
// Source: debug information of the released 2.31.2 and 2.32.3 libraries.
#pragma once

#include "nccl_abi/profiler_v6.h"

namespace nccl_abi::profiler_v7 {

using profiler_v6::CeCollBatch;
using profiler_v6::CeCollSync;
using profiler_v6::EventStateArgs;
using profiler_v6::GroupApi;
using profiler_v6::KernelCh;
using profiler_v6::KernelLaunch;

/// A collective as the application called it, before NCCL normalises count and type.
struct CollApi {
  const char* func;
  std::size_t count;  ///< elements, as the caller gave them
  const char* datatype;
  int root;
  void* stream;  ///< cudaStream_t
  bool graphCaptured;
  std::uint64_t userTag;  ///< the application's mark, 0 when untagged
};

/// A send or receive as the application called it.
struct P2pApi {
  const char* func;
  std::size_t count;  ///< elements
  const char* datatype;
  void* stream;  ///< cudaStream_t
  bool graphCaptured;
  std::uint64_t userTag;  ///< 0 when untagged
};

/// One collective of one communicator; `parentObj` is its CollApi.
struct Coll {
  std::uint64_t seqNumber;  ///< per function and communicator
  const char* func;         ///< "AllReduce", "Broadcast", ...
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;  ///< elements; AllGather and Broadcast are counted in bytes as ncclInt8
  int root;
  const char* datatype;  ///< see kDataTypes
  /// KernelCh events that follow, exactly; 0 with CollNet algorithms. Symmetric collectives: the
  /// whole plan's channels on its first task, 0 on the others.
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;           ///< the kernel variant's name for symmetric collectives
  const char* proto;          ///< empty for symmetric collectives
  void* parentGroup;          ///< handle of the Group event
  const char* kernelVariant;  ///< null unless symmetric
  bool isSymColl;
  std::uint64_t userTag;  ///< 0 when untagged
};

/// One send or receive; `parentObj` is its P2pApi.
struct P2p {
  const char* func;  ///< "Send" or "Recv"
  void* buff;
  const char* datatype;
  std::size_t count;       ///< elements
  int peer;                ///< rank
  std::uint8_t nChannels;  ///< of this direction alone when KernelCh is on
  void* parentGroup;       ///< handle of the Group event
  std::uint64_t userTag;   ///< 0 when untagged
};

/// One collective that the copy engines run; start and stop are enqueue times.
struct CeColl {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;  ///< elements
  int root;
  const char* datatype;
  const char* syncStrategy;
  bool intraBatchSync;
  std::uint32_t batchSize;
  std::uint32_t numBatches;
  std::uint32_t ceSeqNum;
  void* stream;           ///< cudaStream_t
  std::uint64_t userTag;  ///< 0 when untagged
};

/// One phase of a channel's share of a kernel.
struct KernelPhase {
  std::uint8_t channelId;
  std::uint8_t phaseId;  ///< 0 first synchronisation, 1 compute, 2 last synchronisation
  const char* phaseName;
  std::uint64_t pTimer;  ///< start, GPU global timer, ns; not comparable between GPUs
};

struct EventDescriptor {
  std::uint64_t type;  ///< one event_type bit
  void* parentObj;     ///< handle of the parent event
  int rank;
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
    CeColl ceColl;
    CeCollSync ceCollSync;
    CeCollBatch ceCollBatch;
    KernelPhase kernelPhase;
  };
};
NCCL_ABI_SIZE(EventDescriptor, 136);
NCCL_ABI_DESCRIPTOR_HEAD(EventDescriptor);
// GroupApi, KernelLaunch, KernelCh, CeCollSync, CeCollBatch and NetPlugin are earlier versions' own
// structs, held field by field there.
NCCL_ABI_AT(EventDescriptor, groupApi, 24);
NCCL_ABI_AT(EventDescriptor, kernelLaunch, 24);
NCCL_ABI_AT(EventDescriptor, kernelCh, 24);
NCCL_ABI_AT(EventDescriptor, netPlugin, 24);
NCCL_ABI_AT(EventDescriptor, ceCollSync, 24);
NCCL_ABI_AT(EventDescriptor, ceCollBatch, 24);
NCCL_ABI_AT(EventDescriptor, collApi.func, 24);
NCCL_ABI_AT(EventDescriptor, collApi.count, 32);
NCCL_ABI_AT(EventDescriptor, collApi.datatype, 40);
NCCL_ABI_AT(EventDescriptor, collApi.root, 48);
NCCL_ABI_AT(EventDescriptor, collApi.stream, 56);
NCCL_ABI_AT(EventDescriptor, collApi.graphCaptured, 64);
NCCL_ABI_AT(EventDescriptor, collApi.userTag, 72);
NCCL_ABI_AT(EventDescriptor, p2pApi.func, 24);
NCCL_ABI_AT(EventDescriptor, p2pApi.count, 32);
NCCL_ABI_AT(EventDescriptor, p2pApi.datatype, 40);
NCCL_ABI_AT(EventDescriptor, p2pApi.stream, 48);
NCCL_ABI_AT(EventDescriptor, p2pApi.graphCaptured, 56);
NCCL_ABI_AT(EventDescriptor, p2pApi.userTag, 64);
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
NCCL_ABI_AT(EventDescriptor, coll.kernelVariant, 112);
NCCL_ABI_AT(EventDescriptor, coll.isSymColl, 120);
NCCL_ABI_AT(EventDescriptor, coll.userTag, 128);
NCCL_ABI_AT(EventDescriptor, p2p.func, 24);
NCCL_ABI_AT(EventDescriptor, p2p.buff, 32);
NCCL_ABI_AT(EventDescriptor, p2p.datatype, 40);
NCCL_ABI_AT(EventDescriptor, p2p.count, 48);
NCCL_ABI_AT(EventDescriptor, p2p.peer, 56);
NCCL_ABI_AT(EventDescriptor, p2p.nChannels, 60);
NCCL_ABI_AT(EventDescriptor, p2p.parentGroup, 64);
NCCL_ABI_AT(EventDescriptor, p2p.userTag, 72);
NCCL_ABI_AT(EventDescriptor, ceColl.seqNumber, 24);
NCCL_ABI_AT(EventDescriptor, ceColl.func, 32);
NCCL_ABI_AT(EventDescriptor, ceColl.sendBuff, 40);
NCCL_ABI_AT(EventDescriptor, ceColl.recvBuff, 48);
NCCL_ABI_AT(EventDescriptor, ceColl.count, 56);
NCCL_ABI_AT(EventDescriptor, ceColl.root, 64);
NCCL_ABI_AT(EventDescriptor, ceColl.datatype, 72);
NCCL_ABI_AT(EventDescriptor, ceColl.syncStrategy, 80);
NCCL_ABI_AT(EventDescriptor, ceColl.intraBatchSync, 88);
NCCL_ABI_AT(EventDescriptor, ceColl.batchSize, 92);
NCCL_ABI_AT(EventDescriptor, ceColl.numBatches, 96);
NCCL_ABI_AT(EventDescriptor, ceColl.ceSeqNum, 100);
NCCL_ABI_AT(EventDescriptor, ceColl.stream, 104);
NCCL_ABI_AT(EventDescriptor, ceColl.userTag, 112);
NCCL_ABI_AT(EventDescriptor, kernelPhase.channelId, 24);
NCCL_ABI_AT(EventDescriptor, kernelPhase.phaseId, 25);
NCCL_ABI_AT(EventDescriptor, kernelPhase.phaseName, 32);
NCCL_ABI_AT(EventDescriptor, kernelPhase.pTimer, 40);

/// The exported object `ncclProfiler_v7`; see profiler_common.h for threads.
struct Profiler {
  const char* name;
  /// As in v5.
  Result (*init)(void** context, std::uint64_t commId, int* activationMask, const char* commName,
                 int nNodes, int nRanks, int rank, Logger logger);
  Result (*startEvent)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};
NCCL_ABI_PROFILER_SLOTS(Profiler);

}  // namespace nccl_abi::profiler_v7
