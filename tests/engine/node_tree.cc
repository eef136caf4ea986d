// See node_tree.h.
#include "node_tree.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace rdmaguard::test {
namespace fs = std::filesystem;

NodeTree::NodeTree() {
  std::string pattern = (fs::temp_directory_path() / "rdmaguard-node.XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  root_ = pattern;
  folder("/dev").folder("/sys/class/net").folder("/sys/module").folder("/etc/libibverbs.d");
  file("/proc/sys/kernel/hostname", "node-a\n");
  file("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  memlock("unlimited", false);
}

NodeTree::~NodeTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

fs::path NodeTree::at(std::string_view path) const {
  return root_ / fs::path(path).relative_path();
}

NodeTree& NodeTree::file(std::string_view path, std::string_view text) {
  fs::create_directories(at(path).parent_path());
  std::ofstream(at(path), std::ios::binary) << text;
  return *this;
}

NodeTree& NodeTree::folder(std::string_view path) {
  fs::create_directories(at(path));
  return *this;
}

NodeTree& NodeTree::link(std::string_view path, std::string_view target) {
  fs::create_directories(at(path).parent_path());
  fs::create_symlink(target, at(path));
  return *this;
}

NodeTree& NodeTree::remove(std::string_view path) {
  if (fs::remove_all(at(path)) == 0) throw std::runtime_error("no such path in the tree");
  return *this;
}

NodeTree& NodeTree::hca(const std::string& name, const std::string& driver,
                        const std::string& pci) {
  const std::string device = "/sys/devices/pci0000:00/" + pci;
  const std::string verbs = "uverbs" + std::to_string(verbs_++);
  folder("/sys/bus/pci/drivers/" + driver);
  link(device + "/driver", "../../../bus/pci/drivers/" + driver);
  file(device + "/numa_node", "1\n");
  folder(device + "/infiniband/" + name + "/ports");
  link(device + "/infiniband/" + name + "/device", "../../../" + pci);
  link("/sys/class/infiniband/" + name, "../../devices/pci0000:00/" + pci + "/infiniband/" + name);
  file("/sys/class/infiniband_verbs/abi_version", "6\n");
  file("/sys/class/infiniband_verbs/" + verbs + "/ibdev", name + "\n");
  file("/dev/infiniband/" + verbs);
  return *this;
}

NodeTree& NodeTree::rxe(const std::string& name, const std::string& netdev) {
  const std::string verbs = "uverbs" + std::to_string(verbs_++);
  const std::string device = "/sys/devices/virtual/infiniband/" + name;
  folder(device + "/ports");
  file(device + "/parent", netdev + "\n");
  file(device + "/node_type", "1: CA\n");
  link("/sys/class/infiniband/" + name, "../../devices/virtual/infiniband/" + name);
  file("/sys/class/infiniband_verbs/abi_version", "6\n");
  file("/sys/class/infiniband_verbs/" + verbs + "/ibdev", name + "\n");
  file("/dev/infiniband/" + verbs);
  return *this;
}

NodeTree& NodeTree::port(const std::string& device, int number, std::string_view state,
                         std::string_view phys, std::string_view linkLayer, std::string_view rate) {
  const std::string port = "/sys/class/infiniband/" + device + "/ports/" + std::to_string(number);
  file(port + "/state", std::string(state) + "\n");
  file(port + "/phys_state", std::string(phys) + "\n");
  file(port + "/link_layer", std::string(linkLayer) + "\n");
  file(port + "/rate", std::string(rate) + "\n");
  return *this;
}

NodeTree& NodeTree::netdev(const std::string& name, bool up, bool carrier) {
  const std::string device = "/sys/class/net/" + name;
  file(device + "/flags", up ? "0x1003\n" : "0x1002\n");
  file(device + "/operstate", carrier ? "up\n" : "down\n");
  file(device + "/speed", carrier ? "400000\n" : "-1\n");
  return *this;
}

NodeTree& NodeTree::libibverbs(const std::vector<std::string>& providers) {
  const std::string folder = "/usr/lib/x86_64-linux-gnu/libibverbs/";
  // The constants of a real libibverbs between other bytes, as the compiler leaves them.
  std::string image =
      "\x7f"
      "ELF";
  for (const std::string& text : {std::string("lib%s-rdmav34.so"), folder + "lib%s-rdmav34.so",
                                  std::string("/etc/libibverbs.d")})
    image += std::string(1, '\0') + text + std::string(1, '\0');
  file("/usr/lib/x86_64-linux-gnu/libibverbs.so.1", image);
  for (const std::string& name : providers) {
    file("/etc/libibverbs.d/" + name + ".driver", "driver " + name + "\n");
    file(folder + "lib" + name + "-rdmav34.so", "provider");
  }
  return *this;
}

NodeTree& NodeTree::memlock(std::string_view soft, bool ipcLock) {
  file("/proc/self/limits",
       "Limit                     Soft Limit           Hard Limit           Units     \n"
       "Max processes             4096                 4096                 processes \n"
       "Max locked memory         " +
           std::string(soft) + "              " + std::string(soft) + "            bytes     \n");
  return file("/proc/self/status", std::string("Name:\tjob\nCapEff:\t") +
                                       (ipcLock ? "0000000000004000\n" : "00000000a80425fb\n"));
}

engine::NodeFacts NodeTree::read(std::vector<std::string> environment, int ncclVersion) const {
  probe::ProbeOptions options;
  options.root = root();
  options.environment = std::move(environment);
  options.ncclVersion = ncclVersion;
  return probe::readNode(options);
}

void eightInfinibandHcas(NodeTree& tree) {
  tree.libibverbs({"mlx4", "mlx5", "rxe"});
  for (int i = 0; i < 8; ++i) {
    const std::string name = "mlx5_" + std::to_string(i);
    tree.hca(name, "mlx5_core", "0000:" + std::to_string(10 + i) + ":00.0");
    tree.port(name, 1, "4: ACTIVE", "5: LinkUp", "InfiniBand", "400 Gb/sec (4X NDR)");
  }
  tree.netdev("eth0", true, true);
}

void eightRoceHcas(NodeTree& tree) {
  tree.libibverbs({"mlx5"});
  for (int i = 0; i < 8; ++i) {
    const std::string name = "mlx5_" + std::to_string(i);
    const std::string netdev = "eth" + std::to_string(i + 1);
    tree.hca(name, "mlx5_core", "0000:" + std::to_string(10 + i) + ":00.0");
    tree.port(name, 1, "4: ACTIVE", "5: LinkUp", "Ethernet", "400 Gb/sec (4X NDR)");
    tree.file("/sys/class/infiniband/" + name + "/ports/1/gid_attrs/ndevs/0", netdev + "\n");
    tree.netdev(netdev, true, true);
  }
}

}  // namespace rdmaguard::test
