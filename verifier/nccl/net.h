// One of NCCL's own transports, the same for every version of the net interface (v7 to v12).
// The caller keeps NCCL's thread rules (nccl_abi/net_common.h). A failure of the transport throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl_abi/types.h"

namespace rdmaguard::nccl {

struct Device {
  std::string name;
  std::string pciPath;
  int port = 0;
  int speedMbps = 0;
  int ptrSupport = 0;  ///< kPtr bits
};

/// What a listener gives its peer; connect keeps its own state in it between calls.
using ListenHandle = std::array<char, nccl_abi::kNetHandleBytes>;

class Net {
 public:
  virtual ~Net() = default;

  virtual std::string name() const = 0;
  /// False when the transport says it cannot be used.
  virtual bool init(std::uint64_t commId, nccl_abi::Logger logger, void* profilerCallback) = 0;
  virtual int devices() = 0;
  virtual Device device(int index) = 0;
  virtual void* listen(int device, ListenHandle& handle) = 0;
  /// Null: not yet, call again with the same handle object.
  virtual void* connect(int device, ListenHandle& handle) = 0;
  virtual void* accept(void* listenComm) = 0;
  virtual void* registerHost(void* comm, void* data, std::size_t bytes) = 0;
  virtual void deregister(void* comm, void* region) = 0;
  /// Null: the transport cannot take it now, call again.
  virtual void* isend(void* comm, void* data, std::size_t bytes, int tag, void* region,
                      void* profilerHandle) = 0;
  virtual void* irecv(void* comm, void* data, std::size_t bytes, int tag, void* region,
                      void* profilerHandle) = 0;
  /// Bytes moved once the request is complete.
  virtual std::optional<std::size_t> test(void* request) = 0;
  virtual void closeSend(void* comm) = 0;
  virtual void closeRecv(void* comm) = 0;
  virtual void closeListen(void* comm) = 0;
  /// Undoes one init; does nothing before v11, which has no such call.
  virtual void finalize() = 0;
};

/// The transport whose struct of interface version `version` lies at `object`.
std::unique_ptr<Net> netAt(void* object, int version);

}  // namespace rdmaguard::nccl
