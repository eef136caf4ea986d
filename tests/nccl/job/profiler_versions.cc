// The seven versions of NCCL's profiler interface behind one: see profiler.h. Values that only a
// GPU run has (warps, stream) are fixed; algorithm and protocol are what this job really does.
#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <type_traits>

#include "nccl_abi/profiler_v1.h"
#include "nccl_abi/profiler_v2.h"
#include "nccl_abi/profiler_v3.h"
#include "nccl_abi/profiler_v4.h"
#include "nccl_abi/profiler_v5.h"
#include "nccl_abi/profiler_v6.h"
#include "nccl_abi/profiler_v7.h"
#include "profiler.h"

namespace rdmaguard::job {
namespace {

using nccl_abi::EventState;
using nccl_abi::Result;
namespace event = nccl_abi::event_type;

// Which bits make NCCL start which kind of event.
constexpr int kOps = event::kProxyOp | event::kProxyStep | event::kNetPlugin;
constexpr int kCollMask = event::kColl | kOps | event::kKernelCh;
constexpr int kGroupMask = event::kGroup | event::kP2p | kCollMask;
constexpr int kCollApiMask = event::kCollApi | kCollMask;
constexpr int kGroupApiMask =
    event::kGroupApi | event::kP2pApi | event::kCollApi | event::kKernelLaunch | kGroupMask;

constexpr std::uint8_t kRing = 1;    // NCCL_ALGO_RING
constexpr std::uint8_t kSimple = 2;  // NCCL_PROTO_SIMPLE
constexpr std::uint8_t kWarps = 16;

template <int kVersion, typename Interface, typename Descriptor, typename Args>
class ProfilerOf final : public Profiler {
 public:
  ProfilerOf(void* object, bool rankOnApi)
      : plugin_(static_cast<Interface*>(object)), rankOnApi_(rankOnApi) {}

  std::string name() const override { return plugin_->name != nullptr ? plugin_->name : "?"; }
  int version() const override { return kVersion; }
  int mask() const override { return __atomic_load_n(&mask_, __ATOMIC_RELAXED); }

  Result init(const CommunicatorInfo& comm, nccl_abi::Logger logger) override {
    comm_ = comm;
    if constexpr (kVersion <= 3) {
      (void)logger;
      return plugin_->init(&context_, &mask_);
    } else if constexpr (kVersion == 4) {
      return plugin_->init(&context_, &mask_, comm_.name.c_str(), comm.id, comm.nodes, comm.ranks,
                           comm.rank, logger);
    } else {
      return plugin_->init(&context_, comm.id, &mask_, comm_.name.c_str(), comm.nodes, comm.ranks,
                           comm.rank, logger);
    }
  }

  void finalize() override {
    // From 2.28 on NCCL leaves out a plugin that gave no context.
    if (kVersion >= 5 && context_ == nullptr) return;
    plugin_->finalize(context_);
  }

  CollectiveEvents enqueue(const CollectiveInfo& coll) override {
    CollectiveEvents events;
    events.mask = mask();
    if constexpr (kVersion >= 5) {
      if ((events.mask & kGroupApiMask) != 0) {
        Descriptor d{};
        d.type = event::kGroupApi;
        if (rankOnApi_) d.rank = comm_.rank;
        d.groupApi.groupDepth = 1;
        plugin_->startEvent(context_, &events.groupApi, &d);
        record(events.groupApi, EventState::GroupStartApiStop, nullptr);
      }
      if ((events.mask & kCollApiMask) != 0) {
        Descriptor d{};
        d.type = event::kCollApi;
        d.parentObj = events.groupApi;
        if (rankOnApi_) d.rank = comm_.rank;
        d.collApi.func = "AllReduce";
        d.collApi.count = coll.count;
        d.collApi.datatype = "ncclFloat32";
        plugin_->startEvent(context_, &events.collApi, &d);
        stop(events.collApi);
      }
      record(events.groupApi, EventState::GroupEndApiStart, nullptr);
      if ((events.mask & event::kKernelLaunch) != 0) {
        Descriptor d{};
        d.type = event::kKernelLaunch;
        d.parentObj = events.groupApi;
        if (rankOnApi_) d.rank = comm_.rank;
        void* handle = nullptr;
        plugin_->startEvent(context_, &handle, &d);
        stop(handle);
      }
    } else {
      (void)coll;
    }
    return events;
  }

  void launch(CollectiveEvents& events, const CollectiveInfo& coll,
              bool collWithoutGroup) override {
    if ((events.mask & kGroupMask) != 0) {
      Descriptor d{};
      d.type = event::kGroup;
      plugin_->startEvent(context_, &events.group, &d);
    }
    if ((events.mask & kCollMask) == 0 || (events.group == nullptr && !collWithoutGroup)) return;
    Descriptor d{};
    d.type = event::kColl;
    d.rank = comm_.rank;
    fill(d, events, coll);
    plugin_->startEvent(context_, &events.coll, &d);
  }

  void launched(CollectiveEvents& events) override {
    stop(events.coll);
    stop(events.group);
    stop(events.groupApi);
  }

  void* startProxyOp(const CollectiveEvents& events, int channel, int peer, int steps,
                     int chunkBytes, bool isSend) override {
    if ((events.mask & kOps) == 0) return nullptr;
    Descriptor d{};
    d.type = event::kProxyOp;
    d.parentObj = events.coll;
    d.rank = comm_.rank;
    d.proxyOp.pid = ::getpid();
    d.proxyOp.channelId = static_cast<std::uint8_t>(channel);
    d.proxyOp.peer = peer;
    d.proxyOp.nSteps = steps;
    d.proxyOp.chunkSize = chunkBytes;
    d.proxyOp.isSend = isSend ? 1 : 0;
    void* handle = nullptr;
    plugin_->startEvent(context_, &handle, &d);
    return handle;
  }

  void proxyOpProgress(void* proxyOp, bool isSend, bool done, [[maybe_unused]] std::size_t bytes,
                       [[maybe_unused]] int steps) override {
    Args args{};
    if constexpr (kVersion <= 3) {
      args.proxyOp.transSize = bytes;
      args.proxyOp.steps = steps;
      const EventState state =
          isSend ? (done ? EventState::ProxyOpSendDone : EventState::ProxyOpSendPosted)
                 : (done ? EventState::ProxyOpRecvDone : EventState::ProxyOpRecvPosted);
      record(proxyOp, state, &args);
    } else {
      (void)isSend;
      if (!done) record(proxyOp, EventState::ProxyOpInProgress, &args);
    }
  }

  void* startProxyStep(const CollectiveEvents& events, void* proxyOp, int step) override {
    if ((events.mask & (event::kProxyStep | event::kNetPlugin)) == 0) return nullptr;
    if (kVersion <= 4 && proxyOp == nullptr) return nullptr;
    Descriptor d{};
    d.type = event::kProxyStep;
    d.parentObj = proxyOp;
    d.rank = comm_.rank;
    d.proxyStep.step = step;
    void* handle = nullptr;
    plugin_->startEvent(context_, &handle, &d);
    return handle;
  }

  void proxyStepState(void* proxyStep, EventState state,
                      [[maybe_unused]] std::size_t bytes) override {
    if constexpr (kVersion <= 3) {
      // 2.23 to 2.26 hand over no arguments here.
      record(proxyStep, state, nullptr);
    } else {
      Args args{};
      args.proxyStep.transSize = bytes;
      record(proxyStep, state, &args);
    }
  }

  void* startKernelCh([[maybe_unused]] const CollectiveEvents& events, [[maybe_unused]] int channel,
                      [[maybe_unused]] std::uint64_t startNs) override {
    void* handle = nullptr;
    if constexpr (kVersion >= 3) {
      if ((events.mask & event::kKernelCh) == 0) return nullptr;
      Descriptor d{};
      d.type = event::kKernelCh;
      d.parentObj = events.coll;
      d.kernelCh.channelId = static_cast<std::uint8_t>(channel);
      if constexpr (kVersion >= 4) d.kernelCh.pTimer = startNs;
      plugin_->startEvent(context_, &handle, &d);
    }
    return handle;
  }

  void stopKernelCh(void* kernelCh, [[maybe_unused]] std::uint64_t stopNs) override {
    if constexpr (kVersion >= 4) {
      Args args{};
      args.kernelCh.pTimer = stopNs;
      record(kernelCh, EventState::KernelChStop, &args);
    }
    stop(kernelCh);
  }

  void stop(void* handle) override {
    if (handle != nullptr) plugin_->stopEvent(handle);
  }

 private:
  void record(void* handle, EventState state, Args* args) {
    if (handle != nullptr) plugin_->recordEventState(handle, state, args);
  }

  void fill(Descriptor& d, const CollectiveEvents& events, const CollectiveInfo& coll) {
    auto& c = d.coll;
    c.seqNumber = coll.sequence;
    c.sendBuff = coll.send;
    c.recvBuff = coll.receive;
    c.count = coll.count;
    c.nWarps = kWarps;
    if constexpr (kVersion == 1) {
      c.func = static_cast<std::uint8_t>(nccl_abi::Func::AllReduce);
      c.datatype = static_cast<std::uint8_t>(nccl_abi::DataType::Float32);
      c.algo = kRing;
      c.proto = kSimple;
    } else {
      c.func = "AllReduce";
      c.datatype = "ncclFloat32";
      c.algo = "RING";
      c.proto = "SIMPLE";
    }
    if constexpr (kVersion <= 2) c.trafficBytes = 2 * coll.count * sizeof(float);
    const auto channels = static_cast<std::uint8_t>(coll.channels);
    if constexpr (kVersion <= 3) {
      c.commHash = comm_.id;
      c.nMaxChannels = channels;
    } else {
      c.nChannels = channels;
    }
    if constexpr (kVersion <= 4) {
      d.parentObj = events.group;
    } else {
      d.parentObj = events.collApi;
      c.parentGroup = events.group;
    }
  }

  Interface* plugin_;
  bool rankOnApi_;
  CommunicatorInfo comm_;
  void* context_ = nullptr;
  // NCCL has one mask per process; this job has one communicator per process.
  int mask_ = 0;
};

}  // namespace

std::unique_ptr<Profiler> profilerAt(void* object, int version, bool rankOnApi) {
#define RDMAGUARD_PROFILER_CASE(v)                                                          \
  case v: {                                                                                 \
    using namespace nccl_abi::profiler_v##v;                                                \
    return std::make_unique<                                                                \
        ProfilerOf<v, nccl_abi::profiler_v##v::Profiler, EventDescriptor, EventStateArgs>>( \
        object, rankOnApi);                                                                 \
  }
  switch (version) {
    RDMAGUARD_PROFILER_CASE(1)
    RDMAGUARD_PROFILER_CASE(2)
    RDMAGUARD_PROFILER_CASE(3)
    RDMAGUARD_PROFILER_CASE(4)
    RDMAGUARD_PROFILER_CASE(5)
    RDMAGUARD_PROFILER_CASE(6)
    RDMAGUARD_PROFILER_CASE(7)
    default:
      throw std::runtime_error(fmt::format("no profiler interface v{} is known", version));
  }
#undef RDMAGUARD_PROFILER_CASE
}

}  // namespace rdmaguard::job
