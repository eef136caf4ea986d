// RDMA devices and ports from sysfs, and what this process may do with their nodes. See
// sources.h. Source: Linux Documentation/ABI/stable/sysfs-class-infiniband.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "verifier/engine/text.h"
#include "verifier/probe/numbers.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::PhysState;
using engine::PortState;
using engine::RdmaDevice;
using engine::RdmaPort;

constexpr std::string_view kDevices = "/sys/class/infiniband";
constexpr std::string_view kVerbs = "/sys/class/infiniband_verbs";
constexpr std::string_view kNodes = "/dev/infiniband";

struct KernelDriver {
  std::string_view name;      // of the driver bound to the device's parent
  std::string_view provider;  // rdma-core's userspace driver for it
};

// rdma-core providers/, matched by the kernel drivers' names.
constexpr std::array kKernelDrivers{
    KernelDriver{"mlx5_core", "mlx5"},
    KernelDriver{"mlx4_core", "mlx4"},
    KernelDriver{"rdma_rxe", "rxe"},
    KernelDriver{"siw", "siw"},
    KernelDriver{"efa", "efa"},
    KernelDriver{"bnxt_en", "bnxt_re"},
    KernelDriver{"bnxt_re", "bnxt_re"},
    KernelDriver{"ice", "irdma"},
    KernelDriver{"i40e", "irdma"},
    KernelDriver{"idpf", "irdma"},
    KernelDriver{"irdma", "irdma"},
    KernelDriver{"hns3", "hns"},
    KernelDriver{"hns_roce_hw_v2", "hns"},
    KernelDriver{"qede", "qedr"},
    KernelDriver{"qedr", "qedr"},
    KernelDriver{"cxgb4", "cxgb4"},
    KernelDriver{"mana", "mana"},
    KernelDriver{"erdma", "erdma"},
    KernelDriver{"vmw_pvrdma", "vmw_pvrdma"},
    KernelDriver{"hfi1", "hfi1verbs"},
    KernelDriver{"ib_mthca", "mthca"},
    KernelDriver{"ionic", "ionic"},
};

PortState portState(std::string_view text) {
  const int n = leadingNumber(text, 255);
  return n >= 0 && n <= 5 ? static_cast<PortState>(n) : PortState::Unknown;
}

PhysState physState(std::string_view text) {
  const int n = leadingNumber(text, 255);
  return n >= 0 && n <= 7 ? static_cast<PhysState>(n) : PhysState::Unknown;
}

// "2.5 Gb/sec (1X SDR)", one decimal at most; no locale is asked, as strtod would.
double gbps(std::string_view rate) {
  const int whole = leadingNumber(rate, 0);
  const auto dot = rate.find('.');
  if (dot == std::string_view::npos || dot > rate.find(' ')) return whole;
  return whole + leadingNumber(rate.substr(dot + 1, 1), 0) / 10.0;
}

LinkLayer linkLayer(std::string_view text) {
  if (text == "InfiniBand") return LinkLayer::InfiniBand;
  if (text == "Ethernet") return LinkLayer::Ethernet;
  return LinkLayer::Unknown;
}

// The interface of a RoCE port: of its first GID, else the one the parent device has.
std::string netdevOf(const Tree& tree, const std::string& device, const std::string& port,
                     int number) {
  for (const char* slot : {"0", "1", "2", "3"})
    if (std::string name = tree.line(cat(port, "/gid_attrs/ndevs/", slot)); !name.empty())
      return name;
  if (std::string parent = tree.line(cat(device, "/parent")); !parent.empty()) return parent;
  const auto names = tree.list(cat(device, "/device/net"));
  if (!names) return {};
  for (const std::string& name : *names)
    if (names->size() == 1 ||
        leadingNumber(tree.line(cat(device, "/device/net/", name, "/dev_port")), -1) == number - 1)
      return name;
  return {};
}

RdmaPort readPort(const Tree& tree, const std::string& device, const std::string& name) {
  RdmaPort p;
  p.number = leadingNumber(name, 1);
  p.source = cat(device, "/ports/", name);
  readState(tree, p);
  p.linkLayerText = tree.line(cat(p.source, "/link_layer"));
  p.linkLayer = linkLayer(p.linkLayerText);
  p.rateText = tree.line(cat(p.source, "/rate"));
  p.rateGbps = gbps(p.rateText);
  if (p.linkLayer == LinkLayer::Ethernet) p.netdev = netdevOf(tree, device, p.source, p.number);
  return p;
}

// rxe and siw have no parent device; rxe names its interface, siw is an iWARP adapter.
std::string softwareDriver(const Tree& tree, const std::string& device) {
  if (tree.exists(cat(device, "/device"))) return {};
  if (tree.exists(cat(device, "/parent"))) return "rdma_rxe";
  if (tree.line(cat(device, "/node_type")).find("RNIC") != std::string::npos) return "siw";
  return {};
}

RdmaDevice readDevice(const Tree& tree, const std::string& name) {
  RdmaDevice d;
  d.name = name;
  d.source = cat(kDevices, "/", name);
  d.kernelDriver = softwareDriver(tree, d.source);
  d.software = !d.kernelDriver.empty();
  if (!d.software) d.kernelDriver = tree.linkName(cat(d.source, "/device/driver"));
  for (const KernelDriver& k : kKernelDrivers)
    if (k.name == d.kernelDriver) d.provider = k.provider;
  const std::string parent = tree.linkName(cat(d.source, "/device"));
  if (parent.find(':') != std::string::npos) d.pciPath = parent;
  d.numaNode = leadingNumber(tree.line(cat(d.source, "/device/numa_node")), -1);
  if (const auto ports = tree.list(cat(d.source, "/ports")))
    for (const std::string& port : *ports) d.ports.push_back(readPort(tree, d.source, port));
  return d;
}

void tryOpen(const Tree& tree, RdmaDevice& d) {
  const std::string path = tree.at(d.nodePath);
  d.openTried = true;
  // No verbs context comes into being before the first command, so this leaves no trace.
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  d.openErrno = fd < 0 ? errno : 0;
  if (fd >= 0) close(fd);
}

void readVerbs(const Tree& tree, bool openNodes, engine::NodeFacts& node) {
  int why = 0;
  const auto names = tree.list(kVerbs, &why);
  if (!names && why != ENOENT) return;
  for (RdmaDevice& d : node.devices) d.uverbsKnown = true;
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.starts_with("uverbs")) continue;
    const std::string ibdev = tree.line(cat(kVerbs, "/", name, "/ibdev"));
    for (RdmaDevice& d : node.devices) {
      if (d.name != ibdev) continue;
      d.uverbs = name;
      d.nodePath = cat(kNodes, "/", name);
      // Without a /dev, as in a copy of sysfs alone, nothing is known of the nodes.
      d.nodePresent = !node.devInfinibandKnown || tree.exists(d.nodePath);
      if (openNodes && d.nodePresent && node.devInfinibandKnown) tryOpen(tree, d);
    }
  }
}

}  // namespace

void readState(const Tree& tree, RdmaPort& port) {
  port.state = portState(tree.line(cat(port.source, "/state")));
  port.physState = physState(tree.line(cat(port.source, "/phys_state")));
}

void readDevices(const Tree& tree, bool openNodes, engine::NodeFacts& node) {
  node.devInfinibandKnown = tree.exists("/dev");
  node.devInfiniband = tree.exists(kNodes);
  node.kernelVerbsAbi = leadingNumber(tree.line(cat(kVerbs, "/abi_version")), 0);
  int why = 0;
  const auto names = tree.list(kDevices, &why);
  // Without an RDMA driver the kernel has no such folder; without sysfs nothing is known.
  node.devicesKnown = names || (why == ENOENT && tree.exists("/sys/class"));
  if (!node.devicesKnown)
    node.notes.push_back(
        {cat("The RDMA devices could not be read (errno ", std::to_string(why), ")."),
         std::string(kDevices), Certainty::Observed});
  if (!names) return;
  for (const std::string& name : *names) node.devices.push_back(readDevice(tree, name));
  readVerbs(tree, openNodes, node);
}

}  // namespace rdmaguard::probe
