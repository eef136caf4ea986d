// One case before the rules: the facts and what follows from them at once. Built by judge.cc,
// read by the rule functions. Holds references to the facts: no longer-lived than they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/hca_filter.h"
#include "verifier/engine/job_facts.h"
#include "verifier/engine/selection.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::engine {

struct LogVerdict;  // what an input's log lines decide (judge_log.h)

/// What keeps NCCL's IB transport from a port, in the order in which it meets them:
/// libibverbs lists a device that has a verbs node and a provider, NCCL opens it, skips ports
/// of other link layers and ports not ACTIVE, then applies NCCL_IB_HCA.
enum class Obstacle : std::uint8_t {
  NoVerbs,      ///< the kernel offers no verbs device for it
  NodeMissing,  ///< its /dev/infiniband node is not here
  OpenFailed,   ///< the node cannot be opened
  NoProvider,   ///< libibverbs has no userspace driver for it
  LinkLayer,    ///< neither InfiniBand nor Ethernet
  NotActive,    ///< the port's state is not ACTIVE
  Filtered,     ///< NCCL_IB_HCA leaves it out
};

/// One port (or a device whose ports are not known) and all that stands in its way.
/// Something not known never counts as an obstacle.
struct PortView {
  const RdmaDevice* device = nullptr;
  const RdmaPort* port = nullptr;  ///< null: the device's ports are not known
  unsigned obstacles = 0;          ///< a bit for each Obstacle

  bool hit(Obstacle o) const { return (obstacles >> static_cast<unsigned>(o)) & 1u; }
  /// Nothing before `o` stops it.
  bool reaches(Obstacle o) const {
    return (obstacles & ((1u << static_cast<unsigned>(o)) - 1u)) == 0;
  }
  bool usable() const { return obstacles == 0; }
};

struct Case {
  const NodeFacts& node;
  const Selection& seen;
  const JobFacts* job = nullptr;  ///< the whole input of `verify`; null in the job and on the node
  const ProcessLog* process = nullptr;   ///< the facts come from this process's log lines
  const PortListing* listing = nullptr;  ///< the facts come from this listing of ports
  const LogVerdict* log = nullptr;       ///< for rules of Scope::Job: what the log lines decide
  std::vector<PortView> ports;
  const Setting* hcaSetting = nullptr;
  NameFilter hcaFilter;  ///< of hcaSetting; takes everything when that is unset

  Case(const NodeFacts& n, const Selection& s, const JobFacts* j = nullptr);

  const Setting* setting(std::string_view name) const;

  /// All ranks on one node: nothing to explain.
  bool oneNode() const;
  /// NCCL's IB transport works here: the device rules have nothing to say.
  bool ibWorks() const;
  /// NCCL's IB transport got past NCCL_IB_DISABLE and libibverbs.
  bool ibInitialised() const { return seen.ibDevices >= 0; }
  /// The communicator is known to be off RDMA, or the transport is not known yet.
  bool mayBeOff() const;

  /// `o` alone stops every port, or stops all that got as far as `o`.
  bool blockedAt(Obstacle o) const;
  /// The ports that blockedAt(o) is about: those that reach `o`, or else all that `o` hits.
  std::vector<const PortView*> stoppedAt(Obstacle o) const;
  /// Ports that nothing stands in the way of.
  std::vector<const PortView*> usablePorts() const;
};

/// Why a device that hits Obstacle::OpenFailed cannot be opened: open(2), else ibv_open_device.
int openErrnoOf(const RdmaDevice& d);
/// "mlx5_0 port 1"
std::string portName(const PortView& p);
/// The device names of `ports`, each once.
std::vector<std::string> deviceNames(const std::vector<const PortView*>& ports);
/// An NCCL_IB_HCA value that takes these devices and is short: a common prefix where the
/// names have one that takes no other device of the node, else "=" and the names.
std::string hcaSettingFor(const std::vector<std::string>& names, const NodeFacts& node);
/// How to make a setting go away, as an imperative clause: "unset X", "remove X from F:3",
/// "unset X where the job sets it" for one that a log repeats.
std::string undo(const Setting& s);
/// This NCCL_NET names no net at all: it is empty (which NCCL does not take as unset), a word for
/// what people mean, or a device. Other names may be a plugin's.
bool isNoNet(std::string_view value, const NodeFacts& node);
/// The setting as evidence.
Evidence settingEvidence(const Setting& s);

}  // namespace rdmaguard::engine
