// What a ring's channel runs on: one connection to the next rank, one from the previous.
// Two kinds: NCCL's own transport, and a plain TCP stand-in for NCCL's Socket transport, whose
// connect and accept ask CUDA for the current device and fail where there is no driver.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "net.h"
#include "rendezvous.h"

namespace rdmaguard::job {

/// Memory that transfers may touch.
struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;

  // Progress thread. Null: cannot be taken now, call again.
  virtual void* send(void* data, std::size_t bytes, int tag) = 0;
  virtual void* receive(void* data, std::size_t bytes, int tag) = 0;
  virtual std::optional<std::size_t> test(void* request) = 0;

  /// Service thread, after the last transfer.
  virtual void close() = 0;
};

/// One wire per channel over `net`, channel c on device c modulo their number; listens, exchanges
/// handles, connects, accepts and registers `buffers`. Throws PeerLost after `timeoutSeconds`.
std::vector<std::unique_ptr<Wire>> connectOverNet(Net& net, int devices, int channels, int rank,
                                                  Rendezvous& ranks,
                                                  const std::vector<Buffer>& buffers,
                                                  int timeoutSeconds);

/// The same over TCP on the loopback interface: a stand-in, see above.
std::vector<std::unique_ptr<Wire>> connectOverTcp(int channels, int rank, Rendezvous& ranks);

}  // namespace rdmaguard::job
