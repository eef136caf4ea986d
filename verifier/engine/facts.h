// What is known of one node or container, as plain values with the place each was read.
// Filled by verifier/probe (this node) and verifier/readers (text); judged by rules.h.
// Values only: copy freely, any thread.
#pragma once

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
  std::vector<std::string> netPluginsMapped;  ///< libnccl-net*.so files mapped in this process
  std::vector<Evidence> notes;                ///< what could not be read, and why
};

}  // namespace rdmaguard::engine
