// The specs of an input put together: which containers hold GPUs, what gives each role its RDMA
// devices, which settings reach its processes, whether more than one node takes part. What the
// rows of rules_spec.h look at. Refers to the facts: no longer-lived than they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/job_facts.h"
#include "verifier/engine/spec_keys.h"

namespace rdmaguard::engine {

/// What a role's GPU container gets of RDMA, the best that was found.
enum class Provision : std::uint8_t {
  // It gets devices.
  Resource,     ///< limits name an RDMA resource
  Efa,          ///< limits name EFA devices
  Claim,        ///< a DRA claim
  HostDevices,  ///< privileged with hostPath /dev/infiniband
  HostNetwork,  ///< privileged on the host's network: runtimes then show all the host's devices
  Platform,     ///< the platform attaches them by annotation
  Plugin,       ///< another fabric with a plugin of its own (GPUDirect-TCPX and successors)
  Sunk,         ///< a Slurm NodeSet
  // It cannot be told.
  UnknownKey,
  Placeholder,      ///< the quantity is a template's
  UnknownClaim,     ///< a claim whose template is not here
  Webhook,          ///< an annotation or label asks a webhook for it
  NetworkMayCarry,  ///< a Multus network whose name says RDMA, and nothing else
  PrivilegedOnly,   ///< privileged in a network of its own
  Unseen,           ///< parts of the document are a template's or were left out
  // It gets none.
  Refused,           ///< the API server refuses the pod
  OtherContainer,    ///< another container has it
  WithoutPrivilege,  ///< hostPath /dev/infiniband, and the device cgroup forbids it
  PolicyNotRdma,     ///< the SR-IOV policy behind the resource has isRdma false
  Zero,
  Absent,
};

constexpr bool gives(Provision p) {
  return p <= Provision::Sunk;
}
constexpr bool givesNone(Provision p) {
  return p >= Provision::Refused;
}

/// A variable as the job's processes get it.
struct SettingView {
  const SpecSetting* setting = nullptr;
  std::string name, value;
  bool known = true;                       ///< the value is to be seen here
  const SpecEnvSource* through = nullptr;  ///< envFrom that brings it
};

struct RoleView {
  const SpecRole* role = nullptr;
  std::vector<const SpecContainer*> gpu;  ///< main containers that hold GPUs
  double gpus = 0;                        ///< of one pod, 0 = not known
  bool gpuByClaim = false;
  Provision provision = Provision::Absent;
  std::string what;    ///< the resource key, claim, annotation or network it follows from
  Place at;            ///< where that stands, else where it should
  std::string plugin;  ///< for Provision::Plugin and Efa: the name NCCL would print
  std::vector<SettingView> settings;  ///< one per name, in force
  bool settingsUnseen = false;        ///< more may be set where this input does not show it
  Place unseenAt;

  const SettingView* setting(std::string_view name) const;
  /// "container t of Worker (MPIJob bench)"
  std::string where() const;
  const SpecContainer& container() const { return *gpu.front(); }
};

struct SpecView {
  const JobFacts* job = nullptr;
  std::vector<RoleView> gpuRoles;           ///< roles with GPUs
  std::vector<const SpecRole*> otherRoles;  ///< pods without GPUs
  bool singleNode = false;
  Place singleNodeAt;
  bool mpiOperator = false;
  Place mpiOperatorAt;
  bool templated = false;  ///< quantities or blocks that decide are not to be seen
  std::vector<const BatchScript*> slurm;

  explicit SpecView(const JobFacts& facts);

  bool any() const { return job->specs.any; }
  /// The roles that need RDMA: those with GPUs unless one node is all.
  const std::vector<RoleView>& needing() const;
};

/// The role runs on GB300 nodes: a node selector names them, or its Multus networks are those of
/// such a cluster.
bool isGb300(const RoleView& role);
/// On GB300 nodes, and meant for their RoCE rails: something of what RoCE alone needs is there.
/// The same kind of node comes with InfiniBand.
bool onGb300Rails(const RoleView& role);
/// One of the settings that only RoCE needs.
bool setForRoce(std::string_view name);
/// The networks of such a node, named as CoreWeave names them.
inline constexpr std::size_t kGb300Networks = 16;

/// The value is a number other than 0, as NCCL reads NCCL_IB_DISABLE.
bool switchesOff(std::string_view value);
/// The settings are those of a job on EFA: NCCL's own IB transport, and what steers it, is not
/// used.
bool ofEfa(const std::vector<SpecSetting>& settings);
/// Settings keep the role off NCCL's IB transport: NCCL_IB_DISABLE, NCCL_NET=Socket, FI_PROVIDER.
const SettingView* offSetting(const RoleView& role);

}  // namespace rdmaguard::engine
