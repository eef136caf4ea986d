// What a real libnccl would select here, found out by asking it: its own transports (and the net
// plugins it would load) are initialised with this environment in a child process, in NCCL's
// order and by its rules, and finalized again. Needs no GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "verifier/nccl/net.h"

namespace rdmaguard::nccl {

/// One network that NCCL would try.
struct NetTrial {
  enum class State : std::uint8_t {
    Usable,    ///< initialised, with at least one device
    Failed,    ///< its init or its device list failed
    NoDevice,  ///< initialised, and found none
    Excluded,  ///< NCCL_NET names another one
    NotTried,  ///< not callable from here, or the one before it was taken
  };
  std::string name;    ///< "IB", "Socket", or the plugin's own name for itself
  std::string origin;  ///< "internal", or the plugin's file
  State state = State::NotTried;
  std::string why;  ///< a whole sentence for everything but Usable; may be empty
  std::vector<Device> devices;
};

struct DryRun {
  enum class Outcome : std::uint8_t {
    NotAsked,
    Done,            ///< `selected` is what NCCL would select; empty: it would fail to start
    NoLibrary,       ///< it could not be found or opened, or is not NCCL
    UnknownRelease,  ///< it is NCCL, and its transports cannot be called
    Crashed,
    TimedOut,
  };
  Outcome outcome = Outcome::NotAsked;
  std::string library;      ///< path
  std::string how;          ///< how the library was found
  std::string versionText;  ///< "2.28.9"; empty where not known
  int version = 0;
  std::string failure;  ///< a whole sentence; empty where Done
  /// ncclGetUniqueId worked: NCCL found an interface for its bootstrap.
  bool started = false;
  std::string selected;
  bool selectedExternal = false;
  std::vector<NetTrial> trials;  ///< in NCCL's order
  std::string log;               ///< what NCCL printed at NCCL_DEBUG=INFO
  double seconds = 0;
};

/// `library`: a path, a name for the loader, or "auto" (find_library.h). Never throws but for want
/// of memory. The caller must have one thread.
DryRun dryRun(const std::string& library, std::chrono::milliseconds limit);

}  // namespace rdmaguard::nccl
