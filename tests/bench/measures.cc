// See measures.h.
#include "measures.h"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPace = std::chrono::milliseconds(1);

void pinTo(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  // Refused in some containers: then the figures are noisier, no more.
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::array<Collective, kBatch>& collectives() {
  static auto batch = std::make_unique<std::array<Collective, kBatch>>();
  return *batch;
}

/// A window of memory that moves on with each walk, so that nothing of the last one is left.
class Pollution {
 public:
  explicit Pollution(std::size_t bytes) : window_(bytes / 8), memory_(bytes == 0 ? 0 : kWhole) {}

  void walk() {
    if (window_ == 0) return;
    for (std::size_t i = 0; i < window_; i += 8) {
      memory_[at_] += 1;
      at_ = (at_ + 8) % kWhole;
    }
  }

 private:
  static constexpr std::size_t kWhole = (std::size_t{128} << 20) / 8;
  std::size_t window_;
  std::size_t at_ = 0;
  std::vector<std::uint64_t> memory_;
};

template <class Call>
double timed(int calls, Call call) {
  const CountingHere counting;
  const std::uint64_t begin = ticks();
  call();
  return double(ticks() - begin) * nsPerTick() / calls;
}

}  // namespace

std::uint64_t ticks() {
#if defined(__x86_64__)
  unsigned processor = 0;
  const std::uint64_t now = __rdtscp(&processor);
  _mm_lfence();
  return now;
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

double nsPerTick() {
  static const double value = [] {
    const auto wall = Clock::now();
    const std::uint64_t begin = ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::uint64_t end = ticks();
    return std::chrono::duration<double, std::nano>(Clock::now() - wall).count() /
           double(end - begin);
  }();
  return value;
}

const std::vector<CallbackKind>& callbackKinds() {
  static const std::vector<CallbackKind> kinds{
      {"start GroupApi", false}, {"record GroupApi", false}, {"start CollApi", false},
      {"stop CollApi", false},   {"start Group", false},     {"start Coll", false},
      {"stop Coll", false},      {"stop Group", false},      {"stop GroupApi", false},
      {"start KernelCh", true},  {"record KernelCh", true},  {"stop KernelCh", true}};
  return kinds;
}

std::vector<double> perCallback(const ProfilerUnderTest& p) {
  auto& batch = collectives();
  std::vector<double> ns;
  const auto each = [&](auto call) {
    ns.push_back(timed(kBatch, [&] {
      for (Collective& c : batch) call(c);
    }));
  };
  const auto eachChannel = [&](auto call) {
    ns.push_back(timed(kBatch * kChannels, [&] {
      for (Collective& c : batch) {
        for (int channel = 0; channel < kChannels; ++channel) call(c, channel);
      }
    }));
  };
  each([&](Collective& c) { c.startGroupApi(p); });
  each([&](Collective& c) { c.recordGroupApi(p); });
  each([&](Collective& c) { c.startCollApi(p); });
  each([&](Collective& c) { c.stopCollApi(p); });
  each([&](Collective& c) { c.startGroup(p); });
  each([&](Collective& c) { c.startColl(p); });
  each([&](Collective& c) { c.stopColl(p); });
  each([&](Collective& c) { c.stopGroup(p); });
  each([&](Collective& c) { c.stopGroupApi(p); });
  eachChannel([&](Collective& c, int channel) { c.startChannel(p, c.handle(), channel); });
  eachChannel([&](Collective& c, int channel) { c.recordChannel(p, channel); });
  eachChannel([&](Collective& c, int channel) { c.stopChannel(p, channel); });
  return ns;
}

Sides perCollective(const ProfilerUnderTest& p) {
  auto& batch = collectives();
  Sides sides;
  sides.launchNs = timed(kBatch, [&] {
    for (Collective& c : batch) c.launch(p);
  });
  sides.proxyNs = timed(kBatch, [&] {
    for (Collective& c : batch) c.progress(p, c.handle());
  });
  return sides;
}

struct Paced::State {
  explicit State(std::size_t bytes) : mine(bytes), theirs(bytes), due(Clock::now()) {}

  std::atomic<const ProfilerUnderTest*> profiler{nullptr};
  Collective collective;
  Pollution mine, theirs;
  Clock::time_point due;
  /// Turn 2k: the proxy pollutes and waits; 2k+1: a collective was launched.
  alignas(64) std::atomic<std::uint64_t> turn{0};
  alignas(64) std::atomic<std::uint64_t> answered{0};
  std::atomic<void*> handle{nullptr};
  std::atomic<bool> over{false};
  double proxyNs = 0;
  std::thread proxy;

  void progress() {
    pinTo(1);
    for (std::uint64_t seen = 1; !over.load(std::memory_order_relaxed);) {
      const std::uint64_t now = turn.load(std::memory_order_acquire);
      if (now == seen) continue;
      seen = now;
      if ((now & 1) == 0) {
        theirs.walk();
      } else {
        void* const coll = handle.load(std::memory_order_relaxed);
        const ProfilerUnderTest& p = *profiler.load(std::memory_order_relaxed);
        proxyNs = timed(1, [&] { collective.progress(p, coll); });
      }
      answered.store(now, std::memory_order_release);
    }
  }

  void next() {
    const std::uint64_t now = turn.load(std::memory_order_relaxed) + 1;
    turn.store(now, std::memory_order_release);
  }
  void await() const {
    while (answered.load(std::memory_order_acquire) != turn.load(std::memory_order_relaxed)) {
    }
  }
};

Paced::Paced(std::size_t polluteBytes) : state_(new State(polluteBytes)) {
  pinTo(0);
  state_->next();  // turn 1 is skipped: turns count from an even one
  state_->answered.store(1);
  state_->proxy = std::thread([this] { state_->progress(); });
  state_->handle.store(nullptr);
}

Paced::~Paced() {
  state_->over.store(true);
  state_->proxy.join();
  delete state_;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}

Sides Paced::once(const ProfilerUnderTest& profiler) {
  State& s = *state_;
  s.profiler.store(&profiler, std::memory_order_relaxed);
  s.next();  // even: both pollute
  s.mine.walk();
  s.await();
  s.due = std::max(s.due + kPace, Clock::now());
  while (Clock::now() < s.due) {
  }
  Sides sides;
  sides.launchNs = timed(1, [&] { s.collective.launch(profiler); });
  s.handle.store(s.collective.handle(), std::memory_order_relaxed);
  s.next();  // odd: the proxy answers
  s.await();
  sides.proxyNs = s.proxyNs;
  return sides;
}

}  // namespace bench
