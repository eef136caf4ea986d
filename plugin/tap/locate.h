// Finds NCCL in this process and, inside it, the two private net structs the tap works on.
// Called from the plugin's init (tap.cc), where NCCL waits anyway; never on a data path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmaguard::tap {

/// What is known of the NCCL in this process. The fields down to `netAbi` are filled as far as the
/// search got, also when it failed.
struct LocateResult {
  std::string path;         ///< the object that holds NCCL: libnccl.so.2, or libtorch_cuda.so
  std::uintptr_t base = 0;  ///< its load base
  int version = 0;          ///< NCCL version code, 22809 for 2.28.9; 0 where not known
  std::string versionText;  ///< "2.28.9"; empty where not known
  int netAbi = 0;           ///< version of the net interface the structs follow, 7 to 12

  void** ib = nullptr;      ///< ncclNetIb: the name, then the function slots
  void** socket = nullptr;  ///< ncclNetSocket, likewise

  std::string reason;                 ///< why there can be no tap; empty on success. One sentence.
  std::vector<std::string> evidence;  ///< how NCCL was found; whole sentences

  explicit operator bool() const { return reason.empty(); }
};

/// Tells whether a slot already holds a function of ours (a second communicator's init).
using OwnSlot = bool (*)(const void*);

/// Finds the NCCL that holds `logger` (the function NCCL hands to a plugin's init), else the one
/// that holds `caller` (our return address), else the only object of the process that defines
/// ncclGetVersion. Either may be null. Never guesses: anything that does not fit the release's
/// layout exactly is a reason. Reads headers of the object's file; allocates; takes the loader's
/// lock; calls ncclGetVersion.
LocateResult locate(const void* logger, const void* caller, OwnSlot own = nullptr);

}  // namespace rdmaguard::tap
