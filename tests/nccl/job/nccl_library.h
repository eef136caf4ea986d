// The real libnccl in this process: opened as an application opens it, with the private objects
// the job drives located through its symbol table. One per process, never closed.
#pragma once

#include <string>

#include "nccl_abi/types.h"

namespace rdmaguard::job {

/// What differs between releases and matters to the order of calls around a profiler plugin.
struct Release {
  int code;             ///< first version with this row, as ncclGetVersion counts: 2.28.9 is 22809
  int netVersion;       ///< the struct type of its own IB and Socket transports
  int profilerVersion;  ///< newest ncclProfiler_vN it looks for; 0: no profiler interface
  /// NCCL_NET decides before a transport is initialised, not after.
  bool nameBeforeInit;
  /// The net is initialised for every communicator and finalized with it.
  bool netPerCommunicator;
  /// The profiler is initialised after the ranks have met and the topology is known.
  bool profilerLate;
  /// `NCCL_PROFILER_PLUGIN=x` also stands for libnccl-profiler-x.so.
  bool profilerShortName;
  /// Without NCCL_PROFILER_PLUGIN_REF_COUNT or its like, the plugin is closed with its last user.
  bool profilerClosed;
  /// Coll events do not depend on the plugin having returned a handle for the Group event.
  bool collWithoutGroup;
  /// Kernel times are delivered by a thread of their own, not by the proxy progress thread.
  bool kernelThread;
};

/// The row for a version code; throws std::runtime_error below 2.19. Newer versions than the last
/// row get the last row.
const Release& releaseOf(int code);

class NcclLibrary {
 public:
  /// Opens `path` (a file name is searched as the loader does) and locates what is needed. Throws
  /// std::runtime_error with the reason: not found, not NCCL, or stripped.
  explicit NcclLibrary(const std::string& path);

  const std::string& path() const { return path_; }
  int version() const { return version_; }
  std::string versionText() const;
  const Release& release() const { return releaseOf(version_); }
  nccl_abi::Logger logger() const { return logger_; }
  void* netIb() const { return ib_; }
  void* netSocket() const { return socket_; }
  /// NCCL's own callback for nets' profiler events, null before 2.26.
  void* profilerCallback() const { return profilerCallback_; }

  /// NCCL's per-process start: environment files, env plugin, interface for the bootstrap. As in
  /// a job, where rank 0 makes the unique id. Throws when NCCL refuses.
  void start() const;

 private:
  std::string path_;
  int version_ = 0;
  void* handle_ = nullptr;
  nccl_abi::Logger logger_ = nullptr;
  void* ib_ = nullptr;
  void* socket_ = nullptr;
  void* profilerCallback_ = nullptr;
};

}  // namespace rdmaguard::job
