// Many threads at once: launching and proxy threads of several communicators, a graph's callback
// thread beside a launching one, and the thread that drains. Meant for the thread sanitizer too.
#include <atomic>
#include <thread>

#include "driver.h"

namespace {

using rdmaguard::collective::Communicator;
using rdmaguard::collective::Counters;
using rdmaguard::collective::Finished;

constexpr int kCollectives = 20'000;

/// Handles on their way from a launching thread to its proxy thread.
class Mailbox {
 public:
  bool put(void* task) {
    const auto at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kSize) return false;
    tasks_[at % kSize] = task;
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  bool take(void*& task) {
    const auto at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return false;
    task = tasks_[at % kSize];
    read_.store(at + 1, std::memory_order_release);
    return true;
  }

 private:
  // Well under half a ring: beyond that, drain takes a collective that has not started for one
  // whose kernel events are off.
  static constexpr std::size_t kSize = 256;
  std::array<void*, kSize> tasks_{};
  std::atomic<std::size_t> written_{0}, read_{0};
};

replay::Event allReduce() {
  replay::Event e;
  e.type = replay::kColl;
  e.func = "AllReduce";
  e.datatype = "ncclFloat32";
  e.algo = "RING";
  e.proto = "SIMPLE";
  e.count = 1000;
  e.channels = 4;
  return e;
}

void launch(Communicator* c, Mailbox& to, bool captured) {
  replay::Event api = allReduce();
  api.type = replay::kCollApi;
  api.graph = captured;
  replay::Event group;
  group.type = replay::kGroup;
  const replay::Event coll = allReduce();
  void* apiHandle = captured ? replay::startEvent(5, c, api, nullptr, nullptr) : nullptr;
  for (int i = 0; i < kCollectives; ++i) {
    if (!captured) {
      apiHandle = replay::startEvent(5, c, api, nullptr, nullptr);
      replay::stopEvent(5, apiHandle);
    }
    void* const groupHandle = replay::startEvent(5, c, group, nullptr, nullptr);
    void* const task = replay::startEvent(5, c, coll, apiHandle, groupHandle);
    while (!to.put(task)) std::this_thread::yield();
    replay::stopEvent(5, task);
    replay::stopEvent(5, groupHandle);
  }
}

/// Every collective lasts 40 + its number ns by construction, so a mixed-up one shows.
void progress(Mailbox& from) {
  replay::Event channel;
  channel.type = replay::kKernelCh;
  for (int i = 0; i < kCollectives; ++i) {
    void* task = nullptr;
    while (!from.take(task)) std::this_thread::yield();
    std::array<void*, 4> handles{};
    for (int n = 0; n < 4; ++n) {
      channel.channel = n;
      channel.pTimer = std::uint64_t(i) * 100 + 1 + std::uint64_t(n);
      handles[std::size_t(n)] = replay::startEvent(5, nullptr, channel, task, nullptr);
    }
    for (int n = 0; n < 4; ++n) {
      std::uint64_t stop = std::uint64_t(i) * 100 + 50 + std::uint64_t(n);
      replay::recordEventState(5, handles[std::size_t(n)], 22, &stop);
      replay::stopEvent(5, handles[std::size_t(n)]);
    }
  }
}

TEST(Stress, LaunchesProgressAndDrainsOfSeveralCommunicatorsDoNotDisturbEachOther) {
  constexpr std::size_t kCommunicators = 3;
  struct One {
    Communicator* communicator = rdmaguard::collective::open({5, 8, 0, nullptr});
    // Two launching threads: the application's, and CUDA's that replays a graph.
    Mailbox calls, replays;
    std::uint64_t written = 0, wrong = 0;
  };
  std::array<One, kCommunicators> all;
  std::vector<std::thread> threads;
  for (One& one : all) {
    threads.emplace_back([&one] { launch(one.communicator, one.calls, false); });
    threads.emplace_back([&one] { launch(one.communicator, one.replays, true); });
    threads.emplace_back([&one] { progress(one.calls); });
    threads.emplace_back([&one] { progress(one.replays); });
  }
  const auto sinkOf = [](One& one) {
    return [&one](const Finished& f) {
      ++one.written;
      // One whose proxy thread got no processor for most of a ring is given up as untimed.
      if (f.untimed == rdmaguard::collective::Untimed::NoChildren) return;
      if (f.durationNs != 52 || f.bytes != 4000 || f.algorithm != "RING") ++one.wrong;
    };
  };
  std::atomic<bool> over{false};
  std::thread drainer([&] {
    while (!over.load()) {
      for (One& one : all) rdmaguard::collective::drain(*one.communicator, sinkOf(one));
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  over.store(true);
  drainer.join();
  for (One& one : all) {
    const Counters c = rdmaguard::collective::finish(*one.communicator, sinkOf(one));
    EXPECT_EQ(c.seen, 2U * kCollectives);
    replay::expectBalanced(c);
    EXPECT_EQ(c.written, one.written + c.apiOnly);
    EXPECT_EQ(one.wrong, 0U);
    EXPECT_EQ(c.apiOnly, 0U);
    rdmaguard::collective::close(one.communicator);
  }
}

TEST(Stress, CommunicatorsComeAndGoBesideOthersAtWork) {
  std::atomic<std::uint64_t> unbalanced{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&unbalanced] {
      for (int i = 0; i < 100; ++i) {
        replay::Driver d(6, 4);
        for (std::uint64_t k = 0; k < 20; ++k) {
          void* const group = d.group();
          void* const coll = d.coll(group, "AllReduce", 1000, 1);
          d.stop(group);
          d.channel(coll, 0, k + 1, k + 11);
        }
        const Counters c = d.finish();
        if (c.seen != 20 || c.written != 20) unbalanced.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unbalanced.load(), 0U);
}

}  // namespace
