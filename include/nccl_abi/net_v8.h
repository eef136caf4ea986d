// NCCL's net interface v8: first in NCCL 2.20.3, symbols ncclNetPlugin_v8 and ncclCollNetPlugin_v8.
// The own IB and Socket transports of NCCL 2.20 to 2.23 are structs of this type. Against the
// version before: regMr takes a 64-bit size; properties gain regIsGlobal; collNet gains gather and
// scatter.
#pragma once

#include "nccl_abi/net_common.h"

namespace nccl_abi::net_v8 {

using DeviceHandle = NetDeviceHandle;

/// One piece of a collNet gather or scatter; v9 widens `size`.
struct Sge {
  void* mhandle;
  void* address;
  std::uint32_t size;  ///< bytes
};
NCCL_ABI_SIZE(Sge, 24);
NCCL_ABI_AT(Sge, mhandle, 0);
NCCL_ABI_AT(Sge, address, 8);
NCCL_ABI_AT(Sge, size, 16);

/// What a transport says of one device.
struct Properties {
  char* name;          ///< device name, as in logs
  char* pciPath;       ///< its PCI device in /sys
  std::uint64_t guid;  ///< of the NIC chip: equal for the functions of one card
  int ptrSupport;      ///< kPtr bits: memory it can send from and receive into
  int regIsGlobal;     ///< 1: a registration holds for every comm of the device
  int speed;           ///< Mbit/s
  int port;            ///< 1-based port number
  float latency;       ///< us, 0 when unknown
  int maxComms;        ///< comms it can hold
  int maxRecvs;        ///< receives one irecv may group
  NetDeviceType netDeviceType;
  int netDeviceVersion;
};
NCCL_ABI_SIZE(Properties, 64);
NCCL_ABI_AT(Properties, name, 0);
NCCL_ABI_AT(Properties, pciPath, 8);
NCCL_ABI_AT(Properties, guid, 16);
NCCL_ABI_AT(Properties, ptrSupport, 24);
NCCL_ABI_AT(Properties, regIsGlobal, 28);
NCCL_ABI_AT(Properties, speed, 32);
NCCL_ABI_AT(Properties, port, 36);
NCCL_ABI_AT(Properties, latency, 40);
NCCL_ABI_AT(Properties, maxComms, 44);
NCCL_ABI_AT(Properties, maxRecvs, 48);
NCCL_ABI_AT(Properties, netDeviceType, 52);
NCCL_ABI_AT(Properties, netDeviceVersion, 56);

/// A network transport; see net_common.h for each slot's meaning and thread.
struct Net {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties* properties);
  Result (*listen)(int device, void* handle, void** listenComm);
  Result (*connect)(int device, void* handle, void** sendComm, DeviceHandle** deviceHandle);
  Result (*accept)(void* listenComm, void** recvComm, DeviceHandle** deviceHandle);
  Result (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
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
  Result (*getDeviceMr)(void* comm, void* mhandle, void** deviceMhandle);
  Result (*irecvConsumed)(void* recvComm, int n, void* request);
};
NCCL_ABI_SIZE(Net, 152);
NCCL_ABI_NET_SLOTS(Net);
NCCL_ABI_AT(Net, getDeviceMr, 136);
NCCL_ABI_AT(Net, irecvConsumed, 144);

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
  Result (*regMr)(void* collComm, void* data, std::size_t size, int type, void** mhandle);
  Result (*regMrDmaBuf)(void* collComm, void* data, std::size_t size, int type,
                        std::uint64_t offset, int fd, void** mhandle);
  Result (*deregMr)(void* collComm, void* mhandle);
  Result (*iallreduce)(void* collComm, void* sendData, void* recvData, int count, DataType type,
                       RedOp op, void* sendMhandle, void* recvMhandle, void** request);
  Result (*iallgather)(void* collComm, void* sendData, int nRecvParts, Sge* recvParts,
                       std::size_t bytesPerRank, std::size_t windowOffset, std::size_t windowBytes,
                       void* sendMhandle, void** request);
  Result (*ireducescatter)(void* collComm, int nSendParts, Sge* sendParts, void* recvData,
                           std::size_t bytesPerRank, std::size_t windowOffset,
                           std::size_t windowBytes, DataType type, RedOp op, void* recvMhandle,
                           void** request);
  Result (*iflush)(void* collComm, void* data, int size, void* mhandle, void** request);
  Result (*test)(void* request, int* done, int* size);
  Result (*closeColl)(void* collComm);
  Result (*closeListen)(void* listenComm);
};
NCCL_ABI_SIZE(CollNet, 136);
NCCL_ABI_COLLNET_SLOTS(CollNet);
NCCL_ABI_AT(CollNet, iallgather, 88);
NCCL_ABI_AT(CollNet, ireducescatter, 96);
NCCL_ABI_AT(CollNet, iflush, 104);
NCCL_ABI_AT(CollNet, test, 112);
NCCL_ABI_AT(CollNet, closeColl, 120);
NCCL_ABI_AT(CollNet, closeListen, 128);

}  // namespace nccl_abi::net_v8
