// NCCL's profiler interface v1: first in NCCL 2.23.4, symbol ncclProfiler_v1.
// For plugin/entry's adapters; operations and element types are numbers, there is no KernelCh.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi::profiler_v1 {

using EventStateArgs = EventStateArgsV1;

/// One collective of one communicator.
struct Coll {
  const char* name;  ///< communicator name; always null in the releases that have v1 to v3
  std::uint64_t commHash;
  std::uint64_t seqNumber;  ///< per function and communicator
  std::uint8_t func;        ///< a Func
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;  ///< elements; AllGather and Broadcast are counted in bytes as Int8
  int root;
  std::uint8_t datatype;  ///< a DataType
  std::uint32_t op;
  std::size_t trafficBytes;  ///< bytes on the wire as NCCL's tuning model sees them
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  std::uint8_t algo;
  std::uint8_t proto;
  int isCollnet;
  int isNvls;
};

/// One send or receive.
struct P2p {
  const char* name;
  std::uint64_t commHash;
  std::uint8_t func;  ///< a Func
  void* buff;
  std::uint8_t datatype;  ///< a DataType
  std::size_t count;      ///< elements
  int peer;               ///< rank
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
NCCL_ABI_AT(EventDescriptor, coll.datatype, 84);
NCCL_ABI_AT(EventDescriptor, coll.op, 88);
NCCL_ABI_AT(EventDescriptor, coll.trafficBytes, 96);
NCCL_ABI_AT(EventDescriptor, coll.nMaxChannels, 104);
NCCL_ABI_AT(EventDescriptor, coll.nWarps, 105);
NCCL_ABI_AT(EventDescriptor, coll.algo, 106);
NCCL_ABI_AT(EventDescriptor, coll.proto, 107);
NCCL_ABI_AT(EventDescriptor, coll.isCollnet, 108);
NCCL_ABI_AT(EventDescriptor, coll.isNvls, 112);
NCCL_ABI_AT(EventDescriptor, p2p.name, 24);
NCCL_ABI_AT(EventDescriptor, p2p.commHash, 32);
NCCL_ABI_AT(EventDescriptor, p2p.func, 40);
NCCL_ABI_AT(EventDescriptor, p2p.buff, 48);
NCCL_ABI_AT(EventDescriptor, p2p.datatype, 56);
NCCL_ABI_AT(EventDescriptor, p2p.count, 64);
NCCL_ABI_AT(EventDescriptor, p2p.peer, 72);

/// The exported object `ncclProfiler_v1`; see profiler_common.h for threads.
struct Profiler {
  const char* name;
  Result (*init)(void** context, int* activationMask);
  Result (*startEvent)(void* context, void** handle, EventDescriptor* descriptor);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, EventState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};
NCCL_ABI_PROFILER_SLOTS(Profiler);

}  // namespace nccl_abi::profiler_v1
