// The profiler plugin as NCCL sees it, the same for every interface version (v1 to v7): found by
// NCCL's naming rule, called in NCCL's order with the events that release would make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "nccl_abi/profiler_common.h"
#include "nccl_library.h"

namespace rdmaguard::job {

/// The communicator a plugin is initialised for.
struct CommunicatorInfo {
  std::string name;
  std::uint64_t id = 0;  ///< commId as NCCL logs it
  int nodes = 1;
  int ranks = 1;
  int rank = 0;
};

/// One all-reduce as the events describe it.
struct CollectiveInfo {
  std::uint64_t sequence = 0;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  ///< float32 elements
  int channels = 1;
};

/// Handles a plugin gave for one collective; null where it gave none or was not asked.
struct CollectiveEvents {
  int mask = 0;  ///< the mask in force when the collective was enqueued
  void* groupApi = nullptr;
  void* collApi = nullptr;
  void* group = nullptr;
  void* coll = nullptr;
};

/// One plugin, initialised for one communicator. start*/stop* return and take the plugin's handles;
/// which thread calls what is said in nccl_abi/profiler_common.h.
class Profiler {
 public:
  virtual ~Profiler() = default;

  virtual std::string name() const = 0;
  virtual int version() const = 0;
  virtual int mask() const = 0;
  virtual nccl_abi::Result init(const CommunicatorInfo& comm, nccl_abi::Logger logger) = 0;
  virtual void finalize() = 0;

  // Main thread. `collWithoutGroup` as in Release.
  virtual CollectiveEvents enqueue(const CollectiveInfo& coll) = 0;
  virtual void launch(CollectiveEvents& events, const CollectiveInfo& coll,
                      bool collWithoutGroup) = 0;
  virtual void launched(CollectiveEvents& events) = 0;

  // Progress thread (kernel events: the kernel thread from 2.31 on). Null handle: not wanted.
  virtual void* startProxyOp(const CollectiveEvents& events, int channel, int peer, int steps,
                             int chunkBytes, bool isSend) = 0;
  virtual void proxyOpProgress(void* proxyOp, bool isSend, bool done, std::size_t bytes,
                               int steps) = 0;
  virtual void* startProxyStep(const CollectiveEvents& events, void* proxyOp, int step) = 0;
  virtual void proxyStepState(void* proxyStep, nccl_abi::EventState state, std::size_t bytes) = 0;
  virtual void* startKernelCh(const CollectiveEvents& events, int channel,
                              std::uint64_t startNs) = 0;
  virtual void stopKernelCh(void* kernelCh, std::uint64_t stopNs) = 0;
  virtual void stop(void* handle) = 0;
};

/// A plugin's library, closed on destruction where the release would close it.
class ProfilerLibrary {
 public:
  /// Opens what NCCL_PROFILER_PLUGIN means to this release. `profiler()` is null when there is
  /// none, and `said()` then tells why in one sentence.
  explicit ProfilerLibrary(const NcclLibrary& nccl);
  ~ProfilerLibrary();
  ProfilerLibrary(const ProfilerLibrary&) = delete;
  ProfilerLibrary& operator=(const ProfilerLibrary&) = delete;

  Profiler* profiler() const { return profiler_.get(); }
  const std::string& said() const { return said_; }

 private:
  void open(const NcclLibrary& nccl);

  void* handle_ = nullptr;
  bool close_ = false;
  std::unique_ptr<Profiler> profiler_;
  std::string said_;
};

/// The interface of version `version` (1 to 7) whose struct lies at `object`. `rankOnApi`: the
/// release fills in the rank of API events (2.31 and later).
std::unique_ptr<Profiler> profilerAt(void* object, int version, bool rankOnApi);

}  // namespace rdmaguard::job
