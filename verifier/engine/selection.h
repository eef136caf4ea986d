// What was seen of one communicator's network: by the tap and the profiler inside the job,
// or by a reader in a log. Judged beside NodeFacts by rules.h. Values only, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rdmaguard/transport.h"

namespace rdmaguard::engine {

/// NCCL's IB transport was never asked, or its answer could not be had.
inline constexpr int kIbDevicesNotAsked = -2;
/// NCCL's IB transport is not initialised: switched off, not wanted, or libibverbs failed.
inline constexpr int kIbDevicesUninitialised = -1;

/// One device as NCCL's getProperties states it.
struct DeviceInUse {
  std::string name;  ///< "mlx5_0"; merged NICs as NCCL writes them, "mlx5_0+mlx5_1"
  int port = 1;
  double speedGbps = 0;  ///< 0 = not known
  LinkLayer linkLayer = LinkLayer::Unknown;
  int ptrSupport = 0;      ///< NCCL's mask: 1 host, 2 peermem, 4 DMA-BUF; 0 = not known
  bool connected = false;  ///< a connection of this communicator uses it
};

/// What is known of the network NCCL selected for one communicator.
struct Selection {
  Transport transport = Transport::Unknown;
  Certainty certainty = Certainty::Inferred;  ///< of `transport`
  std::string transportSource;          ///< "ncclNetIb.devices() at profiler init", "first connect"
  std::string externalName;             ///< the plugin's own name, for Transport::External
  int ibDevices = kIbDevicesNotAsked;   ///< devices() of NCCL's IB transport
  bool socketUsed = false;              ///< listen or connect of NCCL's Socket transport was seen
  bool ibUsed = false;                  ///< listen or connect of NCCL's IB transport was seen
  int nNodes = 0;                       ///< 0 = not known
  int nRanks = 0;                       ///< 0 = not known
  int rank = -1;                        ///< -1 = not known
  int ncclVersion = 0;                  ///< as ncclGetVersion: 22809; 0 = not known
  std::vector<std::string> netPlugins;  ///< external net plugins mapped in the process
  std::vector<DeviceInUse> devices;     ///< NCCL's list, in NCCL's order; empty = not known
  Gdr gdr = Gdr::Unknown;
  bool planned = false;  ///< before the job: what NCCL would select, not what it did
  bool refuses = false;  ///< planned: NCCL_NET allows no network that works here, and NCCL stops
  int ranksSeen = 0;     ///< ranks whose transport is known (0: this one only)
  int ranksOffRdma = 0;  ///< of those, ranks that are not on RDMA
};

/// Whether an external plugin's traffic is RDMA.
enum class ExternalKind : std::uint8_t { Unknown, Rdma, NotRdma };

/// Classifies a net plugin by the name it gives NCCL, ignoring case. "AWS Libfabric" is
/// Unknown here: whether it drives EFA or TCP is decided by the provider it found.
ExternalKind externalKind(std::string_view name) noexcept;

}  // namespace rdmaguard::engine
