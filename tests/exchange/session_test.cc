// Two sides of a session over a transport in memory: what each reports of every HCA.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <thread>

#include "memory_net.h"
#include "verifier/nccl/exchange_session.h"

namespace rdmaguard::nccl {
namespace {

using std::chrono::milliseconds;
using test::Faults;
using test::MemoryNet;

std::array<Control, 2> controls() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Control(Fd(ends[0]), "there"), Control(Fd(ends[1]), "here")};
}

Hello helloWith(const std::string& host, const std::vector<std::string>& names,
                const std::string& linkLayer = "InfiniBand") {
  Hello hello;
  hello.host = host;
  for (const std::string& name : names) hello.hcas.push_back({name, 1, 400000, linkLayer});
  hello.shape.bytes = 4096;
  hello.shape.seconds = 0.02;
  hello.shape.timeout = milliseconds(300);
  return hello;
}

struct Side {
  Hello hello;
  std::map<int, Faults> faults;
  std::vector<HcaResult> results;
  std::string lost;  ///< of PeerFailure
  bool closed = false;
  int open = 0;
  bool sawForeignState = false;

  void run(Control& control, const Hello& other, bool connecting) {
    std::vector<Device> devices;
    SessionSide side{hello, other, connecting, {}};
    for (const ExchangeHca& h : hello.hcas) {
      side.devices.push_back(static_cast<int>(devices.size()));
      devices.push_back({h.name, "", h.port, h.speedMbps, 1});
    }
    MemoryNet net(devices, faults);
    try {
      closed = runSession(
          net, control, side, [](const std::string&, milliseconds) {},
          [this](const HcaResult& r) { results.push_back(r); });
    } catch (const PeerFailure& e) {
      lost = e.what();
    }
    open = net.open();
    sawForeignState = net.sawForeignState();
  }
};

Side sideOf(const Hello& hello) {
  Side side;
  side.hello = hello;
  return side;
}

void exchangeBetween(Side& connecting, Side& listening) {
  auto [a, b] = controls();
  std::thread other([&, &control = b] { listening.run(control, connecting.hello, false); });
  connecting.run(a, listening.hello, true);
  other.join();
}

TEST(Session, EveryMessageArrivesWholeOnEveryHcaAndBothSidesCountTheSame) {
  for (const bool bidirectional : {false, true}) {
    Side a = sideOf(helloWith("a", {"mlx5_0", "mlx5_1"}));
    Side b = sideOf(helloWith("b", {"mlx5_0", "mlx5_1"}));
    a.hello.shape.bidirectional = bidirectional;
    exchangeBetween(a, b);
    ASSERT_EQ(a.results.size(), 2U) << a.lost;
    ASSERT_EQ(b.results.size(), 2U) << b.lost;
    for (std::size_t i = 0; i < 2; ++i) {
      const HcaResult &x = a.results[i], &y = b.results[i];
      EXPECT_TRUE(x.verified && y.verified) << x.failure << y.failure;
      EXPECT_EQ(x.name, y.peerName);
      EXPECT_EQ(x.sentBytes, y.receivedBytes);
      EXPECT_EQ(x.sentMessages, y.receivedMessages);
      EXPECT_EQ(y.sentBytes, x.receivedBytes);
      EXPECT_EQ(y.sentMessages, x.receivedMessages);
      EXPECT_GT(x.receivedBytes, 4096U);  // there and back
      EXPECT_EQ(x.sentBytes == x.receivedBytes, bidirectional);
      EXPECT_GT(x.bandwidthGbps, 0);
      EXPECT_GT(x.latencyUs, 0);
      EXPECT_EQ(x.bandwidthGbps, y.bandwidthGbps);
      EXPECT_EQ(x.latencyUs, y.latencyUs);
      EXPECT_EQ(x.lineRateGbps, 400);
    }
    EXPECT_TRUE(a.closed && b.closed);
    EXPECT_EQ(a.open + b.open, 0);
  }
}

TEST(Session, MessagesOfAnySizeAreMovedWhole) {
  for (const std::size_t bytes : {1UL, 2UL, 15UL, 16UL, 17UL, 100003UL}) {
    Side a = sideOf(helloWith("a", {"mlx5_0"}));
    Side b = sideOf(helloWith("b", {"mlx5_0"}));
    a.hello.shape.bytes = bytes;
    exchangeBetween(a, b);
    ASSERT_EQ(a.results.size(), 1U) << a.lost;
    EXPECT_TRUE(a.results[0].verified) << bytes << ": " << a.results[0].failure;
    EXPECT_TRUE(b.results[0].verified) << bytes << ": " << b.results[0].failure;
  }
}

struct FaultCase {
  const char* name;
  Faults faults;
  std::string words;
  bool onConnecting;
};

class FaultySession : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultySession, TheHcaIsNamedOnBothSidesAndTheNextOneStillWorks) {
  Side a = sideOf(helloWith("a", {"mlx5_0", "mlx5_1"}));
  Side b = sideOf(helloWith("b", {"mlx5_0", "mlx5_1"}));
  Side& faulty = GetParam().onConnecting ? a : b;
  Side& other = GetParam().onConnecting ? b : a;
  faulty.faults[0] = GetParam().faults;
  const auto begun = Clock::now();
  exchangeBetween(a, b);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(5));
  ASSERT_EQ(faulty.results.size(), 2U) << faulty.lost;
  ASSERT_EQ(other.results.size(), 2U) << other.lost;
  EXPECT_NE(faulty.results[0].failure.find(GetParam().words), std::string::npos)
      << faulty.results[0].failure;
  EXPECT_FALSE(faulty.results[0].verified);
  EXPECT_FALSE(other.results[0].failure.empty());
  EXPECT_FALSE(other.results[0].verified);
  EXPECT_TRUE(a.results[1].verified) << a.results[1].failure;
  EXPECT_TRUE(b.results[1].verified) << b.results[1].failure;
}

constexpr Faults never{};
Faults with(int Faults::*field, int at) {
  Faults f = never;
  f.*field = at;
  return f;
}
Faults with(bool Faults::*field) {
  Faults f = never;
  f.*field = true;
  return f;
}

std::vector<FaultCase> faultCases() {
  std::vector<FaultCase> all;
  for (const bool side : {false, true}) {
    all.push_back({"listen", with(&Faults::listenFails), "listen failed with 2", side});
    all.push_back({"connect", with(&Faults::neverConnects), "did not come up within 0.3 s", side});
    all.push_back({"stall_first", with(&Faults::stallsAt, 0), "no message moved for 0.3 s", side});
    all.push_back({"stall_ping", with(&Faults::stallsAt, 20), "no small message moved", side});
    all.push_back({"error", with(&Faults::throwsAt, 5), "test failed with 6", side});
    all.push_back({"changed", with(&Faults::changesAt, 4), "is wrong", side});
    all.push_back({"short", with(&Faults::shortensAt, 4), "4095 bytes came instead of 4096", side});
    all.push_back({"stale", with(&Faults::repeatsAt, 4), "is wrong", side});
    all.push_back({"stale_ping", with(&Faults::repeatsAt, 30), "not the message", side});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Each, FaultySession, testing::ValuesIn(faultCases()),
                         [](const auto& info) {
                           return std::string(info.param.name) +
                                  (info.param.onConnecting ? "_connecting" : "_listening");
                         });

TEST(Session, AWrongMessageLeavesNoRequestOpenAndItsConnectionsAreClosed) {
  Side a = sideOf(helloWith("a", {"mlx5_0"}));
  Side b = sideOf(helloWith("b", {"mlx5_0"}));
  b.faults[0] = with(&Faults::changesAt, 4);
  exchangeBetween(a, b);
  EXPECT_TRUE(a.closed && b.closed);
  EXPECT_EQ(a.open + b.open, 0);
  ASSERT_EQ(a.results.size(), 1U);
  EXPECT_NE(a.results[0].failure.find("On the other side: Message 4 of round 1"), std::string::npos)
      << a.results[0].failure;
}

TEST(Session, AWrongMessageOfATimedRoundIsSeen) {
  Side a = sideOf(helloWith("a", {"mlx5_0"}));
  Side b = sideOf(helloWith("b", {"mlx5_0"}));
  a.hello.shape.seconds = 0;  // 16 whole messages, 50 pings, 16 timed ones
  b.faults[0] = with(&Faults::repeatsAt, 16 + 50 + 2);
  exchangeBetween(a, b);
  ASSERT_EQ(b.results.size(), 1U);
  EXPECT_FALSE(b.results[0].verified);
  EXPECT_NE(b.results[0].failure.find("not the message"), std::string::npos)
      << b.results[0].failure;
  b.faults[0] = with(&Faults::changesAt, 16 + 50 + 14);
  b.results.clear();
  exchangeBetween(a, b);
  ASSERT_EQ(b.results.size(), 1U);
  EXPECT_NE(b.results[0].failure.find("the byte at 2048 of 4096 is wrong"), std::string::npos)
      << b.results[0].failure;
}

TEST(Session, HcasOfTwoKindsOfNetworkAreNotTried) {
  Side a = sideOf(helloWith("a", {"mlx5_0"}));
  Side b = sideOf(helloWith("b", {"mlx5_0"}, "Ethernet"));
  exchangeBetween(a, b);
  ASSERT_EQ(a.results.size(), 1U);
  EXPECT_EQ(a.results[0].failure,
            "They are on two kinds of network: mlx5_0:1 is InfiniBand, mlx5_0:1 on b is Ethernet.");
  ASSERT_EQ(b.results.size(), 1U);
  EXPECT_NE(b.results[0].failure.find("mlx5_0:1 on a is InfiniBand"), std::string::npos);
}

TEST(Session, AnHcaWithoutPartnerIsNamedOnBothSides) {
  Side a = sideOf(helloWith("a", {"mlx5_0", "mlx5_1", "mlx5_2"}));
  Side b = sideOf(helloWith("b", {"mlx5_0", "mlx5_2"}));
  exchangeBetween(a, b);
  ASSERT_EQ(a.results.size(), 3U);
  EXPECT_EQ(a.results[0].peerName, "mlx5_0");
  EXPECT_EQ(a.results[1].failure, "The other side (b) has no HCA left for it: 2 there, 3 here.");
  EXPECT_EQ(a.results[2].peerName, "mlx5_2");
  EXPECT_TRUE(a.results[2].verified) << a.results[2].failure;
  ASSERT_EQ(b.results.size(), 3U);
  EXPECT_EQ(b.results[1].failure, "This side has no HCA left for it: 2 here, 3 on a.");
}

TEST(Session, HcasThatAreLeftWhenTheOtherSideIsLostAreNamedAsNotTried) {
  Side a = sideOf(helloWith("a", {"mlx5_0", "mlx5_1"}));
  auto [mine, theirs] = controls();
  { const Control gone = std::move(theirs); }
  a.run(mine, helloWith("b", {"mlx5_0", "mlx5_1"}), true);
  ASSERT_EQ(a.results.size(), 2U);
  EXPECT_EQ(a.results[0].failure, a.lost);
  EXPECT_EQ(a.results[1].failure, "Not tried: the other side was lost before.");
}

/// A listening side played by the test, message by message.
template <typename Play>
Side againstListener(Play play) {
  Side a = sideOf(helloWith("a", {"mlx5_0"}));
  auto [mine, theirs] = controls();
  std::thread other([&, &control = theirs] {
    play(control);
    Control gone = std::move(control);
  });
  a.run(mine, helloWith("b", {"mlx5_0"}), true);
  other.join();
  return a;
}

Deadline soon() {
  return Clock::now() + std::chrono::seconds(3);
}

TEST(Session, APeerThatDiesIsNoticedAtOnceAndNamed) {
  const auto begun = Clock::now();
  const Side a = againstListener([](Control& control) { control.receive(soon()); });
  EXPECT_EQ(a.lost, "The other side (there) closed the connection.");
  ASSERT_EQ(a.results.size(), 1U);
  EXPECT_EQ(a.results[0].failure, a.lost);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(1));
}

TEST(Session, APeerThatDiesWhileNcclIsAtWorkIsNoticedAtOnce) {
  const auto begun = Clock::now();
  Side a = againstListener([](Control& control) {
    const auto handle = control.receive(soon());
    control.send({{"is", "handle"}, {"hca", 0}, {"handle", std::string(256, '0')}}, soon());
  });
  // Its handle leads to no listener, or the end of the connection is seen first.
  ASSERT_EQ(a.results.size(), 1U);
  EXPECT_FALSE(a.results[0].failure.empty());
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(2));
}

TEST(Session, MessagesOutOfStepEndTheSession) {
  const Side a = againstListener([](Control& control) {
    control.receive(soon());
    control.send({{"is", "ran"}, {"hca", 0}}, soon());
  });
  EXPECT_NE(a.lost.find("\"ran\" came where \"handle\" was due"), std::string::npos) << a.lost;
}

TEST(Session, AHandleThatIsNoneEndsTheSession) {
  for (const std::string& hex : {std::string("zz"), std::string(256, 'z'), std::string(257, '0')}) {
    const Side a = againstListener([&](Control& control) {
      control.receive(soon());
      control.send({{"is", "handle"}, {"hca", 0}, {"handle", hex}}, soon());
    });
    EXPECT_EQ(a.lost, "The other side (there) sent no handle of this NCCL.");
  }
}

TEST(Session, StateThatTheOtherSideWroteIntoItsHandleIsNotTakenForOurs) {
  const Side a = againstListener([&](Control& control) {
    std::string handle = std::string(256, '0');
    for (std::size_t i = 80; i < 128; ++i) handle[i] = 'f';  // bytes 40 to 63
    control.send({{"is", "handle"}, {"hca", 0}, {"handle", handle}}, soon());
    std::this_thread::sleep_for(milliseconds(100));
  });
  EXPECT_FALSE(a.sawForeignState);
  EXPECT_FALSE(a.results.at(0).failure.empty());
}

TEST(Session, APeerThatFloodsIsCutOff) {
  const Side a = againstListener([&](Control& control) {
    control.send({{"is", "handle"}, {"hca", 0}, {"handle", std::string(256, '0')}}, soon());
    try {
      for (int i = 0; i < 100'000; ++i) control.send({{"is", "x"}, {"hca", 0}}, soon());
    } catch (const PeerFailure&) {
    }
  });
  ASSERT_EQ(a.results.size(), 1U);
  EXPECT_FALSE(a.lost.empty() && a.results[0].failure.empty());
}

}  // namespace
}  // namespace rdmaguard::nccl
