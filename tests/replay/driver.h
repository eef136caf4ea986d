// A communicator that a test drives callback by callback, with its own clock for drain. For
// sequences that no trace holds.
#pragma once

#include <gtest/gtest.h>

#include "compare.h"
#include "replayer.h"

namespace replay {

inline constexpr std::uint32_t kGroup = 1, kColl = 2, kP2p = 4, kProxyOp = 8, kKernelCh = 64,
                               kGroupApi = 256, kCollApi = 512, kP2pApi = 1024,
                               kKernelPhase = 32768;
inline constexpr std::uint64_t kSecond = 1'000'000'000;

class Driver {
 public:
  Driver(int version, int nRanks, int rank = 0)
      : version_(version),
        communicator_(rdmaguard::collective::open({version, nRanks, rank, &kInside})) {
    if (communicator_ == nullptr) throw std::runtime_error("open refused");
  }
  ~Driver() {
    if (communicator_ != nullptr) finish();
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void* start(const Event& e, void* parent = nullptr, void* group = nullptr) {
    return startEvent(version_, communicator_, e, parent, group);
  }
  void stop(void* handle) { stopEvent(version_, handle); }

  void* group() { return start(ofType(kGroup)); }

  /// A Coll; `parent` is the API call (v5+) or ignored.
  void* coll(void* group, const std::string& func, std::uint64_t count, int channels,
             void* api = nullptr, const std::string& datatype = "ncclFloat32") {
    Event e;
    e.type = kColl;
    e.func = func;
    e.datatype = datatype;
    e.algo = "RING";
    e.proto = "SIMPLE";
    e.count = count;
    e.channels = channels;
    return start(e, version_ >= 5 ? api : group, group);
  }

  void* p2p(void* group, const std::string& func, int peer, std::uint64_t count, int channels) {
    Event e;
    e.type = kP2p;
    e.func = func;
    e.datatype = "ncclFloat32";
    e.peer = peer;
    e.count = count;
    e.channels = channels;
    return start(e, version_ >= 5 ? nullptr : group, group);
  }

  void* collApi(const std::string& func, std::uint64_t count, bool captured = false,
                const std::string& datatype = "ncclFloat32") {
    Event e;
    e.type = kCollApi;
    e.func = func;
    e.datatype = datatype;
    e.count = count;
    e.graph = captured;
    return start(e);
  }

  void* channel(void* task, int number, std::uint64_t startNs) {
    Event e;
    e.type = kKernelCh;
    e.channel = number;
    e.pTimer = startNs;
    return start(e, task);
  }
  void stopChannel(void* handle, std::uint64_t stopNs) {
    recordEventState(version_, handle, 22, &stopNs);
    stop(handle);
  }
  /// One channel from start to stop.
  void channel(void* task, int number, std::uint64_t startNs, std::uint64_t stopNs) {
    stopChannel(channel(task, number, startNs), stopNs);
  }
  void* proxyOp(void* task) { return start(ofType(kProxyOp), task); }

  /// Drains at `nowNs` on the test's clock; what came out is in results().
  void drain(std::uint64_t nowNs) { rdmaguard::collective::drain(*communicator_, sink(), nowNs); }
  rdmaguard::collective::Counters finish() {
    if (communicator_ == nullptr) return counters_;
    counters_ = rdmaguard::collective::finish(*communicator_, sink());
    apiOnly_ = rdmaguard::collective::apiOnly(*communicator_);
    rdmaguard::collective::close(communicator_);
    communicator_ = nullptr;
    expectBalanced(counters_);
    return counters_;
  }

  const std::vector<Collected>& results() const { return results_; }
  const rdmaguard::collective::Finished& only() const {
    EXPECT_EQ(results_.size(), 1U);
    return results_.at(0).finished;
  }
  rdmaguard::collective::ApiOnly apiOnly(rdmaguard::Operation operation) const {
    return apiOnly_[static_cast<std::size_t>(operation)];
  }
  rdmaguard::collective::Communicator& communicator() { return *communicator_; }

 private:
  rdmaguard::collective::Sink sink() {
    return [this](const rdmaguard::collective::Finished& f) {
      results_.push_back(
          {f, std::string(f.algorithm), std::string(f.protocol), std::string(f.datatype)});
    };
  }

  static Event ofType(std::uint32_t type) {
    Event e;
    e.type = type;
    return e;
  }

  static inline const char kInside = 0;
  int version_;
  rdmaguard::collective::Communicator* communicator_;
  std::vector<Collected> results_;
  rdmaguard::collective::Counters counters_;
  rdmaguard::collective::ApiOnlyTable apiOnly_{};
};

}  // namespace replay
