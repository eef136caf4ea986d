// A communicator's beginning and end as the profiler adapters (profiler_v1.cc to profiler_v7.cc)
// see them. Implemented in lifecycle.cc; nothing else calls these two.
#pragma once

#include <cstdint>

namespace rdmaguard::entry {

/// What NCCL tells a profiler at init, whatever the interface version.
struct InitArgs {
  int abiVersion;        ///< profiler interface NCCL chose, 1 to 7
  std::uint64_t commId;  ///< 0 if unknown (v1 to v3)
  const char* commName;  ///< the user's pointer or null; copy it
  int nNodes;            ///< -1 if unknown (v1 to v3)
  int nRanks;            ///< -1 if unknown (v1 to v3)
  int rank;              ///< -1 if unknown (v1 to v3)
  const void* logger;    ///< NCCL's logger, an address inside NCCL's object; null in v1 to v3
  const void* caller;    ///< return address of init: inside NCCL's object too
};

/// Begins a communicator. Returns the context for NCCL (a collective::Communicator*), nullptr when
/// the plugin is off for it, and sets `*mask` (0 when off). Never fails: several releases crash on
/// an error. Runs on the thread that makes the communicator.
void* onInit(const InitArgs& args, int* mask) noexcept;

/// Ends a communicator; `context` may be null. Runs on the thread that destroys it.
void onFinalize(void* context) noexcept;

}  // namespace rdmaguard::entry
