// One HCA of an exchange: a connection each way over NCCL's transport, the memory for it, and the
// rounds of messages that are sent, received, compared and timed. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verifier/nccl/exchange_control.h"
#include "verifier/nccl/net.h"

namespace rdmaguard::nccl {

/// Pages of this process's own, so that no page is registered with a device for two purposes.
class PageMemory {
 public:
  explicit PageMemory(std::size_t bytes);
  ~PageMemory();
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// A device may still write there: never given back.
  void keepForEver() { data_ = nullptr; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What was moved and seen on one HCA by this side.
struct Traffic {
  std::uint64_t sentMessages = 0, sentBytes = 0;
  std::uint64_t receivedMessages = 0, receivedBytes = 0;
  std::string wrong;  ///< the first wrong message; empty: every one was right
};

struct Round {
  std::uint64_t number = 0;  ///< makes its bytes its own
  std::uint64_t count = 0;   ///< messages each way
  bool sends = false;
  bool receives = false;
  bool whole = false;  ///< sizes vary and every byte of every message is compared
};

class Link {
 public:
  /// Called while nothing moves; throws to give up.
  using Idle = std::function<void()>;

  /// `index`: of the pair, both sides' number for this HCA. `connecting`: which side this is.
  Link(Net& net, int device, std::uint64_t index, bool connecting, std::size_t messageBytes,
       std::chrono::milliseconds timeout);
  /// Closes nothing: a link that close() did not end may be in use by the device, and keeps its
  /// memory and its connections until the process ends.
  ~Link();

  /// For the other side's connect().
  ListenHandle listen();
  /// Both connections. Throws std::runtime_error where they do not come up in time.
  void connect(const ListenHandle& theirs, const Idle& idle);
  void registerMemory();

  /// Lays out the memory of a round. Both sides do before either begins it.
  void prepareRound(const Round& round);
  /// Runs one round to its end; returns the seconds that it took.
  double stream(const Round& round, const Idle& idle);
  /// Messages of eight bytes there and back. The connecting side gets half of each round trip, in
  /// microseconds.
  std::vector<double> pingPong(const Round& round, const Idle& idle);

  const Traffic& traffic() const { return traffic_; }
  /// Only when no request is open on either side.
  void close();

 private:
  struct Lane;
  std::size_t sizeOf(const Round& round, std::uint64_t message) const;
  bool progressSend(const Round& round);
  bool progressReceive(const Round& round);
  void prepare(const Round& round, std::uint64_t message);
  void compare(const Round& round, std::uint64_t message, std::size_t got);
  void compareBodies(const Round& round);
  void wrong(const Round& round, std::uint64_t message, const std::string& what);
  std::uint64_t seed(bool mine, const Round& round, std::uint64_t message) const;

  Net& net_;
  int device_;
  std::uint64_t index_;
  bool connecting_;
  std::size_t messageBytes_;
  std::chrono::milliseconds timeout_;
  ListenHandle mine_{};
  ListenHandle theirs_{};  // connect keeps its state in it
  void* listen_ = nullptr;
  std::unique_ptr<Lane> send_, receive_;
  Traffic traffic_;
  bool closed_ = false;
};

/// The address in a handle of NCCL's IB transport that its own handshake goes to, for sentences:
/// "192.0.2.1:40123"; empty where it is none that this knows. It leads the handle in NCCL 2.19 to
/// 2.30 (union ncclSocketAddress in struct ncclIbHandle).
std::string handshakeAddress(const ListenHandle& handle);

}  // namespace rdmaguard::nccl
