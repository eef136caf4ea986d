// What happens at the recorder's edges: full rings, closed and too many communicators, handles
// that outlive what they named.
#include "driver.h"

namespace {

using rdmaguard::collective::Communicator;
using rdmaguard::collective::kMaxCommunicators;
using replay::Driver;
using replay::kSecond;

TEST(FullRing, DropsTheOldestAndCountsThem) {
  Driver d(5, 4);
  std::vector<void*> colls;
  for (int i = 0; i < 5000; ++i) {
    void* const group = d.group();
    colls.push_back(d.coll(group, "AllReduce", 1000, 1));
    d.stop(group);
  }
  // Children of the lost ones come late, while their slots have new owners: ignored.
  const auto before = rdmaguard::collective::strays().staleHandles;
  for (int i = 0; i < 904; ++i) {
    EXPECT_EQ(d.channel(colls[static_cast<std::size_t>(i)], 0, 1), nullptr);
  }
  EXPECT_EQ(rdmaguard::collective::strays().staleHandles, before + 904);
  for (std::size_t i = 904; i < colls.size(); ++i) d.channel(colls[i], 0, i, i + 10);
  const auto counters = d.finish();
  EXPECT_EQ(counters.seen, 5000U);
  EXPECT_EQ(counters.droppedOverrun, 904U);
  EXPECT_EQ(counters.written, 4096U);
  for (const auto& one : d.results()) EXPECT_EQ(one.finished.durationNs, 10U);
}

TEST(FullRing, LeavesTheNewOwnerOfASlotAloneWhenOldChildrenStop) {
  Driver d(5, 4);
  void* const old = d.coll(d.group(), "AllReduce", 1000, 2);
  void* const first = d.channel(old, 0, 1);
  void* const second = d.channel(old, 1, 1);
  std::vector<void*> colls;
  for (int i = 0; i < 4096; ++i) colls.push_back(d.coll(d.group(), "AllReduce", 1000, 2));
  void* const owner = colls.back();  // of the same slot
  void* const channel = d.channel(owner, 0, 100);
  d.stopChannel(first, 9'000'000);
  d.stopChannel(second, 9'000'000);
  d.stopChannel(channel, 200);
  d.drain(1);
  const auto timed = [&d] {
    return std::count_if(d.results().begin(), d.results().end(),
                         [](const replay::Collected& c) { return c.finished.durationNs != 0; });
  };
  EXPECT_EQ(timed(), 0) << "one channel has not even started";
  d.channel(owner, 1, 100, 250);
  d.drain(2);
  EXPECT_EQ(timed(), 1);
  EXPECT_EQ(d.results().back().finished.index, 4096U);
  EXPECT_EQ(d.results().back().finished.durationNs, 150U);
}

TEST(FullRing, HoldingOneStuckCollectiveGoesOnAroundIt) {
  Driver d(5, 4);
  void* const stuck = d.coll(d.group(), "AllReduce", 1000, 2);
  d.channel(stuck, 0, 1);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    void* const group = d.group();
    void* const coll = d.coll(group, "AllReduce", 1000, 1);
    d.stop(group);
    d.channel(coll, 0, i, i + 10);
    if (i % 1000 == 0) d.drain(i);
  }
  const auto counters = d.finish();
  EXPECT_EQ(counters.seen, 20'001U);
  EXPECT_EQ(counters.written, 20'000U);
  EXPECT_EQ(counters.dropped(), 1U);
}

TEST(ClosedCommunicator, LeavesItsHandlesStale) {
  void* coll = nullptr;
  void* channel = nullptr;
  {
    Driver d(5, 4);
    coll = d.coll(d.group(), "AllReduce", 1000, 2);
    channel = d.channel(coll, 0, 1);
  }
  const auto before = rdmaguard::collective::strays().staleHandles;
  std::uint64_t time = 5;
  replay::recordEventState(5, channel, 22, &time);
  replay::stopEvent(5, channel);
  EXPECT_EQ(rdmaguard::collective::strays().staleHandles, before + 2);
  // Its memory goes to others in time; the handles stay stale.
  for (int i = 0; i < 100; ++i) {
    Driver other(5, 4);
    void* const mine = other.coll(other.group(), "AllReduce", 1000, 1);
    replay::recordEventState(5, channel, 22, &time);
    replay::stopEvent(5, channel);
    other.channel(mine, 0, 100, 150);
    other.drain(1);
    EXPECT_EQ(other.only().durationNs, 50U);
  }
  EXPECT_EQ(rdmaguard::collective::strays().staleHandles, before + 202);
}

TEST(ClosedCommunicator, StillTakesCallbacksWithoutHarm) {
  Communicator* const closed = rdmaguard::collective::open({5, 4, 0, nullptr});
  rdmaguard::collective::finish(*closed, {});
  rdmaguard::collective::close(closed);
  for (const std::uint32_t type : {1U, 2U, 4U, 64U, 256U, 512U, 1024U}) {
    replay::Event e;
    e.type = type;
    e.func = "AllReduce";
    e.datatype = "ncclFloat32";
    e.algo = "RING";
    e.proto = "LL";
    EXPECT_EQ(replay::startEvent(5, closed, e, nullptr, nullptr), nullptr) << type;
  }
  rdmaguard::collective::close(closed);  // a second finalize
}

TEST(Communicators, ArrivingBeyondTheLimitAreRefusedAndLaterOnesServed) {
  std::vector<Communicator*> all;
  for (unsigned i = 0; i < kMaxCommunicators; ++i) {
    all.push_back(rdmaguard::collective::open({5, 4, 0, nullptr}));
    ASSERT_NE(all.back(), nullptr) << i;
  }
  EXPECT_EQ(rdmaguard::collective::open({5, 4, 0, nullptr}), nullptr);
  // Off for that communicator: callbacks with a null context do nothing.
  replay::Event coll;
  coll.type = replay::kColl;
  coll.func = "AllReduce";
  coll.datatype = "ncclFloat32";
  EXPECT_EQ(replay::startEvent(5, nullptr, coll, nullptr, nullptr), nullptr);
  for (Communicator* c : all) {
    rdmaguard::collective::finish(*c, {});
    rdmaguard::collective::close(c);
  }
  Driver again(5, 4);
  void* const mine = again.coll(again.group(), "AllReduce", 1000, 1);
  again.channel(mine, 0, 100, 150);
  again.drain(1);
  EXPECT_EQ(again.only().durationNs, 50U);
}

}  // namespace
