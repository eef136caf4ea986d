// The control connection against whatever may be at the other end of a TCP port.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "verifier/nccl/exchange_control.h"
#include "verifier/nccl/exchange_meeting.h"

namespace rdmaguard::nccl {
namespace {

using std::chrono::milliseconds;

Deadline in(int ms) {
  return Clock::now() + milliseconds(ms);
}

Fd dial(int port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<in_port_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

void put(int fd, const std::string& bytes) {
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string header(std::uint32_t size, char protocol = kExchangeProtocol) {
  std::string bytes = "rdmagrd";
  bytes += protocol;
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(size >> shift & 0xffU);
  return bytes;
}

std::string frame(const std::string& text) {
  return header(static_cast<std::uint32_t>(text.size())) + text;
}

/// What receive says of a peer that does `play`; empty: it got a message.
std::string heardOf(const std::function<void(int)>& play, int limitMs = 500) {
  const Listener listener = listenAt(0);
  std::thread peer([&] {
    const Fd fd = dial(listener.port);
    play(fd.get());
  });
  std::string said;
  const auto begun = Clock::now();
  try {
    acceptFrom(listener, in(2000)).receive(in(limitMs));
  } catch (const PeerFailure& e) {
    said = e.what();
  }
  EXPECT_LT(Clock::now() - begun, milliseconds(limitMs + 1000));
  peer.join();
  return said;
}

void untilClosed(int fd) {
  char byte = 0;
  while (::recv(fd, &byte, 1, 0) > 0) {
  }
}

TEST(Control, ASilentPeerIsGivenUpAtTheLimit) {
  EXPECT_EQ(heardOf(untilClosed), "The other side (127.0.0.1) did not answer within 0.5 s.");
}

TEST(Control, APeerThatSendsByteAfterByteIsGivenUpAtTheLimitToo) {
  const std::string said = heardOf([](int fd) {
    const std::string bytes =
        frame("{\"is\":\"hello\",\"padding\":\"" + std::string(200, 'x') + "\"}");
    for (const char c : bytes) {
      if (::send(fd, &c, 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_EQ(said, "The other side (127.0.0.1) did not answer within 0.5 s.");
}

TEST(Control, APeerThatClosesIsSaidToHaveClosed) {
  EXPECT_EQ(heardOf([](int) {}), "The other side (127.0.0.1) closed the connection.");
  EXPECT_EQ(heardOf([](int fd) { put(fd, frame("{\"is\":1}").substr(0, 15)); }),
            "The other side (127.0.0.1) closed the connection.");
}

TEST(Control, WhatIsNotRdmaguardIsQuoted) {
  EXPECT_EQ(heardOf([](int fd) { put(fd, "SSH-2.0-OpenSSH_9.2p1\r\n"); }),
            "What speaks at 127.0.0.1 is not rdmaguard: it sent \"SSH-2.0-OpenSSH_9.2p1\".");
  EXPECT_EQ(heardOf([](int fd) { put(fd, std::string("\x16\x03\x01\x02\0\x1b[2J", 9)); }),
            "What speaks at 127.0.0.1 is not rdmaguard: it sent \"?????"
            "?[2J\".");
  // One byte is enough to know.
  EXPECT_EQ(heardOf([](int fd) {
              put(fd, "G");
              untilClosed(fd);
            }),
            "What speaks at 127.0.0.1 is not rdmaguard: it sent \"G\".");
}

TEST(Control, AnotherProtocolIsNamed) {
  const std::string said = heardOf([](int fd) { put(fd, header(2, 7) + "{}"); });
  EXPECT_NE(said.find("protocol 7, and this one has 1: use one release"), std::string::npos)
      << said;
}

TEST(Control, AnAnnouncedLengthBeyondTheProtocolIsNotWaitedForNorAllocated) {
  EXPECT_EQ(heardOf([](int fd) {
              put(fd, header(0xffffffffU));
              untilClosed(fd);
            }),
            "The other side (127.0.0.1) announced a message of 4294967295 bytes, more than the "
            "65536 of this protocol.");
}

TEST(Control, WhatIsNoJsonObjectIsNoMessage) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1]"), std::string("\"is\""),
        std::string("{\"is\":\xff}"), std::string(60'000, '['),
        std::string(30'000, '[') + std::string(30'000, ']')})
    EXPECT_EQ(heardOf([&](int fd) { put(fd, frame(text)); }),
              "The other side (127.0.0.1) sent what is no message of this protocol.");
}

TEST(Control, MessagesArriveInOrderHoweverTheyAreCut) {
  const Listener listener = listenAt(0);
  std::thread peer([&] {
    const Fd fd = dial(listener.port);
    const std::string bytes = frame("{\"n\":1}") + frame("{\"n\":2}") + frame("{\"n\":3}");
    put(fd.get(), bytes.substr(0, 25));
    std::this_thread::sleep_for(milliseconds(30));
    put(fd.get(), bytes.substr(25));
    untilClosed(fd.get());
  });
  {
    Control control = acceptFrom(listener, in(2000));
    for (const double n : {1, 2, 3}) EXPECT_EQ(numberOf(control.receive(in(2000)), "n"), n);
    EXPECT_FALSE(control.poll());
  }
  peer.join();
}

TEST(Control, APeerThatReadsNothingDoesNotHoldTheSender) {
  const Listener listener = listenAt(0);
  const Fd fd = dial(listener.port);
  Control control = acceptFrom(listener, in(2000));
  const nlohmann::json big{{"x", std::string(60'000, 'x')}};
  std::string said;
  const Deadline until = in(500);
  try {
    for (int i = 0; i < 10'000; ++i) control.send(big, until);
  } catch (const PeerFailure& e) {
    said = e.what();
  }
  EXPECT_NE(said.find("took no message"), std::string::npos) << said;
}

TEST(Control, FieldsOfTheWrongTypeAreAbsent) {
  const auto message =
      nlohmann::json::parse(R"({"a": 1, "b": "x", "c": null, "d": [1], "e": 1e308})");
  EXPECT_EQ(textOf(message, "a"), "");
  EXPECT_EQ(numberOf(message, "b", 7), 7);
  EXPECT_FALSE(flagOf(message, "c"));
  EXPECT_EQ(textOf(message, "d"), "");
  EXPECT_EQ(numberOf(message, "absent", -1), -1);
}

// --- finding each other ------------------------------------------------------------------------

std::string failureOf(const std::function<void()>& act, int mostMs) {
  const auto begun = Clock::now();
  std::string said;
  try {
    act();
  } catch (const PeerFailure& e) {
    said = e.what();
  }
  EXPECT_LT(Clock::now() - begun, milliseconds(mostMs));
  return said;
}

int closedPort() {
  const Listener listener = listenAt(0);
  return listener.port;
}

TEST(Meeting, ARefusedPortIsTriedUntilTheLimitAndThenNamed) {
  const int port = closedPort();
  const std::string said = failureOf([&] { visitPeer("127.0.0.1", port, {}, in(400)); }, 1500);
  EXPECT_EQ(said.find("Nobody listens at 127.0.0.1:" + std::to_string(port) +
                      ": connections were refused for 0."),
            0U)
      << said;
}

TEST(Meeting, AListenerThatStartsLaterIsFound) {
  const int port = closedPort();
  std::thread later([port] {
    std::this_thread::sleep_for(milliseconds(300));
    const Listener listener = listenAt(port);
    Hello hello;
    hello.host = "late";
    awaitPeer(listener, hello, in(3000));
  });
  EXPECT_EQ(visitPeer("localhost", port, {}, in(3000)).theirs.host, "late");
  later.join();
}

TEST(Meeting, ANameThatDoesNotResolveIsSaidSo) {
  const std::string said =
      failureOf([] { visitPeer("no-such-host.invalid", 1, {}, in(400)); }, 15'000);
  EXPECT_EQ(said.find("The name no-such-host.invalid does not resolve here: "), 0U) << said;
}

TEST(Meeting, NobodyComesWithinTheLimit) {
  const Listener listener = listenAt(0);
  EXPECT_EQ(failureOf([&] { awaitPeer(listener, {}, in(300)); }, 1300),
            "No other side came to port " + std::to_string(listener.port) + " within 0.3 s.");
}

TEST(Meeting, StrangersAreNamedAndDoNotKeepTheRightSideOut) {
  const Listener listener = listenAt(0);
  std::thread peers([&] {
    { const Fd probe = dial(listener.port); }
    {
      const Fd http = dial(listener.port);
      put(http.get(), "GET / HTTP/1.1\r\n\r\n");
      untilClosed(http.get());
    }
    Hello hello;
    hello.host = "right";
    visitPeer("127.0.0.1", listener.port, hello, in(3000));
  });
  EXPECT_EQ(awaitPeer(listener, {}, in(3000)).theirs.host, "right");
  peers.join();
  std::thread stranger([&] {
    const Fd http = dial(listener.port);
    put(http.get(), "GET / HTTP/1.1\r\n\r\n");
    untilClosed(http.get());
  });
  const std::string said = failureOf([&] { awaitPeer(listener, {}, in(400)); }, 1400);
  stranger.join();
  EXPECT_NE(said.find("one came that did not introduce itself. What speaks at 127.0.0.1 is not "
                      "rdmaguard: it sent \"GET / HTTP/1.1\"."),
            std::string::npos)
      << said;
}

TEST(Meeting, AListenerThatIsSilentIsGivenUpAtTheLimit) {
  const Listener listener = listenAt(0);
  const std::string where = "127.0.0.1:" + std::to_string(listener.port);
  EXPECT_EQ(failureOf([&] { visitPeer("127.0.0.1", listener.port, {}, in(400)); }, 1400),
            "The other side (" + where + ") did not answer within 0.4 s.");
}

TEST(Meeting, APortInUseIsSaidSo) {
  const Listener listener = listenAt(0);
  const std::string said = failureOf([&] { listenAt(listener.port); }, 1000);
  EXPECT_NE(said.find("cannot be listened at: Address already in use."), std::string::npos) << said;
}

}  // namespace
}  // namespace rdmaguard::nccl
