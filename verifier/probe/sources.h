// The parts of readNode, one per source of facts. Each fills its fields of NodeFacts and
// leaves the rest alone; what cannot be read stays unknown. For probe.cc only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/probe/probe.h"
#include "verifier/probe/tree.h"

namespace rdmaguard::probe {

/// devices, devicesKnown, devInfiniband, kernelVerbsAbi: sysfs, /dev/infiniband.
void readDevices(const Tree& tree, bool openNodes, engine::NodeFacts& node);

/// settings, shadowed: environment and nccl.conf chain. Before readLoader and readHost.
void readSettings(const Tree& tree, const ProbeOptions& options, engine::NodeFacts& node);

/// loader: libibverbs, its *.driver files and provider libraries; defaultNetPlugin.
void readLoader(const Tree& tree, const ProbeOptions& options, engine::NodeFacts& node);

/// hostname, kernelRelease, container, memlock, gdr.
void readHost(const Tree& tree, const ProbeOptions& options, engine::NodeFacts& node);

/// interfaces: /sys/class/net, and on the live machine their addresses.
void readInterfaces(const Tree& tree, engine::NodeFacts& node);

// What readWholeNode adds. Each completes what the functions above found.

/// lid, smLid, lanes, gids and counters of every port.
void readPortDetails(const Tree& tree, engine::NodeFacts& node);

/// gpus, iommu; firmware, function, distances and ACS of every device. After readPortDetails.
void readPci(const Tree& tree, engine::NodeFacts& node);

/// shm, cgroupDevices; nodeNumber and cgroupAllows of every device.
void readContainer(const Tree& tree, engine::NodeFacts& node);

/// Release and interface versions of libibverbs and of its providers.
void readVerbsFiles(const Tree& tree, engine::VerbsLoader& loader);

/// The counters of a port now; `known` becomes true where the kernel shows any.
std::vector<engine::PortCounter> readCounters(const Tree& tree, const engine::RdmaPort& port,
                                              bool& known);
/// Its state and physical state now.
void readState(const Tree& tree, engine::RdmaPort& port);

/// A variable of the probed environment; empty when it is not set.
std::string environmentValue(const ProbeOptions& options, std::string_view name);

}  // namespace rdmaguard::probe
