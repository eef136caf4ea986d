// Interfaces v1 to v3 (NCCL 2.23 to 2.26): no GPU times, no exact number of children.
#include "driver.h"

namespace {

using rdmaguard::Operation;
using rdmaguard::collective::TimingSource;
using rdmaguard::collective::Untimed;
using replay::Driver;
using replay::kSecond;

TEST(KernelChannelsWithoutGpuTimes, FinishWhenAsManyAsAnnouncedHaveStopped) {
  Driver d(3, 8);
  void* const group = d.group();
  ASSERT_NE(group, nullptr);  // 2.23 to 2.27 deliver Coll only then
  void* const coll = d.coll(group, "AllReduce", 1024, 2);
  d.stop(coll);
  d.stop(group);
  void* const first = d.channel(coll, 0, 0);
  void* const second = d.channel(coll, 1, 0);
  d.stop(first);
  d.drain(1);
  EXPECT_TRUE(d.results().empty());
  d.stop(second);
  d.drain(2);
  EXPECT_EQ(d.only().timing, TimingSource::KernelHost);
  EXPECT_EQ(d.only().operation, Operation::AllReduce);
  EXPECT_EQ(d.only().bytes, 4096U);
  EXPECT_GT(d.only().durationNs, 0U);
  EXPECT_DOUBLE_EQ(d.only().busbw, 4096.0 / double(d.only().durationNs) * 2 * 7 / 8);
}

TEST(KernelChannelsWithoutGpuTimes, FinishAfterAQuietTimeWhenFewerThanAnnouncedCome) {
  Driver d(3, 8);
  void* const coll = d.coll(d.group(), "AllReduce", 1024, 16);
  d.stop(d.channel(coll, 0, 0));
  d.drain(kSecond);
  d.drain(kSecond + kSecond / 4);
  EXPECT_TRUE(d.results().empty());
  void* const late = d.channel(coll, 1, 0);  // news: the quiet time begins again
  d.drain(2 * kSecond);
  d.drain(4 * kSecond);
  EXPECT_TRUE(d.results().empty()) << "a channel is still open";
  d.stop(late);
  d.drain(5 * kSecond);
  EXPECT_TRUE(d.results().empty());
  d.drain(6 * kSecond);
  EXPECT_EQ(d.only().timing, TimingSource::KernelHost);
}

TEST(SendsWithoutAnnouncedChannels, FinishAfterAQuietTime) {
  Driver d(3, 4);
  void* const group = d.group();
  void* const send = d.p2p(group, "Send", 1, 100, 0);
  void* const receive = d.p2p(group, "Recv", 3, 100, 0);
  d.stop(group);
  d.stop(d.channel(send, 0, 0));
  d.stop(d.channel(receive, 0, 0));
  d.drain(kSecond);
  EXPECT_TRUE(d.results().empty());
  d.drain(2 * kSecond);
  EXPECT_EQ(d.only().operation, Operation::SendRecv);
  EXPECT_EQ(d.only().bytes, 400U);
}

class ProxyVersions : public testing::TestWithParam<int> {};

TEST_P(ProxyVersions, TimeACollectiveByItsNetworkOperations) {
  Driver d(GetParam(), 8);
  void* const group = d.group();
  ASSERT_NE(group, nullptr);
  void* const coll = d.coll(group, "Broadcast", 4096, 2, nullptr, "ncclInt8");
  d.stop(coll);
  d.stop(group);
  void* const send = d.proxyOp(coll);
  ASSERT_NE(send, nullptr);
  void* const receive = d.proxyOp(coll);
  d.stop(receive);
  d.stop(send);
  d.drain(kSecond);
  EXPECT_TRUE(d.results().empty()) << "more may come";
  d.drain(2 * kSecond);
  EXPECT_EQ(d.only().operation, Operation::Broadcast);
  EXPECT_EQ(d.only().bytes, 4096U);
  EXPECT_EQ(d.only().timing, TimingSource::ProxyHost);
  EXPECT_EQ(d.results()[0].algorithm, "RING");
  EXPECT_EQ(d.results()[0].protocol, "SIMPLE");
  EXPECT_GT(d.only().busbw, 0);
}

TEST_P(ProxyVersions, CountACollectiveInsideOneNodeAsUntimed) {
  Driver d(GetParam(), 8);
  void* const coll = d.coll(d.group(), "AllReduce", 4096, 2);
  d.stop(coll);
  d.drain(kSecond);
  d.drain(2 * kSecond);
  EXPECT_EQ(d.only().untimed, Untimed::NoChildren);
  EXPECT_EQ(d.only().timing, TimingSource::None);
  EXPECT_EQ(d.only().durationNs, 0U);
}

TEST_P(ProxyVersions, LearnTheNumberOfRanksFromTheTrafficOfAnAllGather) {
  Driver d(GetParam(), -1, -1);
  replay::Event e;
  e.type = replay::kColl;
  e.func = "AllGather";
  e.datatype = "ncclInt8";
  e.algo = "RING";
  e.proto = "LL";
  e.count = 1000;
  e.traffic = 16000;
  void* const group = d.group();
  void* const coll = d.start(e, group, group);
  EXPECT_EQ(rdmaguard::collective::ranks(d.communicator()), 16);
  d.stop(d.proxyOp(coll));
  d.drain(kSecond);
  d.drain(2 * kSecond);
  EXPECT_EQ(d.only().bytes, 16000U);
  EXPECT_DOUBLE_EQ(d.only().busbw, d.only().algbw * 15 / 16);
}

TEST_P(ProxyVersions, GiveNoBusbwWhileTheNumberOfRanksIsUnknown) {
  Driver d(GetParam(), -1, -1);
  void* const coll = d.coll(d.group(), "AllReduce", 1000, 2);
  d.stop(d.proxyOp(coll));
  d.drain(kSecond);
  d.drain(2 * kSecond);
  EXPECT_GT(d.only().algbw, 0);
  EXPECT_EQ(d.only().busbw, 0);
}

TEST_P(ProxyVersions, AskForProxyOperations) {
  EXPECT_EQ(rdmaguard::collective::wantedMask(GetParam()), 2 | 4 | 8);
}

INSTANTIATE_TEST_SUITE_P(V1AndV2, ProxyVersions, testing::Values(1, 2));

}  // namespace
