// Reads what this process shows of NCCL's transports: the tap's records, the devices
// it holds open. Init and report threads; allocates and makes system calls.
#pragma once

#include <string>

#include "plugin/guard/observe.h"
#include "plugin/tap/tap.h"
#include "verifier/engine/facts.h"

namespace rdmaguard::guard {

/// How the tap of the NCCL that made a communicator fared.
struct TapState {
  bool installed = false;
  unsigned instance = 0;
  int ncclVersion = 0;
  std::string versionText;  ///< "2.28.9"; empty when not known
  std::string reason;       ///< why there is no tap

  bool operator==(const TapState&) const = default;
};

/// `openVerbsDevices` as openVerbsDevices(); the snapshot is empty where nothing is tapped.
TransportSigns readSigns(const TapState& tap, const tap::Snapshot& snapshot,
                         const engine::NodeFacts& node, int openVerbsDevices);

/// RDMA devices this process holds open (/proc/self/fd), -1 when it can't be read.
int openVerbsDevices() noexcept;

}  // namespace rdmaguard::guard
