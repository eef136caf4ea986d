// What two sides tell each other first, and what follows from it.
#include <gtest/gtest.h>

#include "verifier/nccl/exchange_hello.h"
#include "verifier/nccl/exchange_pattern.h"

namespace rdmaguard::nccl {
namespace {

Hello helloOfRelease(int version, const std::string& text, int netAbi) {
  Hello hello;
  hello.host = "node-" + text;
  hello.ncclVersion = version;
  hello.ncclText = text;
  hello.netAbi = netAbi;
  hello.hcas = {{"mlx5_0", 1, 400000, "InfiniBand"}};
  return hello;
}

TEST(Hello, ComesBackAsItWasSent) {
  Hello hello = helloOfRelease(22707, "2.27.7", 10);
  hello.shape = {12345, 2.5, true, std::chrono::milliseconds(700)};
  hello.hcas.push_back({"mlx5_1+mlx5_2", 1, 800000, "Ethernet"});
  hello.failure = "It has none.";
  hello.cannotTell = true;
  const auto back = helloOf(nlohmann::json::parse(toJson(hello).dump()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->host, hello.host);
  EXPECT_EQ(back->ncclVersion, 22707);
  EXPECT_EQ(back->ncclText, "2.27.7");
  EXPECT_EQ(back->netAbi, 10);
  EXPECT_EQ(back->hcas, hello.hcas);
  EXPECT_EQ(back->shape.bytes, 12345U);
  EXPECT_EQ(back->shape.seconds, 2.5);
  EXPECT_TRUE(back->shape.bidirectional);
  EXPECT_EQ(back->shape.timeout.count(), 700);
  EXPECT_EQ(back->failure, "It has none.");
  EXPECT_TRUE(back->cannotTell);
}

TEST(Hello, AbsurdValuesEndWithinTheBounds) {
  auto message = nlohmann::json::parse(R"({"is": "hello", "host": 7, "nccl": 1e300, "net": -5,
    "bytes": 1e300, "seconds": -1, "timeout_ms": "soon", "hcas": [1, null, {"name": ["x"],
    "port": -4, "speed_mbps": 1e30}, {"name": "a\u001b[2Jb"}]})");
  for (int i = 0; i < 500; ++i) message["hcas"].push_back({{"name", "x"}});
  const auto hello = helloOf(message);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->host, "");
  EXPECT_EQ(hello->netAbi, 0);
  EXPECT_EQ(hello->shape.bytes, kMostMessageBytes);
  EXPECT_EQ(hello->shape.seconds, 0);
  EXPECT_EQ(hello->shape.timeout.count(), 100);
  EXPECT_EQ(hello->hcas.size(), kMostHcas);
  EXPECT_EQ(hello->hcas[0].port, 0);
  EXPECT_EQ(hello->hcas[1].name, "a?[2Jb");
  EXPECT_FALSE(helloOf(nlohmann::json::parse(R"({"is": "end"})")));
  EXPECT_FALSE(helloOf(nlohmann::json::parse("{}")));
}

TEST(Hello, OneReleaseOnBothSidesAgrees) {
  const Hello a = helloOfRelease(22707, "2.27.7", 10);
  EXPECT_EQ(disagreement(a, a), "");
}

TEST(Hello, AnotherReleaseIsNamedWithBothInterfaces) {
  const Hello a = helloOfRelease(22707, "2.27.7", 10);
  const Hello b = helloOfRelease(23203, "2.32.3", 12);
  EXPECT_EQ(
      disagreement(a, b).find("NCCL is 2.27.7 here and 2.32.3 on the other side (node-2.32.3), "
                              "net interfaces v10 and v12: "),
      0U)
      << disagreement(a, b);
  const Hello c = helloOfRelease(22705, "2.27.5", 10);
  EXPECT_NE(disagreement(a, c).find("both with net interface v10"), std::string::npos);
}

TEST(Hello, TheOtherSidesOwnReasonComesFirst) {
  const Hello a = helloOfRelease(22707, "2.27.7", 10);
  Hello b;
  b.host = "b";
  b.failure = "/opt/libnccl.so.2: It is not NCCL.";
  EXPECT_EQ(disagreement(a, b),
            "The other side (b) cannot take part: /opt/libnccl.so.2: It is not NCCL.");
}

TEST(Hello, AnOtherSideWithoutHcaIsSaidSo) {
  const Hello a = helloOfRelease(22707, "2.27.7", 10);
  Hello b = a;
  b.hcas.clear();
  EXPECT_EQ(disagreement(a, b), "The other side (node-2.27.7) has no HCA that NCCL can use.");
}

ExchangeHca hca(const char* name, int port = 1) {
  return {name, port, 0, ""};
}

TEST(Pairs, EqualHcasMeetWhereverTheyStandInTheLists) {
  EXPECT_EQ(pairUp({hca("mlx5_0"), hca("mlx5_1"), hca("mlx5_2")}, {hca("mlx5_0"), hca("mlx5_2")}),
            (std::vector<HcaPair>{{0, 0}, {1, -1}, {2, 1}}));
}

TEST(Pairs, TheRestMeetsInOrder) {
  EXPECT_EQ(pairUp({hca("mlx5_0"), hca("mlx5_1")}, {hca("rocep1s0"), hca("rocep2s0"), hca("x")}),
            (std::vector<HcaPair>{{0, 0}, {1, 1}, {-1, 2}}));
  EXPECT_EQ(pairUp({hca("a", 1), hca("a", 2)}, {hca("a", 2), hca("b", 1)}),
            (std::vector<HcaPair>{{0, 1}, {1, 0}}));
  EXPECT_TRUE(pairUp({}, {}).empty());
}

TEST(Pattern, EveryChangedByteIsFoundAtItsPlace) {
  std::vector<char> data(1001);
  fillPattern(data.data(), data.size(), 42);
  EXPECT_FALSE(firstDifference(data.data(), 0, data.size(), 42));
  for (const std::size_t at : {0U, 7U, 8U, 500U, 1000U}) {
    data[at] = static_cast<char>(data[at] ^ 1);
    EXPECT_EQ(firstDifference(data.data(), 0, data.size(), 42), at);
    data[at] = static_cast<char>(data[at] ^ 1);
  }
}

TEST(Pattern, NoTwoMessagesAreAlike) {
  std::vector<char> data(64);
  fillPattern(data.data(), data.size(), seedOf(0, 0, 1, 0));
  for (const std::uint64_t other :
       {seedOf(1, 0, 1, 0), seedOf(0, 1, 1, 0), seedOf(0, 0, 2, 0), seedOf(0, 0, 1, 1)})
    EXPECT_EQ(firstDifference(data.data(), 0, 8, other).has_value(), true);
  // A message moved by eight bytes is another one too.
  EXPECT_TRUE(firstDifference(data.data() + 8, 0, 56, seedOf(0, 0, 1, 0)));
}

}  // namespace
}  // namespace rdmaguard::nccl
