// This node and process -> engine::NodeFacts. The only part of the verifier that reads sysfs,
// /proc, /dev and the loader. Used by the plugin's guard (at communicator init, never on a
// steady-state path) and by the command.
#pragma once

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

/// The net plugins mapped in this process: file names that begin with libnccl-net.
std::vector<std::string> mappedNetPlugins() noexcept;

}  // namespace rdmaguard::probe
