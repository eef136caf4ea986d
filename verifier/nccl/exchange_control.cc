// See exchange_control.h.
#include "verifier/nccl/exchange_control.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

namespace rdmaguard::nccl {
namespace {

using Json = nlohmann::json;

// A frame: seven letters, the protocol's version, the message's length (4 bytes, low first).
constexpr std::string_view kMagic = "rdmagrd";
constexpr std::size_t kHeader = kMagic.size() + 1 + 4;

int millisecondsLeft(Deadline until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
}

/// False: not by `until`. Interruptions and early wake-ups count as no answer yet.
bool waitFor(int fd, short events, Deadline until) {
  for (;;) {
    pollfd one{fd, events, 0};
    const int n = ::poll(&one, 1, millisecondsLeft(until));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;  // the call on the socket will say what it is
    if (Clock::now() >= until) return false;
  }
}

std::string firstBytes(std::string_view bytes) {
  constexpr std::size_t kMost = 32;
  std::string out = "\"";
  for (const char c : bytes.substr(0, kMost)) {
    if (c == '\r' || c == '\n') break;
    out += c >= 0x20 && c < 0x7f && c != '"' ? c : '?';
  }
  return out + '"';
}

std::string addressText(const sockaddr_storage& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host.data(),
                    host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  const std::string_view text = host.data();
  constexpr std::string_view kMapped = "::ffff:";
  if (text.starts_with(kMapped)) return fmt::format("{}", text.substr(kMapped.size()));
  return std::string(text);
}

void quick(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

std::string secondsText(std::chrono::duration<double> seconds) {
  const double rounded = std::round(std::max(0.0, seconds.count()) * 10) / 10;
  return fmt::format("{:g} s", rounded);
}

std::string textOf(const Json& message, const char* key) {
  const auto at = message.find(key);
  return at != message.end() && at->is_string() ? at->get<std::string>() : std::string();
}

double numberOf(const Json& message, const char* key, double fallback) {
  const auto at = message.find(key);
  return at != message.end() && at->is_number() ? at->get<double>() : fallback;
}

bool flagOf(const Json& message, const char* key) {
  const auto at = message.find(key);
  return at != message.end() && at->is_boolean() && at->get<bool>();
}

Control::Control(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {
  ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
}

void Control::fail(std::string_view what) const {
  throw PeerFailure(fmt::format("The other side ({}) {}.", peer_, what));
}

void Control::send(const Json& message, Deadline until) {
  const std::string text = message.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string frame(kMagic);
  frame += static_cast<char>(kExchangeProtocol);
  for (int shift = 0; shift < 32; shift += 8)
    frame += static_cast<char>(text.size() >> static_cast<unsigned>(shift) & 0xffU);
  frame += text;
  const auto begun = Clock::now();
  for (std::string_view left = frame; !left.empty();) {
    const ssize_t n = ::send(fd_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (n > 0) {
      left.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!waitFor(fd_.get(), POLLOUT, until))
        fail(fmt::format("took no message for {}", secondsText(until - begun)));
    } else if (errno != EINTR) {
      fail(errno == EPIPE || errno == ECONNRESET
               ? "closed the connection"
               : fmt::format("is lost: {}", std::strerror(errno)));
    }
  }
}

bool Control::readSome() {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) {
      in_.append(bytes.data(), static_cast<std::size_t>(n));
      return true;
    }
    if (n == 0 || errno == ECONNRESET) fail("closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    if (errno != EINTR) fail(fmt::format("is lost: {}", std::strerror(errno)));
  }
}

std::optional<Json> Control::take() {
  const std::size_t known = std::min(in_.size(), kMagic.size());
  if (std::string_view(in_).substr(0, known) != kMagic.substr(0, known))
    throw PeerFailure(
        fmt::format("What speaks at {} is not rdmaguard: it sent {}.", peer_, firstBytes(in_)));
  if (in_.size() > kMagic.size()) {
    const auto version = static_cast<unsigned char>(in_[kMagic.size()]);
    if (version != kExchangeProtocol)
      throw OtherProtocol(fmt::format(
          "The other side ({}) is an rdmaguard whose exchange has protocol {}, and this "
          "one has {}: use one release of rdmaguard on both.",
          peer_, version, kExchangeProtocol));
  }
  if (in_.size() < kHeader) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size |= static_cast<std::size_t>(static_cast<unsigned char>(in_[kMagic.size() + 1 + i]))
            << (8 * i);
  if (size > kMostFrameBytes)
    fail(fmt::format("announced a message of {} bytes, more than the {} of this protocol", size,
                     kMostFrameBytes));
  if (in_.size() < kHeader + size) return std::nullopt;
  Json message = Json::parse(std::string_view(in_).substr(kHeader, size), nullptr, false);
  in_.erase(0, kHeader + size);
  if (!message.is_object()) fail("sent what is no message of this protocol");
  return message;
}

std::optional<Json> Control::poll() {
  for (;;) {
    if (!in_.empty())
      if (auto message = take()) return message;
    if (!readSome()) return std::nullopt;
  }
}

Json Control::receive(Deadline until) {
  const auto begun = Clock::now();
  for (;;) {
    if (auto message = poll()) return std::move(*message);
    if (!waitFor(fd_.get(), POLLIN, until))
      fail(fmt::format("did not answer within {}", secondsText(until - begun)));
  }
}

Listener listenAt(int port) {
  Listener out;
  const auto number = static_cast<in_port_t>(port);
  for (const int family : {AF_INET6, AF_INET}) {
    out.fd = Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!out.fd) continue;  // a kernel without IPv6
    const int on = 1, off = 0;
    ::setsockopt(out.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(number);
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(number);
    if (family == AF_INET6) ::setsockopt(out.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const auto* address = family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&six)
                                             : reinterpret_cast<const sockaddr*>(&four);
    const socklen_t length = family == AF_INET6 ? sizeof six : sizeof four;
    if (::bind(out.fd.get(), address, length) != 0 || ::listen(out.fd.get(), 16) != 0) {
      if (family == AF_INET6 && errno == EADDRNOTAVAIL) continue;  // IPv6 is switched off
      throw PeerFailure(
          fmt::format("Port {} cannot be listened at: {}.", port, std::strerror(errno)));
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(out.fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    out.port =
        ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
    return out;
  }
  throw PeerFailure(fmt::format("No TCP socket can be had: {}.", std::strerror(errno)));
}

Control acceptFrom(const Listener& listener, Deadline until) {
  const auto begun = Clock::now();
  for (;;) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Fd fd(::accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
    if (fd) {
      quick(fd.get());
      return {std::move(fd), addressText(from)};
    }
    const bool transient = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (!transient)
      throw PeerFailure(
          fmt::format("Port {} takes no connection: {}.", listener.port, std::strerror(errno)));
    if (!waitFor(listener.fd.get(), POLLIN, until))
      throw PeerFailure(fmt::format("No other side came to port {} within {}.", listener.port,
                                    secondsText(until - begun)));
  }
}

namespace {

/// 0, or the errno of the failure; ETIMEDOUT also where `until` came first.
int tryConnect(const addrinfo& to, Deadline until, Fd& out) {
  out = Fd(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out) return errno;
  if (::connect(out.get(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!waitFor(out.get(), POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(out.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

Control connectTo(const std::string& host, int port, Deadline until) {
  constexpr std::chrono::milliseconds kRest{100};
  const auto begun = Clock::now();
  const std::string where = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int named = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (named != 0)
    throw PeerFailure(
        fmt::format("The name {} does not resolve here: {}.", host, ::gai_strerror(named)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (;;) {
    int error = 0;
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
      Fd fd;
      error = tryConnect(*one, until, fd);
      if (error != 0) continue;
      quick(fd.get());
      return {std::move(fd), where};
    }
    // No route and a refusal may both pass while the other node starts.
    if (Clock::now() + kRest < until) {
      std::this_thread::sleep_for(kRest);
      continue;
    }
    const std::string within = secondsText(until - begun);
    switch (error) {
      case ECONNREFUSED:
        throw PeerFailure(
            fmt::format("Nobody listens at {}: connections were refused for {}.", where, within));
      case ETIMEDOUT:
        throw PeerFailure(
            fmt::format("{} did not answer within {}: no host there, or a firewall "
                        "drops what is sent to the port.",
                        where, within));
      default:
        throw PeerFailure(fmt::format("{} cannot be reached: {}.", where, std::strerror(error)));
    }
  }
}

}  // namespace rdmaguard::nccl
