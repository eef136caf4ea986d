// What is known of one node or container, as plain values with the place each was read.
// Filled by verifier/probe (this node) and verifier/readers (text); judged by rules.h.
// Values only: copy freely, any thread.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmaguard/transport.h"

namespace rdmaguard::engine {

/// One variable that NCCL would read.
struct Setting {
  std::string name;
  std::string value;
  std::string source;   ///< "environment", "/etc/nccl.conf:3", "pod spec, container trainer"
  bool echoed = false;  ///< `source` is where a log repeats it, not where it was set
};

/// Logical state of an RDMA port, numbered as sysfs `state` and ibv_port_state number it.
enum class PortState : std::uint8_t {
  Unknown = 255,
  Nop = 0,
  Down = 1,
  Init = 2,
  Armed = 3,
  Active = 4,
  ActiveDefer = 5,
};

/// Physical state of an RDMA port, numbered as sysfs `phys_state` numbers it.
enum class PhysState : std::uint8_t {
  Unknown = 255,
  NoStateChange = 0,
  Sleep = 1,
  Polling = 2,
  Disabled = 3,
  Training = 4,
  LinkUp = 5,
  ErrorRecovery = 6,
  PhyTest = 7,
};

constexpr std::string_view name(PortState s) {
  switch (s) {
    case PortState::Unknown:
      return "unknown";
    case PortState::Nop:
      return "NOP";
    case PortState::Down:
      return "DOWN";
    case PortState::Init:
      return "INIT";
    case PortState::Armed:
      return "ARMED";
    case PortState::Active:
      return "ACTIVE";
    case PortState::ActiveDefer:
      return "ACTIVE_DEFER";
  }
  return "unknown";
}

constexpr std::string_view name(PhysState s) {
  switch (s) {
    case PhysState::Unknown:
      return "unknown";
    case PhysState::NoStateChange:
      return "NoStateChange";
    case PhysState::Sleep:
      return "Sleep";
    case PhysState::Polling:
      return "Polling";
    case PhysState::Disabled:
      return "Disabled";
    case PhysState::Training:
      return "PortConfigurationTraining";
    case PhysState::LinkUp:
      return "LinkUp";
    case PhysState::ErrorRecovery:
      return "LinkErrorRecovery";
    case PhysState::PhyTest:
      return "PhyTest";
  }
  return "unknown";
}

/// One entry of a port's GID table.
struct Gid {
  int index = 0;
  std::array<std::uint8_t, 16> bytes{};
  std::string type;    ///< "RoCE v2", "IB/RoCE v1"; empty: not shown in this network namespace
  std::string netdev;  ///< its interface; empty when none is seen in this namespace
};

/// One counter of a port, by the kernel's name for it.
struct PortCounter {
  std::string name;  ///< "symbol_error", "rnr_nak_retry_err"
  std::uint64_t value = 0;
  std::string source;  ///< its file in sysfs
};

/// A counter that grew between two readings (counters.h).
struct CounterChange {
  std::string name;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::string source;
};

/// One port of an RDMA device.
struct RdmaPort {
  int number = 1;  ///< from 1
  PortState state = PortState::Unknown;
  PhysState physState = PhysState::Unknown;
  LinkLayer linkLayer = LinkLayer::Unknown;
  std::string linkLayerText;  ///< as the kernel wrote it: EFA says "Unspecified"
  double rateGbps = 0;        ///< signalling rate of the link, 0 = not known
  std::string rateText;       ///< as the kernel wrote it: "400 Gb/sec (4X NDR)"
  std::string netdev;         ///< interface of the port; empty when none is seen in this namespace
  std::string source;         ///< directory of the port in sysfs, or the line of a listing

  // Of readWholeNode alone:
  std::optional<std::uint32_t> lid;    ///< 0 on Ethernet, and before a subnet manager was there
  std::optional<std::uint32_t> smLid;  ///< of the subnet manager
  int lanes = 0;                       ///< 4 of "4X NDR", 0 = not known
  std::string laneSpeed;               ///< "NDR"
  bool gidsKnown = false;
  bool gidTypesKnown = false;  ///< the kernel shows types of GIDs (Linux 4.5)
  int gidTableLength = 0;
  std::vector<Gid> gids;  ///< without the empty slots, of which a table is full
  bool countersKnown = false;
  std::vector<PortCounter> counters;
  std::vector<CounterChange> changes;          ///< of readChanges: what grew while it was watched
  PortState stateBefore = PortState::Unknown;  ///< of readChanges: at the first reading
};

/// How far a PCI device is from a GPU, in NCCL's words (graph/topo.h), by the PCI tree and the
/// NUMA nodes alone: NCCL's own figure may be nearer where NVLink-C2C joins GPU and CPU.
enum class PciDistance : std::uint8_t {
  Unknown,
  Pix,  ///< below one PCIe switch
  Pxb,  ///< below several PCIe switches of one root port
  Phb,  ///< through the host bridge of one NUMA node
  Sys,  ///< through the link between NUMA nodes
};

constexpr std::string_view name(PciDistance d) {
  switch (d) {
    case PciDistance::Unknown:
      return "unknown";
    case PciDistance::Pix:
      return "PIX";
    case PciDistance::Pxb:
      return "PXB";
    case PciDistance::Phb:
      return "PHB";
    case PciDistance::Sys:
      return "SYS";
  }
  return "unknown";
}

/// A GPU in the PCI tree.
struct PciGpu {
  std::string pciPath;                  ///< "0000:1b:00.0"
  std::vector<std::string> pciBridges;  ///< from the root port down to it
  int numaNode = -1;                    ///< -1 = not known or none
  std::string driver;                   ///< "nvidia", "vfio-pci"; empty when none is bound
  std::string source;
};

/// A bridge between an HCA and its root port, and what its Access Control Services do.
struct AcsBridge {
  std::string pciPath;
  bool redirects = false;  ///< P2P Request Redirect is on: peer traffic goes up to the root
  std::string source;
};

/// What registering host memory through libibverbs came to on one device (tryRegistration).
/// Each errno: 0 = it worked; absent = not tried.
struct RegistrationTest {
  bool listed = false;              ///< ibv_get_device_list names the device
  bool finished = false;            ///< false: the time limit or a crash came while it was tried
  std::optional<int> openErrno;     ///< ibv_open_device
  std::optional<int> pdErrno;       ///< ibv_alloc_pd
  std::optional<int> regErrno;      ///< ibv_reg_mr, one page
  std::optional<int> relaxedErrno;  ///< ibv_reg_mr_iova2 with relaxed ordering, as NCCL calls it
  std::optional<int> dmabufErrno;   ///< ibv_reg_dmabuf_mr of descriptor -1: EBADF = supported
  std::uint64_t registered = 0;     ///< bytes of host memory that could be registered at once
  std::uint64_t asked = 0;          ///< bytes that were asked for
  int registeredErrno = 0;          ///< why it ended below `asked`

  /// DMA-BUF as NCCL concludes it from that errno; absent = not known.
  std::optional<bool> dmabuf() const {
    if (!dmabufErrno) return std::nullopt;
    return *dmabufErrno != EOPNOTSUPP && *dmabufErrno != EPROTONOSUPPORT;
  }
};

/// One RDMA device and what this process may do with it.
struct RdmaDevice {
  std::string name;          ///< "mlx5_0"
  std::string kernelDriver;  ///< "mlx5_core", "rdma_rxe"; empty when not known
  std::string provider;      ///< libibverbs provider that drives it: "mlx5"; empty when not known
  bool software = false;     ///< rxe or siw: RDMA in the kernel's software
  std::vector<RdmaPort> ports;
  bool uverbsKnown = false;  ///< it was looked up whether the kernel offers verbs for it
  std::string uverbs;        ///< "uverbs0"; empty when the kernel offers no verbs for it
  std::string nodePath;      ///< "/dev/infiniband/uverbs0"
  bool nodePresent = true;   ///< nodePath exists for this process; meaningless without uverbs
  bool openTried = false;
  int openErrno = 0;    ///< why open() of nodePath failed, 0 = it opened; needs openTried
  std::string pciPath;  ///< "0000:19:00.0", empty for software devices
  int numaNode = -1;    ///< -1 = not known or none
  std::string source;   ///< "/sys/class/infiniband/mlx5_0"

  // Of readWholeNode alone:
  std::string firmware;                 ///< "28.39.1002"
  std::string board;                    ///< board_id: "MT_0000000838"
  bool iwarp = false;                   ///< an iWARP adapter, which has no GIDs of RoCE
  int driverAbi = 0;                    ///< uverbs' abi_version of its driver, 0 = not known
  std::vector<std::string> pciBridges;  ///< from the root port down to it
  std::optional<bool> virtualFunction;  ///< absent = not known, or no PCI device
  std::string physicalFunction;         ///< of a virtual function: its PCI address
  std::vector<std::string> netdevs;     ///< interfaces of the same PCI device, or below a port
  std::vector<PciDistance> toGpu;       ///< parallel to NodeFacts::gpus
  std::vector<AcsBridge> acs;           ///< bridges above it whose ACS could be read
  std::string iommuType;                ///< of its IOMMU group: "DMA", "identity"; empty = none
  std::string nodeNumber;               ///< "231:192": what its node in /dev should be
  std::optional<bool> cgroupAllows;     ///< by the device cgroup v1; absent = cannot be read
  std::optional<RegistrationTest> registration;  ///< of tryRegistration
};

/// One network interface of this network namespace.
struct NetInterface {
  std::string name;
  bool up = false;       ///< IFF_UP: administratively up
  bool running = false;  ///< IFF_RUNNING: carrier seen
  std::int64_t speedMbps = -1;
  bool addressesKnown = false;  ///< false where only a directory tree was read
  std::vector<std::string> addresses;
  std::string source;
};

/// A userspace driver that libibverbs loads for one kind of device.
struct VerbsProvider {
  std::string name;        ///< "mlx5"
  std::string driverFile;  ///< the *.driver file that names it
  std::string library;     ///< the provider library found for it; empty when there is none
  std::string expected;    ///< the file libibverbs would open for it
  std::string rdmaCore{};  ///< release it is of, by its file's name; empty when that says nothing
};

/// libibverbs as this process's loader sees it.
struct VerbsLoader {
  enum class State : std::uint8_t { NotTried, Found, Missing };
  State state = State::NotTried;
  bool opened = false;          ///< true: dlopen said so; false: the file system was searched
  std::string path;             ///< of the library found
  std::string error;            ///< the loader's words, or what was searched in vain
  std::string configDir;        ///< where it reads *.driver files; empty when not known
  std::string providerSuffix;   ///< "-rdmav34.so"; empty when not known
  bool providersKnown = false;  ///< the provider list below was really read
  std::vector<VerbsProvider> providers;

  // Of readWholeNode alone:
  std::string file;      ///< the file behind `path`: "/usr/lib/.../libibverbs.so.1.14.44.0"
  std::string rdmaCore;  ///< "44.0", by the file's name; empty when that says nothing
  std::vector<std::string> symbolVersions;  ///< "IBVERBS_1.12", as the ELF file defines them
};

/// Locked-memory limit: what verbs may pin for buffers in host memory.
struct MemLock {
  static constexpr std::uint64_t kUnlimited = ~0ULL;
  bool known = false;
  std::uint64_t softBytes = kUnlimited;
  std::uint64_t hardBytes = kUnlimited;
  std::optional<bool> ipcLock;  ///< CAP_IPC_LOCK effective: the limit does not bind
  std::string source;
};

/// What GPUDirect RDMA needs from the node.
struct GdrFacts {
  bool known = false;                ///< the places below were looked at
  std::vector<std::string> peermem;  ///< peer-memory files that exist, as NCCL tests for them
  std::string nvidiaDriver;          ///< "580.82.07"; empty when no NVIDIA driver is loaded
  std::optional<bool> openModules;   ///< NVIDIA's open kernel modules, which DMA-BUF export needs
  int gpus = 0;                      ///< GPUs the NVIDIA driver lists
};

/// /dev/shm, through which ranks of one node exchange data.
struct SharedMemory {
  bool known = false;    ///< it was looked up; false where no table of mounts could be read
  bool mounted = false;  ///< a file system of its own is mounted there
  std::optional<std::uint64_t> sizeBytes;
  std::optional<std::uint64_t> freeBytes;  ///< on the live machine alone
  std::string source;
};

/// IOMMU of the node, as far as the kernel shows it.
struct IommuFacts {
  bool known = false;
  bool active = false;        ///< there are IOMMU groups
  std::string kernelOptions;  ///< what the kernel's command line says of it: "iommu=pt"
};

/// The registration test as a whole.
struct RegistrationRun {
  bool tried = false;
  std::string failure;  ///< a sentence when it did not run to its end
  std::string printed;  ///< what libibverbs and its providers said meanwhile
};

/// All that is known of a node. A default-constructed one knows nothing, and no rule
/// takes "not known" for "absent".
struct NodeFacts {
  std::string hostname;
  std::string root = "/";           ///< what the paths were read below
  std::string kernelRelease;        ///< "6.1.0-18-amd64"
  std::string container;            ///< "kubernetes", "docker", ...; empty when no sign of one
  std::vector<Setting> settings;    ///< in force, one per name, as NCCL would take them
  std::vector<Setting> shadowed;    ///< set again in a later place and therefore without effect
  bool devicesKnown = false;        ///< the device list was really read (an empty list is a fact)
  std::vector<RdmaDevice> devices;  ///< sorted by name
  bool devInfinibandKnown = false;
  bool devInfiniband = false;  ///< /dev/infiniband exists here
  int kernelVerbsAbi = 0;      ///< /sys/class/infiniband_verbs/abi_version, 0 = not known
  bool interfacesKnown = false;
  std::vector<NetInterface> interfaces;
  VerbsLoader loader;
  MemLock memlock;
  GdrFacts gdr;
  /// libnccl-net.so in the loader's folders: NCCL tries it first unless NCCL_NET_PLUGIN is set.
  /// Empty: there is none.
  std::string defaultNetPlugin;
  std::vector<std::string> netPluginsMapped;  ///< libnccl-net*.so files mapped in this process

  // Of readWholeNode and the functions beside it (probe.h) alone:
  bool gpusKnown = false;    ///< the PCI tree was read
  std::vector<PciGpu> gpus;  ///< in the order of their addresses
  IommuFacts iommu;
  SharedMemory shm;
  std::string cgroupDevices;  ///< the device cgroup v1's list that was read; empty: none
  RegistrationRun registration;
  double watchedSeconds = 0;  ///< between the two readings of readChanges; 0 = one reading

  std::vector<Evidence> notes;  ///< what could not be read, and why
};

}  // namespace rdmaguard::engine
