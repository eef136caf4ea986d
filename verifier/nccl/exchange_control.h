// The control connection of two preflights that exchange messages: one TCP connection that carries
// small JSON messages in frames. Every read and write has a deadline and a size; whatever is at
// the other end costs no more than that. Its users are exchange.cc and exchange_session.cc.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rdmaguard::nccl {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Port of `--listen` where none is named: unassigned at IANA, next to the perftest tools' 18515,
/// below the range that Linux hands out by itself.
inline constexpr int kExchangePort = 18520;

/// Version of the protocol: what the frames look like and which messages follow which.
inline constexpr unsigned char kExchangeProtocol = 1;

/// The longest message; that of a node with 64 HCAs takes a tenth of it.
inline constexpr std::size_t kMostFrameBytes = std::size_t{64} << 10;

/// The other side is absent, silent, gone or no rdmaguard: nothing more can come of the
/// connection. what() is a whole sentence.
struct PeerFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The other side is an rdmaguard of another protocol.
struct OtherProtocol : PeerFailure {
  using PeerFailure::PeerFailure;
};

/// A file descriptor and its owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

class Control {
 public:
  /// Takes over a connected stream socket. `peer` names the other end in sentences.
  Control(Fd fd, std::string peer);

  /// Throws PeerFailure, also where the other side does not take it by `until`.
  void send(const nlohmann::json& message, Deadline until);
  /// The next message, an object. Throws PeerFailure, also where none is there by `until`.
  nlohmann::json receive(Deadline until);
  /// The next message if it is there already. Throws PeerFailure where the connection is over.
  std::optional<nlohmann::json> poll();

  const std::string& peer() const { return peer_; }

 private:
  bool readSome();  ///< false: nothing there now
  std::optional<nlohmann::json> take();
  [[noreturn]] void fail(std::string_view what) const;

  Fd fd_;
  std::string peer_;
  std::string in_;
};

struct Listener {
  Fd fd;
  int port = 0;
};

/// Listens at `port` of all addresses, 0 for any free port. Throws PeerFailure.
Listener listenAt(int port);

/// The next connection. Throws PeerFailure where none comes by `until`.
Control acceptFrom(const Listener& listener, Deadline until);

/// Connects to a name or an address. A refusal is tried again until `until`, as the other side may
/// start later. Throws PeerFailure.
Control connectTo(const std::string& host, int port, Deadline until);

/// Seconds from now to `until`, for sentences: "3 s", "0.5 s".
std::string secondsText(std::chrono::duration<double> seconds);

/// Fields of a message that the other side wrote: the value of that type, else the fallback.
std::string textOf(const nlohmann::json& message, const char* key);
double numberOf(const nlohmann::json& message, const char* key, double fallback = 0);
bool flagOf(const nlohmann::json& message, const char* key);

}  // namespace rdmaguard::nccl
