// Taps NCCL's internal IB and Socket transports in place and tells what went through them.
// Called by the guard and the report thread. Nothing here is for NCCL's data path; what runs there
// is in slots.h and ledger.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/tap/locate.h"
#include "plugin/tap/snapshot.h"
#include "plugin/tap/vocabulary.h"

namespace rdmaguard::tap {

/// Outcome of an installation.
struct InstallResult {
  bool installed = false;  ///< our functions stand in the slots now
  unsigned instance = 0;   ///< which of the tapped NCCLs; valid where installed
  bool already = false;    ///< they stood there before this call
  std::string reason;      ///< one sentence; empty where installed
};

/// As locate(), and accepts structs that an earlier communicator's init has tapped.
LocateResult find(const void* logger, const void* caller);

/// Puts our functions into the slots of `nccl`'s two structs, by atomic stores; a slot that is NULL
/// stays NULL. Idempotent. A process may hold two NCCLs; a third gets a reason. From an init
/// thread; takes a lock. The slots stay tapped for the life of the process: this library must not
/// be unloaded (it is linked -z nodelete).
InstallResult install(const LocateResult& nccl);

/// What NCCL's own devices() says of the tapped net now: -1 before the net's init, 0 where it found
/// nothing, else the count with merged devices included. Not counted as a call. From an init
/// thread; the function only reads a counter in NCCL 2.19 to 2.32.
int internalDevices(Net net, unsigned instance = 0);

/// Properties of every device of the tapped net by NCCL's own getProperties(). From an init thread:
/// the first call for an HCA probes peer memory and DMA-BUF, as NCCL's own would.
std::vector<DeviceInfo> deviceList(Net net, unsigned instance = 0);

/// A counter that rises with every connection, close, registration of a new kind and failure, for a
/// thread that polls. Any thread.
std::uint64_t changes();

}  // namespace rdmaguard::tap
