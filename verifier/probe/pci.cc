// What readWholeNode adds of the devices' place in the PCI tree: GPUs, distances, functions, IOMMU,
// Access Control Services. See sources.h.
// Sources: NCCL src/graph/xml.cc and paths.cc (what counts as a switch, what a distance is called);
// Linux Documentation/ABI/testing/sysfs-bus-pci and sysfs-kernel-iommu_groups; PCI Express Base
// Specification, Access Control Services extended capability.
#include <algorithm>
#include <map>
#include <utility>

#include "verifier/engine/text.h"
#include "verifier/probe/numbers.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::PciDistance;
using engine::PciGpu;
using engine::RdmaDevice;

constexpr std::string_view kDevices = "/sys/bus/pci/devices";
constexpr std::uint64_t kNvidia = 0x10de;
constexpr std::uint64_t kDisplayClass = 0x03;  // VGA and 3D controllers; NVSwitches are bridges

bool isPciAddress(std::string_view s) {
  // "0000:1b:00.0"; domains past ffff have more digits.
  if (s.size() < 12 || s[s.size() - 2] != '.' || s[s.size() - 5] != ':' || s[s.size() - 8] != ':')
    return false;
  return s.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// The addresses at the end of a device's folder, the root port first, the device itself last.
std::vector<std::string> addressesOf(std::string_view path) {
  std::vector<std::string> up;
  while (!path.empty()) {
    const auto slash = path.find_last_of('/');
    if (slash == std::string_view::npos) break;
    const std::string_view name = path.substr(slash + 1);
    if (!isPciAddress(name)) break;
    up.emplace_back(name);
    path = path.substr(0, slash);
  }
  std::reverse(up.begin(), up.end());
  return up;
}

// A switch is an upstream port with downstream ports below it: every second bridge from below.
std::vector<std::string_view> switchesAbove(const std::vector<std::string>& bridges) {
  std::vector<std::string_view> out;
  for (std::size_t left = bridges.size(); left >= 2; left -= 2) out.push_back(bridges[left - 2]);
  return out;
}

PciDistance distance(const RdmaDevice& d, const PciGpu& gpu) {
  if (d.pciPath.empty()) return PciDistance::Unknown;
  const auto mine = switchesAbove(d.pciBridges), its = switchesAbove(gpu.pciBridges);
  if (!mine.empty() && !its.empty() && mine.front() == its.front()) return PciDistance::Pix;
  const bool shared = std::any_of(mine.begin(), mine.end(), [&its](std::string_view s) {
    return std::find(its.begin(), its.end(), s) != its.end();
  });
  if (shared) return PciDistance::Pxb;
  // Where the machine has no NUMA nodes both say -1, and NCCL sees one CPU.
  if (d.numaNode == gpu.numaNode) return PciDistance::Phb;
  return d.numaNode < 0 || gpu.numaNode < 0 ? PciDistance::Unknown : PciDistance::Sys;
}

void readGpus(const Tree& tree, engine::NodeFacts& node) {
  const auto names = tree.list(kDevices);
  if (!names) return;
  node.gpusKnown = true;
  for (const std::string& name : *names) {
    const std::string folder = cat(kDevices, "/", name);
    if (hexNumber(tree.line(cat(folder, "/vendor"))) != kNvidia) continue;
    const auto kind = hexNumber(tree.line(cat(folder, "/class")));
    if (!kind || *kind >> 16U != kDisplayClass) continue;
    PciGpu g;
    g.pciPath = name;
    g.pciBridges = addressesOf(tree.realPath(folder));
    if (!g.pciBridges.empty()) g.pciBridges.pop_back();
    g.numaNode = leadingNumber(tree.line(cat(folder, "/numa_node")), -1);
    g.driver = tree.linkName(cat(folder, "/driver"));
    g.source = folder;
    node.gpus.push_back(std::move(g));
  }
  // Addresses are hexadecimal, which the order of names is not.
  std::sort(node.gpus.begin(), node.gpus.end(), [](const PciGpu& a, const PciGpu& b) {
    return std::pair(a.pciPath.size(), a.pciPath) < std::pair(b.pciPath.size(), b.pciPath);
  });
}

void readFunction(const Tree& tree, const std::string& folder, RdmaDevice& d) {
  d.physicalFunction = tree.linkName(cat(folder, "/physfn"));
  // In a virtual machine a VF looks like a device of its own: then it is not known for one.
  if (!d.physicalFunction.empty())
    d.virtualFunction = true;
  else if (tree.exists(cat(folder, "/sriov_totalvfs")))
    d.virtualFunction = false;
}

void readNetdevs(const Tree& tree, const std::string& folder, RdmaDevice& d) {
  const auto add = [&d](const std::string& name) {
    if (!name.empty() && std::find(d.netdevs.begin(), d.netdevs.end(), name) == d.netdevs.end())
      d.netdevs.push_back(name);
  };
  if (const auto names = tree.list(cat(folder, "/net")))
    for (const std::string& name : *names) add(name);
  for (const engine::RdmaPort& p : d.ports) {
    add(p.netdev);
    for (const engine::Gid& g : p.gids) add(g.netdev);
  }
}

unsigned littleEndian(std::string_view config, std::size_t at, std::size_t bytes) {
  unsigned value = 0;
  for (std::size_t i = bytes; i-- > 0;)
    value = value << 8U | static_cast<unsigned char>(config[at + i]);
  return value;
}

// The control register of Access Control Services; nothing where the bridge has none, or where
// the extended configuration space was not readable, as it is for root alone.
std::optional<unsigned> acsControl(std::string_view config) {
  constexpr std::size_t kFirst = 0x100, kLast = 0x1000 - 8;
  constexpr unsigned kAcs = 0x000d;
  constexpr int kMostCapabilities = 64;
  std::size_t at = kFirst;
  for (int i = 0; i < kMostCapabilities; ++i) {
    if (at < kFirst || at > kLast || at + 8 > config.size()) return std::nullopt;
    const unsigned header = littleEndian(config, at, 4);
    if ((header & 0xffffU) == kAcs) return littleEndian(config, at + 6, 2);
    at = header >> 20U;
  }
  return std::nullopt;
}

using AcsByBridge = std::map<std::string, std::optional<unsigned>, std::less<>>;

void readAcs(const Tree& tree, RdmaDevice& d, AcsByBridge& seen) {
  constexpr unsigned kRequestRedirect = 1U << 2U;
  for (const std::string& bridge : d.pciBridges) {
    const std::string path = cat(kDevices, "/", bridge, "/config");
    const auto [at, first] = seen.try_emplace(bridge);
    if (first) at->second = acsControl(tree.read(path, 4096).value_or(""));
    if (at->second) d.acs.push_back({bridge, (*at->second & kRequestRedirect) != 0, path});
  }
}

void readIommu(const Tree& tree, engine::IommuFacts& iommu) {
  const auto groups = tree.list("/sys/kernel/iommu_groups");
  iommu.known = groups.has_value();
  iommu.active = groups && !groups->empty();
  const std::string options = tree.line("/proc/cmdline");
  for (std::size_t at = 0; at < options.size();) {
    const auto end = std::min(options.find(' ', at), options.size());
    const std::string_view word(options.data() + at, end - at);
    for (const char* key : {"iommu=", "intel_iommu=", "amd_iommu=", "iommu.passthrough=",
                            "iommu.strict=", "pcie_acs_override=", "pci="})
      if (word.starts_with(key))
        iommu.kernelOptions += cat(iommu.kernelOptions.empty() ? "" : " ", word);
    at = end + 1;
  }
}

}  // namespace

void readPci(const Tree& tree, engine::NodeFacts& node) {
  readGpus(tree, node);
  readIommu(tree, node.iommu);
  AcsByBridge seen;
  for (RdmaDevice& d : node.devices) {
    const std::string folder = cat(d.source, "/device");
    d.pciBridges = addressesOf(tree.realPath(folder));
    if (!d.pciBridges.empty()) d.pciBridges.pop_back();
    readFunction(tree, folder, d);
    readNetdevs(tree, folder, d);
    readAcs(tree, d, seen);
    if (const std::string group = tree.realPath(cat(folder, "/iommu_group")); !group.empty())
      d.iommuType = tree.line(cat(group, "/type"));
    for (const PciGpu& gpu : node.gpus) d.toGpu.push_back(distance(d, gpu));
    d.firmware = tree.line(cat(d.source, "/fw_ver"));
    d.board = tree.line(cat(d.source, "/board_id"));
    d.iwarp = tree.line(cat(d.source, "/node_type")).find("RNIC") != std::string::npos;
  }
}

}  // namespace rdmaguard::probe
