// What NCCL's own log lines say, process by process: filled by verifier/readers/log, judged by
// judge_job.h. Values only. Bounded by the number of processes and communicators in the input,
// never by its length: repeated lines are counted, their first place kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rdmaguard/transport.h"
#include "verifier/engine/facts.h"
#include "verifier/engine/place.h"

namespace rdmaguard::engine {

/// One entry of "NET/IB : Using [0]mlx5_0:1/IB ...". Members of a merged NIC stand each alone.
struct ListedDevice {
  std::string name;  ///< "mlx5_0"
  int port = 1;
  LinkLayer linkLayer = LinkLayer::Unknown;
  std::string linkLayerText;  ///< as NCCL wrote it: "IB", "RoCE"
  int index = -1;  ///< NCCL's number for it, which channel lines name; -1 = not known. Members of
                   ///< a merged NIC have the number of that NIC.
  bool merged = false;  ///< a member of a merged NIC: "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}"
};

/// A line that names the network of a communicator.
struct NetworkLine {
  enum class Form : std::uint8_t {
    Using,        ///< "Using network X", also 2.2's "Using internal Network X"
    Assigned,     ///< "Assigned NET plugin X to comm"
    Initialized,  ///< "Initialized NET plugin X": says no more than that it started
    Loaded,       ///< "Loaded net plugin X (vN)"
    NotFound,     ///< "Error: network X not found."
    ConfigName,   ///< "Comm config Net name set to X"
  };
  Form form = Form::Using;
  std::string network;  ///< as written, trimmed: "IB", "AWS Libfabric", "IBext_v8"
  Place at;
  std::uint64_t count = 1;
};

/// Channel lines of one communicator in one process through one network.
struct NetEdges {
  std::string network;  ///< the X of "via NET/X/0": "IB", "Socket", "AWS Libfabric"
  std::uint64_t sends = 0, sendsGdr = 0;
  std::uint64_t receives = 0, receivesGdr = 0;
  std::uint64_t pxnSends = 0;     ///< of sends, those through another GPU's proxy: "NET/IB/1(1)"
  std::uint64_t devicesUsed = 0;  ///< bit i: index i of the device list appears
  Place first;
  Place firstGdr;         ///< line 0: none
  Place firstWithoutGdr;  ///< line 0: none
};

/// One communicator as one process tells of it.
struct CommLog {
  std::string pointer;  ///< "0x55d1c0001400"; empty where no line gave it
  std::string id;       ///< commId, "0x5be21c07d94a3e18"; empty before 2.16 or when cut off
  int rank = -1;
  int nRanks = 0;
  int nNodes = 0;      ///< of "nRanks N nNodes M"; 0 = no such line
  int localRanks = 0;  ///< 0 = not known
  bool mnnvl = false;  ///< "MNNVL 1"
  bool split = false;  ///< made by ncclCommSplit or ncclCommShrink: inherits its parent's network
  std::string parent;  ///< of a split: the parent's pointer; empty = not said
  bool started = false, complete = false, destroyed = false, aborted = false;
  std::string network;  ///< of the network line that belongs to it; empty = none seen. Where the
                        ///< process's threads all say the same, also without one of its own.
  NetworkLine::Form networkForm = NetworkLine::Form::Using;
  Place networkAt;
  std::vector<NetEdges> edges;
  std::uint64_t localEdges = 0;       ///< channels "via P2P/…", "via SHM/…", NVLS, "P2P/MNNVL"
  std::uint64_t mnnvlEdges = 0;       ///< of those, "P2P/MNNVL"
  std::uint64_t crossEdges = 0;       ///< local edges to a rank that another host's process has
  std::uint64_t collNetEdges = 0;     ///< "via COLLNET/SHARP/0": reductions in the switch, on RDMA
  std::uint64_t collNetEdgesGdr = 0;  ///< of those, with GDR
  std::vector<int> netPeers;    ///< ranks at the other end of NET channels, at most 64, sorted
  std::vector<int> localPeers;  ///< ranks at the other end of local channels, at most 64, sorted
  std::optional<int> ringGdr;   ///< of "use ring PXN x GDR y"
  Place first;
  std::uint64_t opLines = 0;  ///< "AllReduce: opCount ..." lines (NCCL_DEBUG_SUBSYS=COLL)
  std::string lastOp;         ///< the last of them: "AllReduce"
};

/// "GPU Direct RDMA Enabled/Disabled for HCA 0 'mlx5_0'".
struct HcaGdr {
  std::string hca;
  bool enabled = false;
  std::string how;  ///< what stands in brackets: "no module", "DMABUF", "PEERMEM"; often empty
  std::string net;  ///< the X of "NET/X :": "IB", "Socket"
  Place at;
};

/// "GPU Direct RDMA Enabled/Disabled for GPU … / HCA … (distance 4 <= 5)", counted by outcome.
/// Every rank prints the lines of all GPUs of its node.
struct PairGdr {
  std::string gpu, hca;  ///< as written; their meaning changed with the releases
  bool enabled = false;
  int distance = -1, limit = -1;
  Place at;
  std::uint64_t count = 1;
};

/// A net plugin that was looked for and did not come.
struct PluginFailure {
  enum class Kind : std::uint8_t {
    NotThere,      ///< no such file: harmless where none was asked for
    DlopenFailed,  ///< the file is there and its own needs are not met
    NoSymbol,      ///< no symbol of a version this NCCL takes
    InitFailed,    ///< "Failed to initialize NET plugin X"
  };
  Kind kind = Kind::NotThere;
  std::string plugin;  ///< file or plugin name as written
  std::string reason;  ///< the loader's words; empty when there are none
  Place at;
};

/// One process (a rank, or several ranks in threads) and what it said.
struct ProcessLog {
  std::string host;  ///< empty where the prefix was cut off
  long pid = 0;      ///< 0 = not known
  std::string
      address;  ///< of its OOB or Bootstrap line: "192.0.2.11"; tells equal host names apart
  std::string bootstrapInterface;  ///< "eth0"
  Place bootstrapAt;
  std::string oobInterface;  ///< of the NET/IB line
  int launcherRank = -1;     ///< "[default3]:", "[1,12]<stdout>:", "3: "; -1 = none
  std::uint32_t file = 0;
  std::string ncclVersion;  ///< "2.26.2"; empty = not said by this process
  bool rccl = false;
  std::vector<NetworkLine> networks;  ///< distinct (form, network), in order of appearance
  std::vector<ListedDevice> devices;  ///< of the last complete device list
  bool deviceListSeen = false;        ///< a "NET/IB : Using" list, even an empty one
  bool deviceListCut = false;         ///< `devices` lacks its beginning or its end: compare no sets
  std::string deviceListNet;          ///< who printed it: "IB", "IBext_v8", ...
  Place deviceListAt;
  std::vector<Setting> settings;  ///< "X set by environment to Y": one per name
  std::vector<Place> settingsAt;  ///< parallel to settings
  Place noDevice;                 ///< "No device found", "Detected 0 IB devices"; line 0: never
  Place libibverbsFailed;         ///< "Failed to open libibverbs.so"
  std::vector<std::string> openFailed;  ///< devices of "Unable to open device X"
  Place openFailedAt;
  Place socketUsing;             ///< "NET/Socket : Using": decides nothing by itself
  std::string socketInterfaces;  ///< as written
  std::vector<HcaGdr> hcaGdr;    ///< distinct
  std::vector<PairGdr> pairGdr;  ///< distinct, at most 64
  Place dmabuf;                  ///< "DMA-BUF is available"
  std::string ofiProvider;       ///< "efa", "tcp;ofi_rxm" of "Selected Provider is X"
  Place ofiProviderAt;
  std::vector<PluginFailure> pluginFailures;  ///< of NET plugins only, at most 8
  double slowestGbps = 0;                     ///< of the topology's "NET[1.2]" line, GB/s; 0 = none
  Place slowestAt;
  std::vector<CommLog> comms;  ///< in order of appearance
  std::uint64_t lines = 0;     ///< NCCL lines of this process
  bool cut = false;            ///< its last line stopped in the middle
  bool warnLevelOnly = true;   ///< no INFO line seen
};

/// All NCCL lines of the input.
struct LogFacts {
  std::vector<ProcessLog> processes;  ///< in order of appearance
  std::vector<std::string> versions;  ///< distinct "NCCL version X" without a process
  std::vector<Place> versionsAt;
  bool rccl = false;                   ///< one of them was "RCCL version"
  std::uint64_t lines = 0;             ///< NCCL lines in all
  bool repeatedAcrossCluster = false;  ///< Ray's "[repeated 15x across cluster]"
  bool tooMany = false;  ///< more processes or communicators than are kept: some are not told of
  bool cut = false;      ///< the input ended within a line
};

}  // namespace rdmaguard::engine
