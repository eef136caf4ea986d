// Collectives that no trace holds: unannounced channels, symmetric kernels, graphs, calls without a
// launch, impossible clocks.
#include "driver.h"
#include "plugin/collective/names.h"

namespace {

using rdmaguard::Operation;
using rdmaguard::collective::TimingSource;
using rdmaguard::collective::Untimed;
using replay::Driver;
using replay::Event;
using replay::kSecond;

TEST(Collective, WithCollNetIsTimedThoughNoChannelIsAnnounced) {
  Driver d(5, 8);
  void* const coll = d.coll(d.group(), "AllReduce", 1000, 0);
  d.channel(coll, 0, 100, 300);
  d.channel(coll, 1, 110, 350);
  d.drain(kSecond);
  EXPECT_TRUE(d.results().empty());
  d.drain(2 * kSecond);
  EXPECT_EQ(d.only().durationNs, 250U);
  EXPECT_EQ(d.only().timing, TimingSource::KernelGpu);
}

TEST(Collective, ThatStartsAfterItStopsIsCountedAndNotTimed) {
  // A proxy thread more than 64 works behind reads later works' time stamps (NCCL 2.27 to 2.30).
  Driver d(5, 8);
  void* const coll = d.coll(d.group(), "AllReduce", 1000, 2);
  d.channel(coll, 0, 5000, 300);
  d.channel(coll, 1, 5000, 400);
  d.drain(1);
  EXPECT_EQ(d.only().untimed, Untimed::InvalidClock);
  EXPECT_EQ(d.only().busbw, 0);
  EXPECT_EQ(d.finish().untimed, 1U);
}

TEST(Collective, WhoseStopTimeIsMissingIsCountedAndNotTimed) {
  Driver d(5, 8);
  void* const coll = d.coll(d.group(), "AllReduce", 1000, 1);
  d.stop(d.channel(coll, 0, 100));
  d.drain(1);
  EXPECT_EQ(d.only().untimed, Untimed::InvalidClock);
}

TEST(Collective, ThatNeverStartsIsHandedOverAsUntimedAtTheEnd) {
  Driver d(5, 8);
  d.coll(d.group(), "AllReduce", 1000, 2);
  d.drain(kSecond);
  d.drain(30 * kSecond);
  EXPECT_TRUE(d.results().empty());
  const auto counters = d.finish();
  EXPECT_EQ(d.only().untimed, Untimed::NoChildren);
  EXPECT_EQ(counters.written, 1U);
  EXPECT_EQ(counters.dropped(), 0U);
}

TEST(Collective, TakesTheCallersDataTypeFromTheApiCall) {
  Driver d(5, 4);
  void* const api = d.collApi("AllGather", 500, false, "ncclBfloat16");
  void* const coll = d.coll(d.group(), "AllGather", 1000, 1, api, "ncclInt8");
  d.channel(coll, 0, 10, 20);
  d.drain(1);
  EXPECT_EQ(d.results().at(0).datatype, "ncclBfloat16");
  EXPECT_EQ(d.only().bytes, 4000U);
}

TEST(Collective, OfUint8HasASizeThoughNcclUpTo230CallsItUnknown) {
  for (const int version : {4, 6, 7}) {
    Driver d(version, 4);
    void* const coll = d.coll(d.group(), "AllReduce", 77, 1, nullptr, "Unknown");
    d.channel(coll, 0, 10, 20);
    d.drain(1);
    EXPECT_EQ(d.only().bytes, version == 7 ? 0U : 77U) << "v" << version;
    EXPECT_EQ(d.results().at(0).datatype, version == 7 ? "" : "ncclUint8");
  }
}

TEST(ApiCall, ThatIsNeverLaunchedIsCountedWithItsBytes) {
  // Copy-engine collectives, and Broadcast in NCCL 2.29.2 to 2.30.
  Driver d(6, 4);
  for (int i = 0; i < 3; ++i) d.stop(d.collApi("Broadcast", 100));
  void* const api = d.collApi("AllReduce", 100);
  void* const coll = d.coll(d.group(), "AllReduce", 100, 1, api);
  d.channel(coll, 0, 10, 20);
  const auto counters = d.finish();
  EXPECT_EQ(d.apiOnly(Operation::Broadcast).calls, 3U);
  EXPECT_EQ(d.apiOnly(Operation::Broadcast).bytes, 1200U);
  EXPECT_EQ(d.apiOnly(Operation::AllReduce).calls, 0U);
  EXPECT_EQ(d.apiOnly(Operation::AllReduce).bytes, 0U);
  EXPECT_EQ(counters.seen, 4U);
  EXPECT_EQ(counters.written, 4U);
  EXPECT_EQ(counters.apiOnly, 3U);
  EXPECT_EQ(counters.untimed, 3U);
}

TEST(ApiCall, MayComeInMoreKindsThanAreRemembered) {
  Driver d(6, 4);
  const char* const types[] = {"ncclInt8", "ncclFloat32", "ncclBfloat16", "ncclFloat16"};
  const char* const operations[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast"};
  std::uint64_t launched = 0;
  for (int round = 0; round < 3; ++round) {
    for (const char* operation : operations) {
      for (const char* type : types) {
        void* const api = d.collApi(operation, 64, false, type);
        void* const coll = d.coll(d.group(), operation, 64, 1, api, type);
        d.channel(coll, 0, 10, 20);
        d.drain(++launched);
        EXPECT_EQ(d.results().back().datatype, type);
        EXPECT_EQ(name(d.results().back().finished.operation), operation);
      }
    }
  }
  const auto counters = d.finish();
  EXPECT_EQ(counters.seen, launched);
  EXPECT_EQ(counters.apiOnly, 0U);
}

TEST(GraphReplay, GivesACollectiveEachAndTheCaptureNone) {
  Driver d(5, 4);
  void* const api = d.collApi("AllReduce", 1000, true);
  d.stop(api);
  for (std::uint64_t replayed = 0; replayed < 3; ++replayed) {
    void* const group = d.group();
    void* const coll = d.coll(group, "AllReduce", 1000, 1, api);
    d.stop(coll);
    d.stop(group);
    d.channel(coll, 0, 1000 * replayed + 1, 1000 * replayed + 101);
  }
  const auto counters = d.finish();
  ASSERT_EQ(d.results().size(), 3U);
  for (const auto& one : d.results()) {
    EXPECT_TRUE(one.finished.graph);
    EXPECT_EQ(one.finished.durationNs, 100U);
  }
  EXPECT_EQ(counters.seen, 3U);
  EXPECT_EQ(counters.apiOnly, 0U);
}

void* symmetric(Driver& d, void* group, std::uint64_t count, int channels) {
  Event e;
  e.type = replay::kColl;
  e.func = "AllReduce";
  e.datatype = "ncclFloat32";
  e.algo = "LL";  // the kernel variant's name stands here
  e.proto = "";
  e.count = count;
  e.channels = channels;
  e.symmetric = true;
  return d.start(e, nullptr, group);
}

TEST(SymmetricCollective, AloneInItsGroupIsTimed) {
  Driver d(7, 4);
  void* const group = d.group();
  void* const coll = symmetric(d, group, 1000, 2);
  d.stop(group);
  d.channel(coll, 0, 10, 110);
  Event phase;
  phase.type = replay::kKernelPhase;
  EXPECT_EQ(d.start(phase, coll), nullptr);
  d.channel(coll, 1, 20, 120);
  d.drain(1);
  EXPECT_TRUE(d.only().symmetric);
  EXPECT_EQ(d.only().durationNs, 110U);
  EXPECT_EQ(d.results()[0].algorithm, "LL");
  EXPECT_EQ(d.results()[0].protocol, "");
}

TEST(SymmetricCollective, SharingItsKernelWithOthersIsCountedAndNotTimed) {
  Driver d(7, 4);
  void* const group = d.group();
  void* const leader = symmetric(d, group, 1000, 2);
  symmetric(d, group, 2000, 0);
  symmetric(d, group, 3000, 0);
  d.stop(group);
  d.channel(leader, 0, 10, 110);
  d.channel(leader, 1, 10, 110);
  void* const next = d.group();
  void* const alone = symmetric(d, next, 4000, 1);
  d.stop(next);
  d.channel(alone, 0, 200, 250);
  const auto counters = d.finish();
  const auto results = replay::inOrder(d.results());
  ASSERT_EQ(results.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].finished.untimed, Untimed::SharedPlan);
    EXPECT_EQ(results[i].finished.bytes, 4000U * (i + 1));
  }
  EXPECT_EQ(results[3].finished.durationNs, 50U);
  EXPECT_EQ(counters.untimed, 3U);
}

TEST(KernelEvents, TurnedOffFromOutsideLeaveUntimedCollectivesAndNoLosses) {
  // A RAS client can change the mask for the whole job (NCCL 2.31 and later).
  Driver d(7, 4);
  for (int i = 0; i < 3 * 4096; ++i) {
    void* const group = d.group();
    d.coll(group, "AllReduce", 1000, 2);
    d.stop(group);
    if (i % 512 == 0) d.drain(static_cast<std::uint64_t>(i));
  }
  const auto counters = d.finish();
  EXPECT_EQ(counters.written, 3U * 4096);
  EXPECT_EQ(counters.untimed, 3U * 4096);
  EXPECT_EQ(counters.dropped(), 0U);
}

TEST(Words, UnknownToThisReleaseAreKeptAndTooManyOfThemSaySo) {
  rdmaguard::collective::Names names{};
  std::vector<rdmaguard::collective::NameCode> codes;
  for (int i = 0; i < 32; ++i) {
    codes.push_back(names.code(("Variant" + std::to_string(i)).c_str()));
  }
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(names.name(codes[static_cast<std::size_t>(i)]), "Variant" + std::to_string(i));
    EXPECT_EQ(names.code(("Variant" + std::to_string(i)).c_str()),
              codes[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(names.name(names.code("OneTooMany")), "other");
  EXPECT_EQ(names.name(names.code("RING")), "RING");
  EXPECT_EQ(names.name(names.code(nullptr)), "");
  const std::string endless(500, 'z');
  rdmaguard::collective::Names fresh{};
  EXPECT_EQ(fresh.name(fresh.code(endless.c_str())), endless.substr(0, 47));
}

}  // namespace
