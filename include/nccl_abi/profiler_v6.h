// NCCL's profiler interface v6: first in NCCL 2.29.2, symbol ncclProfiler_v6.
// For plugin/entry's adapters; v5 plus events of copy-engine collectives.
#pragma once

#include "nccl_abi/profiler_v5.h"

namespace nccl_abi::profiler_v6 {

using profiler_v5::Coll;
using profiler_v5::CollApi;
using profiler_v5::EventStateArgs;
using profiler_v5::GroupApi;
using profiler_v5::KernelCh;
using profiler_v5::KernelLaunch;
using profiler_v5::P2p;
using profiler_v5::P2pApi;

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
  void* stream;  ///< cudaStream_t
};

/// One synchronisation within a copy-engine collective; the same bytes in v6 and v7.
struct CeCollSync {
  bool isComplete;
  int nRanks;
};

/// One batch of copies within a copy-engine collective; the same bytes in v6 and v7.
struct CeCollBatch {
  int numOps;
  std::size_t totalBytes;
  bool useIntraSync;
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
    CeColl ceColl;
    CeCollSync ceCollSync;
    CeCollBatch ceCollBatch;
  };
};
NCCL_ABI_SIZE(EventDescriptor, 112);
NCCL_ABI_DESCRIPTOR_HEAD(EventDescriptor);
// GroupApi to NetPlugin are v5's own structs, held field by field there; here it is enough that
// each begins where the union begins.
NCCL_ABI_AT(EventDescriptor, groupApi, 24);
NCCL_ABI_AT(EventDescriptor, collApi, 24);
NCCL_ABI_AT(EventDescriptor, p2pApi, 24);
NCCL_ABI_AT(EventDescriptor, kernelLaunch, 24);
NCCL_ABI_AT(EventDescriptor, coll, 24);
NCCL_ABI_AT(EventDescriptor, p2p, 24);
NCCL_ABI_AT(EventDescriptor, kernelCh, 24);
NCCL_ABI_AT(EventDescriptor, netPlugin, 24);
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
NCCL_ABI_AT(EventDescriptor, ceCollSync.isComplete, 24);
NCCL_ABI_AT(EventDescriptor, ceCollSync.nRanks, 28);
NCCL_ABI_AT(EventDescriptor, ceCollBatch.numOps, 24);
NCCL_ABI_AT(EventDescriptor, ceCollBatch.totalBytes, 32);
NCCL_ABI_AT(EventDescriptor, ceCollBatch.useIntraSync, 40);

/// The exported object `ncclProfiler_v6`; see profiler_common.h for threads.
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

}  // namespace nccl_abi::profiler_v6
