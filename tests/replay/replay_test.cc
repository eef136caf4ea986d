// Recorded callbacks of three NCCL releases through the interfaces v4 to v7: every collective comes
// out as the trace implies, also when the host misbehaves.
#include <gtest/gtest.h>

#include <random>

#include "compare.h"

namespace {

using replay::Callback;
using replay::Event;
using replay::Options;
using replay::Outcomes;
using replay::Trace;

constexpr std::uint32_t kColl = 2, kProxyOp = 8, kKernelCh = 64;

struct Source {
  std::string file;
  int version;
};

std::vector<Source> sources() {
  std::vector<Source> all;
  const auto add = [&all](const std::string& release, std::vector<int> versions) {
    for (const std::string& file : replay::tracesOf(release)) {
      for (const int version : versions) all.push_back({file, version});
    }
  };
  add("v2.27.7-1", {4});
  // v6 and v7 are v5 with more kinds: what was recorded from one release serves the later ones.
  add("v2.28.9-1", {5, 6, 7});
  add("v2.30.7-1", {6, 7});
  return all;
}

class RecordedTrace : public testing::TestWithParam<Source> {
 protected:
  Trace trace_ = replay::readTrace(GetParam().file);
  Options options_ = [] {
    Options o;
    o.version = GetParam().version;
    return o;
  }();

  /// The first event of a kind, for tests that need one to misuse.
  const Event& first(Callback callback, std::uint32_t type) const {
    for (const Event& e : trace_) {
      if (e.callback == callback && e.type == type) return e;
    }
    throw std::runtime_error("no such event");
  }
};

TEST_P(RecordedTrace, GivesEveryCollectiveAsTheTraceImplies) {
  expectSame(replay::run(trace_, options_), trace_);
}

TEST_P(RecordedTrace, IsTheSameWhenDrainedBetweenCallbacks) {
  options_.drainLive = true;
  options_.threads = false;
  expectSame(replay::run(trace_, options_), trace_);
}

TEST_P(RecordedTrace, IsTheSameWithWordsInMemoryThatChanges) {
  options_.literals = false;
  options_.threads = false;
  expectSame(replay::run(trace_, options_), trace_);
}

TEST_P(RecordedTrace, IsTheSameWhenTheCommunicatorIsInitialisedTwice) {
  options_.initTwice = true;
  const Outcomes outcomes = replay::run(trace_, options_);
  expectSame(outcomes, trace_);
  for (const auto& [context, outcome] : outcomes) {
    if (context > 0) continue;
    EXPECT_EQ(outcome.counters.seen, 0U);
    EXPECT_TRUE(outcome.finished.empty());
  }
}

TEST_P(RecordedTrace, IsTheSameWhenStopsOfTheLaunchingThreadAreMissing) {
  options_.threads = false;
  std::map<int, std::uint32_t> types;
  for (const Event& e : trace_) {
    if (e.callback == Callback::Start) types[e.handle] = e.type;
  }
  options_.skip = [types](const Event& e) {
    if (e.callback != Callback::Stop) return false;
    const auto found = types.find(e.handle);
    return found != types.end() && found->second != kKernelCh;
  };
  expectSame(replay::run(trace_, options_), trace_);
}

TEST_P(RecordedTrace, IsTheSameWhenOldAndForeignHandlesAreUsed) {
  options_.threads = false;
  std::mt19937_64 random(7);
  std::uint64_t misused = 0;
  const auto before = rdmaguard::collective::strays().staleHandles;
  options_.before = [&](const Event&, const std::map<int, void*>& handles) {
    // Handles of this run whose collectives are long over, and numbers that never were handles.
    std::vector<void*> wrong;
    int age = 0;
    for (auto it = handles.rbegin(); it != handles.rend(); ++it) {
      if (++age > 60 && age < 80) wrong.push_back(it->second);
    }
    for (int i = 0; i < 4; ++i) {
      wrong.push_back(reinterpret_cast<void*>(random()));  // NOLINT(performance-no-int-to-ptr)
    }
    for (void* handle : wrong) {
      std::uint64_t time = ~std::uint64_t{0} / 2;
      replay::recordEventState(options_.version, handle, 22, &time);
      replay::stopEvent(options_.version, handle);
      Event child;
      child.type = kKernelCh;
      child.pTimer = 1;
      replay::startEvent(options_.version, nullptr, child, handle, nullptr);
      ++misused;
    }
  };
  // What is still under way must not be misused: keep to traces where 60 handles ago is over.
  expectSame(replay::run(trace_, options_), trace_);
  EXPECT_GT(misused, 0U);
  EXPECT_GT(rdmaguard::collective::strays().staleHandles, before);
}

TEST_P(RecordedTrace, IsTheSameBesideProxyOperationsOfAnotherProcess) {
  options_.threads = false;
  std::vector<void*> given;
  const auto before = rdmaguard::collective::strays().foreignPids;
  options_.before = [&](const Event&, const std::map<int, void*>&) {
    Event op;
    op.type = kProxyOp;
    op.foreign = true;
    // With PXN context and parent are addresses of the other process.
    void* const elsewhere = reinterpret_cast<void*>(0x7eadbeef000);
    given.push_back(replay::startEvent(options_.version, elsewhere, op, elsewhere, elsewhere));
  };
  expectSame(replay::run(trace_, options_), trace_);
  for (void* handle : given) EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(rdmaguard::collective::strays().foreignPids, before + given.size());
}

TEST_P(RecordedTrace, DropsTheOneCollectiveWhoseChannelNeverStops) {
  options_.threads = false;
  const int channel = first(Callback::Start, kKernelCh).handle;
  const int task = first(Callback::Start, kKernelCh).parent;
  options_.skip = [channel](const Event& e) {
    return e.callback == Callback::Stop && e.handle == channel;
  };
  Trace rest = trace_;
  std::erase_if(rest, [task](const Event& e) {
    return e.callback == Callback::Start && (e.handle == task || e.parent == task);
  });
  const Outcomes outcomes = replay::run(trace_, options_);
  const auto all = replay::expectedFrom(trace_);
  std::uint64_t incomplete = 0, written = 0, expected = 0;
  for (const auto& [context, outcome] : outcomes) {
    replay::expectBalanced(outcome.counters);
    incomplete += outcome.counters.droppedIncomplete;
    written += outcome.finished.size();
    expected += all.at(context).finished.size();
  }
  EXPECT_EQ(incomplete, 1U);
  EXPECT_EQ(written, expected - 1);
}

TEST_P(RecordedTrace, SurvivesNullWords) {
  options_.nullWords = true;
  options_.threads = false;
  const Outcomes outcomes = replay::run(trace_, options_);
  const auto expected = replay::expectedFrom(trace_);
  for (const auto& [context, communicator] : expected) {
    const auto& outcome = outcomes.at(context);
    replay::expectBalanced(outcome.counters);
    // Without a word there is no direction to join sends and receives by: at least as many.
    EXPECT_GE(outcome.finished.size(), communicator.finished.size());
    for (const auto& one : outcome.finished) {
      EXPECT_EQ(one.finished.operation, rdmaguard::Operation::Unknown);
      EXPECT_EQ(one.finished.bytes, 0U);
    }
  }
}

TEST_P(RecordedTrace, AsksForKernelEventsAndNotForNetPlugin) {
  const Outcomes outcomes = replay::run(trace_, options_);
  for (const auto& [context, outcome] : outcomes) {
    EXPECT_EQ(outcome.mask, int(kColl | 4 | kKernelCh));
    EXPECT_EQ(outcome.mask & 128, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedTrace, testing::ValuesIn(sources()),
                         [](const testing::TestParamInfo<Source>& info) {
                           std::string name =
                               "v" + std::to_string(info.param.version) + "_" + info.param.file;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
