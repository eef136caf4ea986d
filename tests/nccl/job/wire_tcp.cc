// Wires over plain TCP, standing in for NCCL's Socket transport: see wire.h.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>

#include "wire.h"

namespace rdmaguard::job {
namespace {

struct Transfer {
  char* data = nullptr;
  std::size_t bytes = 0;
  std::size_t moved = 0;
};

// Transfers of one direction, completed in the order they were posted.
class Stream {
 public:
  void open(int fd) {
    fd_ = fd;
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  int fd() const { return fd_; }

  void* post(void* data, std::size_t bytes) {
    queue_.push_back(new Transfer{static_cast<char*>(data), bytes, 0});
    return queue_.back();
  }

  template <typename Move>
  void progress(Move move) {
    while (!queue_.empty()) {
      Transfer& t = *queue_.front();
      const ssize_t n = t.bytes == 0 ? 0 : move(fd_, t.data + t.moved, t.bytes - t.moved);
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n < 0 || (n == 0 && t.bytes > 0)) throw PeerLost("the TCP connection is gone");
      t.moved += static_cast<std::size_t>(n);
      if (t.moved < t.bytes) return;
      queue_.pop_front();
    }
  }

 private:
  int fd_ = -1;
  std::deque<Transfer*> queue_;  // owned by whoever posted, freed by test
};

class TcpWire final : public Wire {
 public:
  TcpWire() : listen_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    if (::bind(listen_, reinterpret_cast<sockaddr*>(&any), size) != 0 ||
        ::listen(listen_, 1) != 0 ||
        ::getsockname(listen_, reinterpret_cast<sockaddr*>(&any), &size) != 0) {
      throw std::runtime_error(std::string("TCP on the loopback interface: ") +
                               std::strerror(errno));
    }
    port_ = any.sin_port;
  }

  in_port_t port() const { return port_; }

  void connect(in_port_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = port;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      throw PeerLost("the next rank takes no TCP connection");
    }
    send_.open(fd);
  }
  void accept() {
    const int fd = ::accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) throw PeerLost("the previous rank made no TCP connection");
    receive_.open(fd);
  }

  void* send(void* data, std::size_t bytes, int) override { return send_.post(data, bytes); }
  void* receive(void* data, std::size_t bytes, int) override { return receive_.post(data, bytes); }

  std::optional<std::size_t> test(void* request) override {
    send_.progress([](int fd, void* p, std::size_t n) { return ::send(fd, p, n, MSG_NOSIGNAL); });
    receive_.progress([](int fd, void* p, std::size_t n) { return ::recv(fd, p, n, 0); });
    auto* transfer = static_cast<Transfer*>(request);
    if (transfer->moved < transfer->bytes) return std::nullopt;
    const std::size_t bytes = transfer->bytes;
    delete transfer;
    return bytes;
  }

  void close() override {
    for (const int fd : {listen_, send_.fd(), receive_.fd()}) ::close(fd);
  }

 private:
  int listen_;
  in_port_t port_ = 0;
  Stream send_;
  Stream receive_;
};

}  // namespace

std::vector<std::unique_ptr<Wire>> connectOverTcp(int channels, int rank, Rendezvous& ranks) {
  std::vector<std::unique_ptr<TcpWire>> wires;
  std::string ports;
  for (int c = 0; c < channels; ++c) {
    wires.push_back(std::make_unique<TcpWire>());
    const in_port_t port = wires.back()->port();
    ports.append(reinterpret_cast<const char*>(&port), sizeof port);
  }
  const std::vector<std::string> all = ranks.allGather(ports);
  const std::string& next = all[(static_cast<std::size_t>(rank) + 1) % all.size()];
  std::vector<std::unique_ptr<Wire>> out;
  for (std::size_t c = 0; c < wires.size(); ++c) {
    in_port_t port = 0;
    std::memcpy(&port, next.data() + c * sizeof port, sizeof port);
    wires[c]->connect(port);
  }
  for (auto& wire : wires) {
    wire->accept();
    out.push_back(std::move(wire));
  }
  return out;
}

}  // namespace rdmaguard::job
