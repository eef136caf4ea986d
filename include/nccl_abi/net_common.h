// What all versions of NCCL's net interface share; included by net_v6.h to net_v12.h.
// tap/ reads NCCL's own IB and Socket transports through these structs.
//
// Slots of `Net`, in the order of every version (the release that first has each version stands
// in its header). "Init thread" makes a communicator, "service" and "progress" are its two proxy
// threads. The objects of one communicator are used by one thread at a time, a transport's globals
// by many.
//   name            for logs; NCCL_NET is compared with it, without regard to case
//   init            init thread; once a process up to 2.27, once a communicator from 2.28
//   devices         init thread; NICs found. None, or an error, disables the transport
//   getProperties   init thread; also for virtual NICs made by makeVDevice
//   listen          service; fills a handle of at most kNetHandleBytes that the peer connects to
//   connect         service; never blocks: a null comm means "call again with the same handle"
//   accept          service; never blocks, as connect
//   regMr           service; type kPtrHost or kPtrCuda, size in bytes
//   regMrDmaBuf     service; GPU memory by DMA-BUF file descriptor; null: DMA-BUF is not supported
//   deregMr         service
//   isend, irecv    progress; a null request means "could not start, call again"
//   iflush          progress; makes received GPU data visible to the GPU
//   test            progress; done and, per sub-request, bytes
//   closeSend, closeRecv, closeListen    service
//   getDeviceMr, irecvConsumed           v7+; device offload only, null in IB and Socket
//   makeVDevice     v9+; init thread; merges NICs into one. Null in Socket
//   finalize        v11+; undoes one init
//   setNetAttr      v11+; progress; hints about the transfers to come. Null in Socket
// listen, connect, accept and regMr also run on the init thread where NCCL probes GPUDirect by a
// connection of the device to itself (before CUDA 11.3 can simply be asked).
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_abi/types.h"

namespace nccl_abi {

/// Where a connection's data path runs; the same values as `ncclNetDeviceType`.
enum class NetDeviceType : int {
  Host = 0,       ///< the host drives it: what IB and Socket always say
  Unpack = 1,     ///< the device unpacks
  GinProxy = 2,   ///< since 2.28.7
  GinGdaki = 3,   ///< since 2.28.7
  GinGpi = 4,     ///< since 2.30
  GinEfaGda = 5,  ///< since 2.31
};
NCCL_ABI_SIZE(NetDeviceType, 4);

/// Device half of a connection (v7 to v12); the host transports leave it alone.
struct NetDeviceHandle {
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;  ///< bytes at `handle`
  int needsProxyProgress;
};
NCCL_ABI_SIZE(NetDeviceHandle, 32);
NCCL_ABI_AT(NetDeviceHandle, netDeviceType, 0);
NCCL_ABI_AT(NetDeviceHandle, netDeviceVersion, 4);
NCCL_ABI_AT(NetDeviceHandle, handle, 8);
NCCL_ABI_AT(NetDeviceHandle, size, 16);
NCCL_ABI_AT(NetDeviceHandle, needsProxyProgress, 24);

/// What a net tells the profiler through its callback; the same values as NCCL's anonymous enum.
/// NCCL 2.26 takes every value but Start for Stop.
enum class NetEvent : int { Start = 0, Stop = 1, Update = 2, UpdateAndStop = 3 };

/// Callback given to init from v10 on. `parent` comes from isend or irecv and is opaque;
/// `pluginId` is transport kind << 16 | descriptor version. Progress thread.
using NetProfilerCallback = Result (*)(void** eventHandle, int event, void* parent,
                                       std::int64_t pluginId, void* data);

/// A member of a merged NIC list: v9, v10 and v11 merge at most 4, v12 at most 8.
template <int kMaxDevices>
struct NetVDevice {
  int ndevs;
  int devs[kMaxDevices];  ///< device indices
};

/// Settings of one communicator (v10 to v12).
struct NetCommConfig {
  int trafficClass;  ///< transport-defined; kNetTrafficClassUndefined when not set
};
NCCL_ABI_SIZE(NetCommConfig, 4);
inline constexpr int kNetTrafficClassUndefined = -1;

/// Expected use of one direction (v11, v12); kNetAttrUndefined where not known.
struct NetCommAttr {
  std::int32_t maxConcurrentPeers;
  std::int32_t minConcurrentPeers;
  std::int32_t maxFlowsPerPeer;
  std::int32_t minFlowsPerPeer;
};
NCCL_ABI_SIZE(NetCommAttr, 16);
NCCL_ABI_AT(NetCommAttr, maxConcurrentPeers, 0);
NCCL_ABI_AT(NetCommAttr, minConcurrentPeers, 4);
NCCL_ABI_AT(NetCommAttr, maxFlowsPerPeer, 8);
NCCL_ABI_AT(NetCommAttr, minFlowsPerPeer, 12);
inline constexpr std::int32_t kNetAttrUndefined = -1;

/// Expected use of a communicator's connections (v11, v12).
struct NetAttr {
  NetCommAttr sendCommAttr;
  NetCommAttr recvCommAttr;
  std::uint32_t op;
  std::uint32_t algo;
  std::uint32_t proto;
};
NCCL_ABI_SIZE(NetAttr, 44);
NCCL_ABI_AT(NetAttr, sendCommAttr, 0);
NCCL_ABI_AT(NetAttr, recvCommAttr, 16);
NCCL_ABI_AT(NetAttr, op, 32);
NCCL_ABI_AT(NetAttr, algo, 36);
NCCL_ABI_AT(NetAttr, proto, 40);

/// One piece of a collNet gather or scatter (v9 to v12).
struct NetSge {
  void* mhandle;
  void* address;
  std::size_t size;  ///< bytes
};
NCCL_ABI_SIZE(NetSge, 24);
NCCL_ABI_AT(NetSge, mhandle, 0);
NCCL_ABI_AT(NetSge, address, 8);
NCCL_ABI_AT(NetSge, size, 16);

}  // namespace nccl_abi

/// Holds the slots that every version from v6 on has in the same place.
#define NCCL_ABI_NET_SLOTS(struct_)        \
  NCCL_ABI_AT(struct_, name, 0);           \
  NCCL_ABI_AT(struct_, init, 8);           \
  NCCL_ABI_AT(struct_, devices, 16);       \
  NCCL_ABI_AT(struct_, getProperties, 24); \
  NCCL_ABI_AT(struct_, listen, 32);        \
  NCCL_ABI_AT(struct_, connect, 40);       \
  NCCL_ABI_AT(struct_, accept, 48);        \
  NCCL_ABI_AT(struct_, regMr, 56);         \
  NCCL_ABI_AT(struct_, regMrDmaBuf, 64);   \
  NCCL_ABI_AT(struct_, deregMr, 72);       \
  NCCL_ABI_AT(struct_, isend, 80);         \
  NCCL_ABI_AT(struct_, irecv, 88);         \
  NCCL_ABI_AT(struct_, iflush, 96);        \
  NCCL_ABI_AT(struct_, test, 104);         \
  NCCL_ABI_AT(struct_, closeSend, 112);    \
  NCCL_ABI_AT(struct_, closeRecv, 120);    \
  NCCL_ABI_AT(struct_, closeListen, 128)

/// Holds the slots of a CollNet up to the first one whose place depends on the version.
#define NCCL_ABI_COLLNET_SLOTS(struct_)    \
  NCCL_ABI_AT(struct_, name, 0);           \
  NCCL_ABI_AT(struct_, init, 8);           \
  NCCL_ABI_AT(struct_, devices, 16);       \
  NCCL_ABI_AT(struct_, getProperties, 24); \
  NCCL_ABI_AT(struct_, listen, 32);        \
  NCCL_ABI_AT(struct_, connect, 40);       \
  NCCL_ABI_AT(struct_, reduceSupport, 48); \
  NCCL_ABI_AT(struct_, regMr, 56);         \
  NCCL_ABI_AT(struct_, regMrDmaBuf, 64);   \
  NCCL_ABI_AT(struct_, deregMr, 72);       \
  NCCL_ABI_AT(struct_, iallreduce, 80)
