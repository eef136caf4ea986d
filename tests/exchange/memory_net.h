// A transport in memory with NCCL's manners: nothing blocks, connections take several calls, a send
// is refused until a receive waits for it, at most 32 requests are open. Both sides of a session
// are threads of the test's process. Faults are asked for by device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "verifier/nccl/net.h"

namespace rdmaguard::nccl::test {

/// What goes wrong on a device; counts are of messages received there, from 0; -1: never.
struct Faults {
  bool listenFails = false;
  bool neverConnects = false;
  int stallsAt = -1;    ///< no message arrives from this one on
  int throwsAt = -1;    ///< test fails at this one
  int changesAt = -1;   ///< a byte in its middle is another one
  int shortensAt = -1;  ///< its last byte is missing
  int repeatsAt = -1;   ///< the memory keeps what it had
};

class MemoryNet final : public Net {
 public:
  explicit MemoryNet(std::vector<Device> devices, std::map<int, Faults> faults = {});
  ~MemoryNet() override;

  std::string name() const override { return "Memory"; }
  bool init(std::uint64_t, nccl_abi::Logger, void*) override { return true; }
  int devices() override { return static_cast<int>(devices_.size()); }
  Device device(int index) override { return devices_.at(static_cast<std::size_t>(index)); }
  void* listen(int device, ListenHandle& handle) override;
  void* connect(int device, ListenHandle& handle) override;
  void* accept(void* listenComm) override;
  void* registerHost(void* comm, void* data, std::size_t bytes) override;
  void deregister(void* comm, void* region) override;
  void* isend(void* comm, void* data, std::size_t bytes, int tag, void* region, void*) override;
  void* irecv(void* comm, void* data, std::size_t bytes, int tag, void* region, void*) override;
  std::optional<std::size_t> test(void* request) override;
  void closeSend(void* comm) override { close(comm); }
  void closeRecv(void* comm) override { close(comm); }
  void closeListen(void* comm) override;
  void finalize() override {}

  /// Connections and listeners that were not closed.
  int open() const { return open_; }
  /// Whether a handle came with state in it that only this side may write.
  bool sawForeignState() const { return foreignState_; }

 private:
  struct Comm;
  struct Listener;
  struct Request;
  void close(void* comm);

  std::vector<Device> devices_;
  std::map<int, Faults> faults_;
  std::vector<std::unique_ptr<Comm>> comms_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  int open_ = 0;
  bool foreignState_ = false;
};

}  // namespace rdmaguard::nccl::test
