// The job's counterpart of NCCL's proxy: a progress thread that moves a collective's data and
// reports it to the profiler, and from 2.31 on a second thread that delivers the kernel times.
// There is no GPU: a channel's "kernel" is its part of the ring, timed by the monotonic clock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "profiler.h"
#include "ring.h"

namespace rdmaguard::job {

/// Runs functions one after another on a thread of its own.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Any thread; never blocks on the work.
  void post(std::function<void()> work);
  /// Waits until all that was posted is done; rethrows the first failure.
  void drain();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

/// Monotonic clock, ns: what stands in for the GPU's global timer.
std::uint64_t nowNs();

class Proxy final : private RingObserver {
 public:
  /// `profiler` may be null. `kernelThread` as in Release.
  Proxy(Ring& ring, Profiler* profiler, const RingShape& shape, bool kernelThread);

  /// Main thread: hands a collective over, as uploading proxy operations does.
  void start(const CollectiveEvents& events);
  /// Main thread: waits for it; returns the time from its first channel's start to the last
  /// channel's end, ns - exactly the figures the profiler was given.
  std::uint64_t wait();
  /// Main thread, before the profiler is finalized: all events delivered.
  void drain();

 private:
  struct Op {
    void* handle = nullptr;
    std::size_t bytes = 0;
    int steps = 0;
    std::deque<void*> stepHandles;
  };
  struct ChannelState {
    Op send, receive;
    std::shared_ptr<void*> kernel;
  };

  void channelStarted(int channel, int transfers, int pieceBytes) override;
  void posted(int channel, bool isSend, int index) override;
  void transferred(int channel, bool isSend, int index, std::size_t bytes) override;
  void channelDone(int channel) override;
  void deliverKernel(std::function<void()> event);

  Ring& ring_;
  Profiler* profiler_;
  RingShape shape_;
  CollectiveEvents events_;
  std::vector<ChannelState> channels_;
  std::uint64_t firstStart_ = 0;
  std::uint64_t lastStop_ = 0;
  // Destroyed first, in this order: the progress thread posts to the kernel thread.
  std::optional<Worker> kernel_;
  Worker progress_;
};

}  // namespace rdmaguard::job
