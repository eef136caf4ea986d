// See proxy.h.
#include "proxy.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdmaguard::job {

using nccl_abi::EventState;

Worker::Worker() : thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Worker::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    if (failure && !failure_) failure_ = failure;
    changed_.notify_all();
  }
}

std::uint64_t nowNs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

Proxy::Proxy(Ring& ring, Profiler* profiler, const RingShape& shape, bool kernelThread)
    : ring_(ring), profiler_(profiler), shape_(shape) {
  if (kernelThread) kernel_.emplace();
}

void Proxy::start(const CollectiveEvents& events) {
  progress_.post([this, events] {
    events_ = events;
    firstStart_ = UINT64_MAX;
    lastStop_ = 0;
    ring_.run(*this);
  });
}

std::uint64_t Proxy::wait() {
  progress_.drain();
  return lastStop_ - firstStart_;
}

void Proxy::drain() {
  progress_.drain();
  if (kernel_) kernel_->drain();
}

void Proxy::deliverKernel(std::function<void()> event) {
  if (kernel_) {
    kernel_->post(std::move(event));
  } else {
    event();
  }
}

void Proxy::channelStarted(int channel, int transfers, int pieceBytes) {
  const std::uint64_t start = nowNs();
  firstStart_ = std::min(firstStart_, start);
  if (profiler_ == nullptr) return;
  channels_.resize(std::max(channels_.size(), static_cast<std::size_t>(channel) + 1));
  ChannelState& state = channels_[static_cast<std::size_t>(channel)];
  const int next = (shape_.rank + 1) % shape_.ranks;
  const int previous = (shape_.rank + shape_.ranks - 1) % shape_.ranks;
  for (const bool isSend : {true, false}) {
    Op& op = isSend ? state.send : state.receive;
    op = {};
    op.handle = profiler_->startProxyOp(events_, channel, isSend ? next : previous, transfers,
                                        pieceBytes, isSend);
    profiler_->proxyOpProgress(op.handle, isSend, false, 0, 0);
  }
  state.kernel = std::make_shared<void*>(nullptr);
  deliverKernel([this, channel, start, events = events_, handle = state.kernel] {
    *handle = profiler_->startKernelCh(events, channel, start);
  });
}

void Proxy::posted(int channel, bool isSend, int index) {
  if (profiler_ == nullptr) return;
  ChannelState& state = channels_[static_cast<std::size_t>(channel)];
  Op& op = isSend ? state.send : state.receive;
  op.stepHandles.push_back(profiler_->startProxyStep(events_, op.handle, index));
  profiler_->proxyStepState(
      op.stepHandles.back(),
      isSend ? EventState::ProxyStepSendGpuWait : EventState::ProxyStepRecvWait, 0);
  if (isSend) profiler_->proxyStepState(op.stepHandles.back(), EventState::ProxyStepSendWait, 0);
}

void Proxy::transferred(int channel, bool isSend, int, std::size_t bytes) {
  if (profiler_ == nullptr) return;
  ChannelState& state = channels_[static_cast<std::size_t>(channel)];
  Op& op = isSend ? state.send : state.receive;
  op.bytes += bytes;
  ++op.steps;
  void* step = op.stepHandles.front();
  op.stepHandles.pop_front();
  if (!isSend) {
    profiler_->proxyStepState(step, EventState::ProxyStepRecvFlushWait, bytes);
    profiler_->proxyStepState(step, EventState::ProxyStepRecvGpuWait, bytes);
  }
  profiler_->stop(step);
}

void Proxy::channelDone(int channel) {
  const std::uint64_t stop = nowNs();
  lastStop_ = std::max(lastStop_, stop);
  if (profiler_ == nullptr) return;
  ChannelState& state = channels_[static_cast<std::size_t>(channel)];
  for (const bool isSend : {true, false}) {
    Op& op = isSend ? state.send : state.receive;
    profiler_->proxyOpProgress(op.handle, isSend, true, op.bytes, op.steps);
    profiler_->stop(op.handle);
  }
  deliverKernel([this, stop, handle = state.kernel] { profiler_->stopKernelCh(*handle, stop); });
}

}  // namespace rdmaguard::job
