// A real libnccl opened in this process, with its own IB and Socket transports located as the
// plugin locates them. For a child process of the command (child.h): what libnccl and its
// libraries do to a process stays there.
#pragma once

#include <string>

#include "verifier/nccl/net.h"

namespace rdmaguard::nccl {

struct Library {
  std::string path;         ///< as the loader found it
  int version = 0;          ///< as ncclGetVersion counts: 22809 is 2.28.9; 0 = not NCCL
  std::string versionText;  ///< "2.28.9"
  int netAbi = 0;           ///< version of the net interface its own transports follow, 7 to 12
  void* ib = nullptr;       ///< ncclNetIb, for netAt()
  void* socket = nullptr;   ///< ncclNetSocket
  void* handle = nullptr;   ///< of dlopen; never closed
  /// Why the transports cannot be called; empty on success. A whole sentence. The fields above it
  /// are filled as far as it got.
  std::string failure;

  explicit operator bool() const { return failure.empty(); }
};

/// Opens `path` (a file, or a name for the loader to find). Never throws but for want of memory.
Library openLibrary(const std::string& path);

/// What every NCCL process does first: conf files into the environment, the env plugin, the
/// interface for the bootstrap. ncclGetUniqueId does it, and needs no GPU. Whether it worked.
bool startLibrary(const Library& library);

/// A function for a transport's init to log with: prints NCCL's line format to standard output.
nccl_abi::Logger logger();

}  // namespace rdmaguard::nccl
