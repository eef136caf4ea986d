// NCCL's net interface v9: first in NCCL 2.24.3, symbols ncclNetPlugin_v9 and ncclCollNetPlugin_v9.
// The own IB and Socket transports of NCCL 2.24 and 2.25 are structs of this type. Against the
// version before: isend and irecv take 64-bit sizes; makeVDevice; properties gain flush, merge and
// size limits.
#pragma once

#include "nccl_abi/net_common.h"

namespace nccl_abi::net_v9 {

using DeviceHandle = NetDeviceHandle;
using VDevice = NetVDevice<4>;
using Sge = NetSge;
NCCL_ABI_SIZE(VDevice, 20);
NCCL_ABI_AT(VDevice, ndevs, 0);
NCCL_ABI_AT(VDevice, devs, 4);

/// What a transport says of one device.
struct Properties {
  char* name;          ///< device name, as in logs
  char* pciPath;       ///< its PCI device in /sys
  std::uint64_t guid;  ///< of the NIC chip: equal for the functions of one card
  int ptrSupport;      ///< kPtr bits: memory it can send from and receive into
  int regIsGlobal;     ///< 1: a registration holds for every comm of the device
  int forceFlush;      ///< 1: flush after every receive into GPU memory
  int speed;           ///< Mbit/s
  int port;            ///< 1-based port number
  float latency;       ///< us, 0 when unknown
  int maxComms;        ///< comms it can hold
  int maxRecvs;        ///< receives one irecv may group
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  VDevice vProps;            ///< the NICs behind this device; one entry when it is not merged
  std::size_t maxP2pBytes;   ///< bytes one send may carry
  std::size_t maxCollBytes;  ///< bytes one collective operation may carry
};
NCCL_ABI_SIZE(Properties, 104);
NCCL_ABI_AT(Properties, name, 0);
NCCL_ABI_AT(Properties, pciPath, 8);
NCCL_ABI_AT(Properties, guid, 16);
NCCL_ABI_AT(Properties, ptrSupport, 24);
NCCL_ABI_AT(Properties, regIsGlobal, 28);
NCCL_ABI_AT(Properties, forceFlush, 32);
NCCL_ABI_AT(Properties, speed, 36);
NCCL_ABI_AT(Properties, port, 40);
NCCL_ABI_AT(Properties, latency, 44);
NCCL_ABI_AT(Properties, maxComms, 48);
NCCL_ABI_AT(Properties, maxRecvs, 52);
NCCL_ABI_AT(Properties, netDeviceType, 56);
NCCL_ABI_AT(Properties, netDeviceVersion, 60);
NCCL_ABI_AT(Properties, vProps, 64);
NCCL_ABI_AT(Properties, maxP2pBytes, 88);
NCCL_ABI_AT(Properties, maxCollBytes, 96);

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
  Result (*isend)(void* sendComm, void* data, std::size_t size, int tag, void* mhandle,
                  void** request);
  Result (*irecv)(void* recvComm, int n, void** data, std::size_t* sizes, int* tags,
                  void** mhandles, void** request);
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
  Result (*getDeviceMr)(void* comm, void* mhandle, void** deviceMhandle);
  Result (*irecvConsumed)(void* recvComm, int n, void* request);
  Result (*makeVDevice)(int* device, VDevice* members);
};
NCCL_ABI_SIZE(Net, 160);
NCCL_ABI_NET_SLOTS(Net);
NCCL_ABI_AT(Net, getDeviceMr, 136);
NCCL_ABI_AT(Net, irecvConsumed, 144);
NCCL_ABI_AT(Net, makeVDevice, 152);

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
  Result (*iallreduce)(void* collComm, void* sendData, void* recvData, std::size_t count,
                       DataType type, RedOp op, void* sendMhandle, void* recvMhandle,
                       void** request);
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
  Result (*makeVDevice)(int* device, VDevice* members);
};
NCCL_ABI_SIZE(CollNet, 144);
NCCL_ABI_COLLNET_SLOTS(CollNet);
NCCL_ABI_AT(CollNet, iallgather, 88);
NCCL_ABI_AT(CollNet, ireducescatter, 96);
NCCL_ABI_AT(CollNet, iflush, 104);
NCCL_ABI_AT(CollNet, test, 112);
NCCL_ABI_AT(CollNet, closeColl, 120);
NCCL_ABI_AT(CollNet, closeListen, 128);
NCCL_ABI_AT(CollNet, makeVDevice, 136);

}  // namespace nccl_abi::net_v9
