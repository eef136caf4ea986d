// NCCL's profiler interface v2: first in NCCL 2.24.3, symbol ncclProfiler_v2.
// For plugin/entry's adapters; from here on operations, types and algorithms are names.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi::profiler_v2 {

using EventStateArgs = EventStateArgsV1;

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
  const char* datatype;      ///< see kDataTypes
  std::size_t trafficBytes;  ///< bytes on the wire as NCCL's tuning model sees them
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};

/// One send or receive; the same bytes in v2 and v3.
struct P2p {
  const char* name;
  std::uint64_t commHash;
  const char* func;  ///< "Send" or "Recv"
  void* buff;
  const char* datatype;
  std::size_t count;  ///< elements
  int peer;           ///< rank
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
  };
};
NCCL_ABI_SIZE(EventDescriptor, 128);
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
NCCL_ABI_AT(EventDescriptor, coll.trafficBytes, 96);
NCCL_ABI_AT(EventDescriptor, coll.nMaxChannels, 104);
NCCL_ABI_AT(EventDescriptor, coll.nWarps, 105);
NCCL_ABI_AT(EventDescriptor, coll.algo, 112);
NCCL_ABI_AT(EventDescriptor, coll.proto, 120);
NCCL_ABI_AT(EventDescriptor, p2p.name, 24);
NCCL_ABI_AT(EventDescriptor, p2p.commHash, 32);
NCCL_ABI_AT(EventDescriptor, p2p.func, 40);
NCCL_ABI_AT(EventDescriptor, p2p.buff, 48);
NCCL_ABI_AT(EventDescriptor, p2p.datatype, 56);
NCCL_ABI_AT(EventDescriptor, p2p.count, 64);
NCCL_ABI_AT(EventDescriptor, p2p.peer, 72);

/// The exported object `ncclProfiler_v2`; see profiler_common.h for threads.
struct Profiler {
  const char* name;
  Result (*init)(void** context, int* activationMask);
  Result (*startEvent)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};
NCCL_ABI_PROFILER_SLOTS(Profiler);

}  // namespace nccl_abi::profiler_v2
