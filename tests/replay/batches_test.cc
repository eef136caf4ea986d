// Groups of sends and receives: what they are taken for, and when they are finished.
#include "driver.h"

namespace {

using rdmaguard::Operation;
using replay::Driver;
using replay::kSecond;

/// Sends and receives of `count` floats with each peer; one channel each, except with oneself.
void exchange(Driver& d, int self, const std::vector<int>& peers, std::uint64_t count) {
  void* const group = d.group();
  std::vector<void*> tasks;
  for (const int peer : peers) {
    void* const send = d.p2p(group, "Send", peer, count, 1);
    void* const receive = d.p2p(group, "Recv", peer, count, 1);
    if (peer != self) tasks.insert(tasks.end(), {send, receive});
  }
  d.stop(group);
  for (void* task : tasks) d.channel(task, 0, 1000, 3000);
}

TEST(Batch, WithEveryRankInEqualPiecesIsAnAllToAll) {
  Driver d(5, 4, 1);
  exchange(d, 1, {0, 1, 2, 3}, 100);
  d.drain(1);
  EXPECT_EQ(d.only().operation, Operation::AlltoAll);
  EXPECT_TRUE(d.only().inferred);
  EXPECT_EQ(d.only().bytes, 4U * 400);
  EXPECT_EQ(d.only().durationNs, 2000U);
  EXPECT_DOUBLE_EQ(d.only().busbw, 1600.0 / 2000 * 3 / 4);
  EXPECT_EQ(d.only().sends, 4U);
  EXPECT_EQ(d.only().receives, 4U);
}

TEST(Batch, InPlaceLeavesOutTheRankItselfAndIsAnAllToAllAllTheSame) {
  Driver d(5, 4, 1);
  exchange(d, 1, {0, 2, 3}, 100);
  d.drain(1);
  EXPECT_EQ(d.only().operation, Operation::AlltoAll);
  EXPECT_EQ(d.only().bytes, 4U * 400);
}

TEST(Batch, BetweenTwoRanksIsAnExchange) {
  Driver d(5, 2, 0);
  exchange(d, 0, {1}, 100);
  d.drain(1);
  EXPECT_EQ(d.only().operation, Operation::SendRecv);
  EXPECT_EQ(d.only().bytes, 400U);
  EXPECT_DOUBLE_EQ(d.only().busbw, 400.0 / 2000);
}

TEST(Batch, WithTheSamePeerTwiceIsNotAnAllToAll) {
  Driver d(5, 4, 1);
  exchange(d, 1, {0, 0, 2, 3}, 100);
  d.drain(1);
  EXPECT_EQ(d.only().operation, Operation::SendRecv);
  EXPECT_EQ(d.only().bytes, 4U * 400);
}

TEST(Batch, OfUnequalPiecesIsNotAnAllToAll) {
  Driver d(5, 3, 0);
  void* const group = d.group();
  std::vector<void*> tasks;
  for (const int peer : {1, 2}) {
    tasks.push_back(d.p2p(group, "Send", peer, 100, 1));
    tasks.push_back(d.p2p(group, "Recv", peer, peer == 1 ? 100 : 300, 1));
  }
  d.stop(group);
  for (void* task : tasks) d.channel(task, 0, 10, 20);
  d.drain(1);
  EXPECT_EQ(d.only().operation, Operation::SendRecv);
  EXPECT_EQ(d.only().sentBytes, 800U);
  EXPECT_EQ(d.only().receivedBytes, 1600U);
  EXPECT_EQ(d.only().bytes, 1600U);
}

TEST(Batch, OfSendsAloneIsASend) {
  Driver d(5, 4, 0);
  void* const group = d.group();
  void* const send = d.p2p(group, "Send", 1, 100, 2);
  d.stop(group);
  d.channel(send, 0, 10, 20);
  EXPECT_TRUE(d.results().empty());
  d.channel(send, 1, 10, 30);
  d.drain(1);
  EXPECT_EQ(d.only().operation, Operation::Send);
  EXPECT_FALSE(d.only().inferred);
}

TEST(Batch, IsNotFinishedBeforeItsGroupEnds) {
  Driver d(5, 4, 0);
  void* const group = d.group();
  void* const send = d.p2p(group, "Send", 1, 100, 1);
  d.channel(send, 0, 10, 20);
  d.drain(kSecond);
  d.drain(9 * kSecond);
  EXPECT_TRUE(d.results().empty());
  void* const receive = d.p2p(group, "Recv", 1, 100, 1);
  d.stop(group);
  d.channel(receive, 0, 15, 40);
  d.drain(10 * kSecond);
  EXPECT_EQ(d.only().operation, Operation::SendRecv);
  EXPECT_EQ(d.only().durationNs, 30U);
}

TEST(Batch, WhosePieceIsEmptyOnOneChannelFinishesAfterAQuietTime) {
  // NCCL announces channels by size and skips a channel whose part rounds down to nothing.
  Driver d(5, 4, 0);
  void* const group = d.group();
  void* const send = d.p2p(group, "Send", 1, 100, 16);
  d.stop(group);
  for (int channel = 0; channel < 15; ++channel) d.channel(send, channel, 10, 20);
  d.drain(kSecond);
  EXPECT_TRUE(d.results().empty());
  d.drain(2 * kSecond);
  EXPECT_EQ(d.only().durationNs, 10U);
}

TEST(Batch, WithOneselfAloneIsCountedAndNotTimed) {
  Driver d(5, 4, 2);
  exchange(d, 2, {2}, 100);
  d.drain(1);
  EXPECT_EQ(d.only().untimed, rdmaguard::collective::Untimed::NoChildren);
  EXPECT_EQ(d.only().operation, Operation::SendRecv);
}

TEST(Batch, BesideACollectiveInOneGroupIsARecordOfItsOwn) {
  Driver d(5, 4, 0);
  void* const group = d.group();
  void* const coll = d.coll(group, "AllReduce", 1000, 1);
  void* const send = d.p2p(group, "Send", 1, 100, 1);
  void* const receive = d.p2p(group, "Recv", 1, 100, 1);
  d.stop(group);
  d.channel(coll, 0, 10, 20);
  d.channel(send, 0, 30, 50);
  d.channel(receive, 0, 30, 50);
  d.drain(1);
  const auto results = replay::inOrder(d.results());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].finished.operation, Operation::AllReduce);
  EXPECT_EQ(results[0].finished.durationNs, 10U);
  EXPECT_EQ(results[1].finished.operation, Operation::SendRecv);
  EXPECT_EQ(results[1].finished.durationNs, 20U);
}

TEST(Batch, OfACapturedCallSaysSo) {
  Driver d(5, 4, 0);
  replay::Event api;
  api.type = replay::kP2pApi;
  api.func = "Send";
  api.datatype = "ncclFloat32";
  EXPECT_EQ(d.start(api), nullptr);
  api.graph = true;
  void* const captured = d.start(api);
  void* const group = d.group();
  replay::Event send;
  send.type = replay::kP2p;
  send.func = "Send";
  send.datatype = "ncclFloat32";
  send.count = 10;
  send.channels = 1;
  send.peer = 1;
  void* const task = d.start(send, captured, group);
  d.stop(group);
  d.channel(task, 0, 10, 20);
  d.drain(1);
  EXPECT_TRUE(d.only().graph);
}

TEST(Group, ThatHoldsNothingIsNotSeen) {
  Driver d(5, 4, 0);
  d.stop(d.group());
  d.group();  // and one that never ends
  const auto counters = d.finish();
  EXPECT_EQ(counters.seen, 0U);
}

}  // namespace
