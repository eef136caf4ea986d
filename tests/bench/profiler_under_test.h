// A profiler plugin of any maker, loaded as NCCL loads one, and the callbacks NCCL makes around one
// collective (2.28 to 2.30, non-blocking launch, one call a group). For profiler_bench.
#pragma once

#include <array>
#include <string>

#include "nccl_abi/profiler_v5.h"

namespace bench {

using Descriptor = nccl_abi::profiler_v5::EventDescriptor;  // v6: the same bytes for these events
using StateArgs = nccl_abi::profiler_v5::EventStateArgs;

/// A loaded plugin with one communicator of 16 ranks on 2 nodes. Ends the process with a sentence
/// when it cannot be had.
class ProfilerUnderTest {
 public:
  explicit ProfilerUnderTest(const std::string& path);
  ~ProfilerUnderTest();
  ProfilerUnderTest(const ProfilerUnderTest&) = delete;
  ProfilerUnderTest& operator=(const ProfilerUnderTest&) = delete;

  void* start(Descriptor& event) const {
    void* handle = nullptr;
    calls_.startEvent(context_, &handle, &event);
    return handle;
  }
  void stop(void* handle) const { calls_.stopEvent(handle); }
  void record(void* handle, nccl_abi::EventState state, StateArgs* args) const {
    calls_.recordEventState(handle, state, args);
  }
  const std::string& name() const { return name_; }

 private:
  nccl_abi::profiler_v5::Profiler calls_{};
  void* context_ = nullptr;
  std::string name_;
};

inline constexpr int kChannels = 16;

/// The callbacks of one 16-channel all-reduce.
class Collective {
 public:
  Collective();
  /// The launching thread's ten.
  void launch(const ProfilerUnderTest& profiler);
  /// The proxy thread's 48, in the order recorded from NCCL: all channels start, then each records
  /// its stop and stops.
  void progress(const ProfilerUnderTest& profiler, void* collective);
  void* handle() const { return coll_; }

  // One kind at a time, for the price of each.
  void startGroupApi(const ProfilerUnderTest& p) { groupApi_ = p.start(groupApiEvent_); }
  void recordGroupApi(const ProfilerUnderTest& p) {
    p.record(groupApi_, nccl_abi::EventState::GroupStartApiStop, nullptr);
  }
  void startCollApi(const ProfilerUnderTest& p) {
    collApiEvent_.parentObj = groupApi_;
    collApi_ = p.start(collApiEvent_);
  }
  void stopCollApi(const ProfilerUnderTest& p) { p.stop(collApi_); }
  void endGroupApi(const ProfilerUnderTest& p) {
    p.record(groupApi_, nccl_abi::EventState::GroupEndApiStart, nullptr);
  }
  void startGroup(const ProfilerUnderTest& p) { group_ = p.start(groupEvent_); }
  void startColl(const ProfilerUnderTest& p) {
    collEvent_.parentObj = collApi_;
    collEvent_.coll.parentGroup = group_;
    ++collEvent_.coll.seqNumber;
    coll_ = p.start(collEvent_);
  }
  void stopColl(const ProfilerUnderTest& p) { p.stop(coll_); }
  void stopGroup(const ProfilerUnderTest& p) { p.stop(group_); }
  void stopGroupApi(const ProfilerUnderTest& p) { p.stop(groupApi_); }
  void startChannel(const ProfilerUnderTest& p, void* collective, int channel) {
    channelEvent_.parentObj = collective;
    channelEvent_.kernelCh.channelId = static_cast<std::uint8_t>(channel);
    channelEvent_.kernelCh.pTimer = ++gpuNs_;
    channels_[static_cast<std::size_t>(channel)] = p.start(channelEvent_);
  }
  void recordChannel(const ProfilerUnderTest& p, int channel) {
    StateArgs args{};
    args.kernelCh.pTimer = gpuNs_ + 50'000;
    p.record(channels_[static_cast<std::size_t>(channel)], nccl_abi::EventState::KernelChStop,
             &args);
  }
  void stopChannel(const ProfilerUnderTest& p, int channel) {
    p.stop(channels_[static_cast<std::size_t>(channel)]);
  }

 private:
  Descriptor groupApiEvent_{}, collApiEvent_{}, groupEvent_{}, collEvent_{}, channelEvent_{};
  void* groupApi_ = nullptr;
  void* collApi_ = nullptr;
  void* group_ = nullptr;
  void* coll_ = nullptr;
  std::array<void*, kChannels> channels_{};
  std::uint64_t gpuNs_ = 1'700'000'000'000'000'000;
};

}  // namespace bench
