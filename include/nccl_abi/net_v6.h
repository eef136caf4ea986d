// NCCL's net interface v6: first in NCCL 2.13.4, symbols ncclNetPlugin_v6 and ncclCollNetPlugin_v6.
// An older plugin's interface that 2.19 to 2.32 still load. Against the version before: adds
// regMrDmaBuf to v5.
#pragma once

#include "nccl_abi/net_common.h"

namespace nccl_abi::net_v6 {

/// What a transport says of one device.
struct Properties {
  char* name;          ///< device name, as in logs
  char* pciPath;       ///< its PCI device in /sys
  std::uint64_t guid;  ///< of the NIC chip: equal for the functions of one card
  int ptrSupport;      ///< kPtr bits: memory it can send from and receive into
  int speed;           ///< Mbit/s
  int port;            ///< 1-based port number
  float latency;       ///< us, 0 when unknown
  int maxComms;        ///< comms it can hold
  int maxRecvs;        ///< receives one irecv may group
};
NCCL_ABI_SIZE(Properties, 48);
NCCL_ABI_AT(Properties, name, 0);
NCCL_ABI_AT(Properties, pciPath, 8);
NCCL_ABI_AT(Properties, guid, 16);
NCCL_ABI_AT(Properties, ptrSupport, 24);
NCCL_ABI_AT(Properties, speed, 28);
NCCL_ABI_AT(Properties, port, 32);
NCCL_ABI_AT(Properties, latency, 36);
NCCL_ABI_AT(Properties, maxComms, 40);
NCCL_ABI_AT(Properties, maxRecvs, 44);

/// A network transport; see net_common.h for each slot's meaning and thread.
struct Net {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties* properties);
  Result (*listen)(int device, void* handle, void** listenComm);
  Result (*connect)(int device, void* handle, void** sendComm);
  Result (*accept)(void* listenComm, void** recvComm);
  Result (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset,
                        int fd, void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  Result (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle, void** request);
  Result (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles,
                  void** request);
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
};
NCCL_ABI_SIZE(Net, 136);
NCCL_ABI_NET_SLOTS(Net);

/// An in-network collective offload (SHARP and the like), found in the same library as Net.
/// rdmaguard never makes or wraps one; stated so that a library's exports can be told apart.
struct CollNet {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties* properties);
  Result (*listen)(int device, void* handle, void** listenComm);
  Result (*connect)(void* handles[], int nRanks, int rank, void* listenComm, void** collComm);
  Result (*reduceSupport)(DataType type, RedOp op, int* supported);
  Result (*regMr)(void* collComm, void* data, int size, int type, void** mhandle);
  Result (*regMrDmaBuf)(void* collComm, void* data, std::size_t size, int type,
                        std::uint64_t offset, int fd, void** mhandle);
  Result (*deregMr)(void* collComm, void* mhandle);
  Result (*iallreduce)(void* collComm, void* sendData, void* recvData, int count, DataType type,
                       RedOp op, void* sendMhandle, void* recvMhandle, void** request);
  Result (*iflush)(void* collComm, void* data, int size, void* mhandle, void** request);
  Result (*test)(void* request, int* done, int* size);
  Result (*closeColl)(void* collComm);
  Result (*closeListen)(void* listenComm);
};
NCCL_ABI_SIZE(CollNet, 120);
NCCL_ABI_COLLNET_SLOTS(CollNet);
NCCL_ABI_AT(CollNet, iflush, 88);
NCCL_ABI_AT(CollNet, test, 96);
NCCL_ABI_AT(CollNet, closeColl, 104);
NCCL_ABI_AT(CollNet, closeListen, 112);

}  // namespace nccl_abi::net_v6
