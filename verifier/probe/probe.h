// This node and process -> engine::NodeFacts. The only part of the verifier that reads sysfs,
// /proc, /dev and the loader. readNode is for the plugin's guard (at communicator init, never on
// a steady-state path) and the command; the other functions are for the command alone.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "verifier/engine/facts.h"

namespace rdmaguard::probe {

struct ProbeOptions {
  /// Every path is read below this directory, so that a tree in a test is a node.
  std::string root = "/";
  /// NAME=VALUE each; absent: this process's environment.
  std::optional<std::vector<std::string>> environment;
  /// open() each uverbs node read-write and close it at once. No verbs context is made, so
  /// the process may fork afterwards.
  bool openDevices = true;
  /// dlopen libibverbs by the names NCCL uses, then close it. Only where root is "/";
  /// elsewhere, and when false, the loader's directories below root are searched.
  bool tryLoader = true;
  /// The NCCL whose rules for conf files apply, as ncclGetVersion; 0 = the newest.
  int ncclVersion = 0;
};

/// Reads the node. Takes a few milliseconds, never throws, changes no state of the process
/// and starts no other; what cannot be read is left unknown, with an entry in `notes`.
engine::NodeFacts readNode(const ProbeOptions& options = {}) noexcept;

/// readNode, and what a look at the node wants beside it: LIDs, GID tables and counters of ports,
/// the PCI tree with its GPUs, the container's /dev/shm and device cgroup, the releases of the
/// verbs libraries. Reads some thousand small files, tens of milliseconds on a node of 16 devices.
engine::NodeFacts readWholeNode(const ProbeOptions& options = {}) noexcept;

/// A second reading of port states and counters, `apart` after readWholeNode: fills `changes` and
/// `stateBefore` of every port and `watchedSeconds`. The caller waits; this reads and returns.
void readChanges(const ProbeOptions& options, std::chrono::duration<double> apart,
                 engine::NodeFacts& node) noexcept;

/// Registers a little host memory with every device that libibverbs lists, as NCCL does, and makes
/// NCCL's test for DMA-BUF: fills `registration` of the node and of each device. A child process
/// does it, so that drivers which hang or crash are a finding; the calling process must have one
/// thread. For the live machine: does nothing where `node` was read below another root.
void tryRegistration(engine::NodeFacts& node, std::chrono::milliseconds limit) noexcept;

/// The net plugins mapped in this process: file names that begin with libnccl-net.
std::vector<std::string> mappedNetPlugins() noexcept;

}  // namespace rdmaguard::probe
