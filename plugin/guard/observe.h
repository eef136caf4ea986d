// What this process shows of NCCL's choice -> engine::Selection. Pure: the caller has
// read the tap, the mapped libraries and the settings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/selection.h"

namespace rdmaguard::guard {

/// A communicator as the profiler's init described it. 0 nodes or ranks and rank -1 are
/// "not known" (profiler v1 to v3 are told none of them).
struct CommunicatorFacts {
  std::uint64_t id = 0;  ///< commHash / commId
  std::string label;     ///< the user's name for it, often empty
  int nNodes = 0, nRanks = 0, rank = -1;
  std::string sizesFrom = "profiler init";  ///< where nodes and ranks were read
};

/// What NCCL's internal transports show in this process.
struct TransportSigns {
  bool located = false;  ///< NCCL's structs were found, so the next fields mean something
  std::string whyNot;    ///< why not, when they were not found
  int ibDevices = engine::kIbDevicesNotAsked;  ///< devices() of the IB transport
  bool ibUsed = false;                         ///< its listen or connect was called
  bool socketUsed = false;                     ///< the Socket transport's was
  bool remotePeer = false;  ///< a connection went to an address that is not this host's
  std::vector<engine::DeviceInUse> devices;  ///< of the IB transport, in NCCL's order
  Gdr gdr = Gdr::Unknown;
  int openVerbsDevices = -1;  ///< /dev/infiniband/uverbs* open in this process; -1 not known
  int ncclVersion = 0;
};

/// True when nothing a verdict could stand on differs.
bool same(const TransportSigns& a, const TransportSigns& b);

/// Which transport carries `comm`, and how that is known: seen in use, else told by
/// NCCL_NET, else by elimination (NCCL tries external plugins, then IB, then Socket, and
/// takes the first with a device; src/plugin/net.cc).
engine::Selection observe(const CommunicatorFacts& comm, const TransportSigns& signs,
                          const engine::NodeFacts& node);

/// IB or RoCE by the link layers of `devices`; Mixed when they differ. Unknown link
/// layers do not count, and where all are unknown the answer is IB: NET/IB is then all
/// that is known.
Transport ibOrRoce(std::span<const engine::DeviceInUse> devices);

}  // namespace rdmaguard::guard
