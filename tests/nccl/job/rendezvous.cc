// See rendezvous.h.
#include "rendezvous.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

namespace rdmaguard::job {
namespace {

void sendAll(int fd, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::send(fd, from, bytes, MSG_NOSIGNAL);
    if (n <= 0) throw PeerLost("another rank has gone");
    from += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void receiveAll(int fd, void* data, std::size_t bytes) {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::recv(fd, to, bytes, 0);
    if (n <= 0) throw PeerLost(n == 0 ? "another rank has gone" : "another rank does not answer");
    to += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void sendText(int fd, const std::string& text) {
  const std::uint64_t size = text.size();
  sendAll(fd, &size, sizeof size);
  sendAll(fd, text.data(), text.size());
}

std::string receiveText(int fd) {
  std::uint64_t size = 0;
  receiveAll(fd, &size, sizeof size);
  std::string text(size, '\0');
  receiveAll(fd, text.data(), size);
  return text;
}

void setTimeout(int fd, int seconds) {
  const timeval limit{seconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace

Rendezvous::Rendezvous(const std::string& path, int rank, int ranks, int timeoutSeconds)
    : rank_(rank), ranks_(ranks) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + ": too long");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("no socket for the rendezvous");
  setTimeout(fd, timeoutSeconds);
  if (rank == 0) {
    peers_.assign(static_cast<std::size_t>(ranks), -1);
    if (::bind(fd, where, sizeof address) != 0 || ::listen(fd, ranks) != 0) {
      throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    for (int i = 1; i < ranks; ++i) {
      const int peer = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) throw PeerLost("a rank did not come to the rendezvous");
      setTimeout(peer, timeoutSeconds);
      int from = 0;
      receiveAll(peer, &from, sizeof from);
      peers_.at(static_cast<std::size_t>(from)) = peer;
    }
    ::close(fd);
    return;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(timeoutSeconds);
  while (::connect(fd, where, sizeof address) != 0) {
    if (std::chrono::steady_clock::now() > until) {
      throw PeerLost("rank 0 did not come to the rendezvous");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  peers_ = {fd};
  sendAll(fd, &rank, sizeof rank);
}

Rendezvous::~Rendezvous() {
  for (const int fd : peers_) {
    if (fd >= 0) ::close(fd);
  }
}

std::vector<std::string> Rendezvous::allGather(const std::string& mine) {
  std::vector<std::string> all(static_cast<std::size_t>(ranks_));
  if (rank_ != 0) {
    sendText(peers_[0], mine);
    for (std::string& text : all) text = receiveText(peers_[0]);
    return all;
  }
  all[0] = mine;
  for (std::size_t i = 1; i < all.size(); ++i) all[i] = receiveText(peers_[i]);
  for (std::size_t i = 1; i < all.size(); ++i) {
    for (const std::string& text : all) sendText(peers_[i], text);
  }
  return all;
}

}  // namespace rdmaguard::job
