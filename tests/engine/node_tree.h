// A node as a directory tree: sysfs, /dev, /proc and /etc as the kernel and distributions lay
// them out, in a temporary directory that goes with the object. For the tests only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/probe/probe.h"

namespace rdmaguard::test {

class NodeTree {
 public:
  NodeTree();
  ~NodeTree();
  NodeTree(const NodeTree&) = delete;
  NodeTree& operator=(const NodeTree&) = delete;

  std::string root() const { return root_.string(); }

  NodeTree& file(std::string_view path, std::string_view text = "");
  NodeTree& folder(std::string_view path);
  NodeTree& link(std::string_view path, std::string_view target);
  NodeTree& remove(std::string_view path);

  /// A PCI device with a kernel driver, its verbs device and /dev/infiniband node.
  NodeTree& hca(const std::string& name, const std::string& driver, const std::string& pci);
  /// A software device: no parent, `parent` names its interface.
  NodeTree& rxe(const std::string& name, const std::string& netdev);
  /// A port, in the kernel's own words: state "4: ACTIVE", phys "5: LinkUp".
  NodeTree& port(const std::string& device, int number, std::string_view state,
                 std::string_view phys, std::string_view linkLayer, std::string_view rate);
  NodeTree& netdev(const std::string& name, bool up, bool carrier);
  /// libibverbs with what is built into it, and the providers that are installed.
  NodeTree& libibverbs(const std::vector<std::string>& providers);
  NodeTree& memlock(std::string_view soft, bool ipcLock);

  /// What the probe makes of it, with `environment` as the process's own.
  engine::NodeFacts read(std::vector<std::string> environment = {}, int ncclVersion = 0) const;

 private:
  std::filesystem::path at(std::string_view path) const;

  std::filesystem::path root_;
  int verbs_ = 0;
};

/// An H100-class node: eight ConnectX HCAs mlx5_0..7 on InfiniBand, everything in place.
void eightInfinibandHcas(NodeTree& tree);
/// The same on Ethernet, each port with its interface eth1..8.
void eightRoceHcas(NodeTree& tree);

}  // namespace rdmaguard::test
