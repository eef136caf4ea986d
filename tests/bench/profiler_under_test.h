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

/// The callbacks of one 16-channel all-reduce. Like NCCL it makes each descriptor on its stack just
/// before the call and keeps only the handles.
class Collective {
 public:
  /// The launching thread's ten.
  void launch(const ProfilerUnderTest& profiler);
  /// The proxy thread's 48, in the order recorded from NCCL: all channels start, then each records
  /// its stop and stops.
  void progress(const ProfilerUnderTest& profiler, void* collective);
  void* handle() const { return coll_; }

  // One kind at a time, for the price of each.
  void startGroupApi(const ProfilerUnderTest& p) {
    Descriptor event{};
    event.type = nccl_abi::event_type::kGroupApi;
    event.groupApi.groupDepth = 1;
    groupApi_ = p.start(event);
  }
  void recordGroupApi(const ProfilerUnderTest& p) {
    p.record(groupApi_, nccl_abi::EventState::GroupStartApiStop, nullptr);
  }
  void startCollApi(const ProfilerUnderTest& p) {
    Descriptor event{};
    event.type = nccl_abi::event_type::kCollApi;
    event.parentObj = groupApi_;
    event.collApi.func = "AllReduce";
    event.collApi.count = kCount;
    event.collApi.datatype = "ncclFloat32";
    collApi_ = p.start(event);
  }
  void stopCollApi(const ProfilerUnderTest& p) { p.stop(collApi_); }
  void endGroupApi(const ProfilerUnderTest& p) {
    p.record(groupApi_, nccl_abi::EventState::GroupEndApiStart, nullptr);
  }
  void startGroup(const ProfilerUnderTest& p) {
    Descriptor event{};
    event.type = nccl_abi::event_type::kGroup;
    group_ = p.start(event);
  }
  void startColl(const ProfilerUnderTest& p) {
    Descriptor event{};
    event.type = nccl_abi::event_type::kColl;
    event.parentObj = collApi_;
    event.coll.parentGroup = group_;
    event.coll.seqNumber = ++sequence_;
    event.coll.func = "AllReduce";
    event.coll.count = kCount;
    event.coll.datatype = "ncclFloat32";
    event.coll.nChannels = kChannels;
    event.coll.nWarps = 16;
    event.coll.algo = "RING";
    event.coll.proto = "SIMPLE";
    coll_ = p.start(event);
  }
  void stopColl(const ProfilerUnderTest& p) { p.stop(coll_); }
  void stopGroup(const ProfilerUnderTest& p) { p.stop(group_); }
  void stopGroupApi(const ProfilerUnderTest& p) { p.stop(groupApi_); }
  void startChannel(const ProfilerUnderTest& p, void* collective, int channel) {
    Descriptor event{};
    event.type = nccl_abi::event_type::kKernelCh;
    event.parentObj = collective;
    event.kernelCh.channelId = static_cast<std::uint8_t>(channel);
    event.kernelCh.pTimer = ++gpuNs_;
    channels_[static_cast<std::size_t>(channel)] = p.start(event);
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
  static constexpr std::size_t kCount = 1 << 20;
  void* groupApi_ = nullptr;
  void* collApi_ = nullptr;
  void* group_ = nullptr;
  void* coll_ = nullptr;
  std::uint64_t sequence_ = 0;
  std::uint64_t gpuNs_ = 1'700'000'000'000'000'000;
  std::array<void*, kChannels> channels_{};
};

}  // namespace bench
