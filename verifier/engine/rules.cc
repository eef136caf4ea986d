// The rule table itself. See rules.h; docs/adding-a-rule.md says how to add a row.
#include "verifier/engine/rules.h"

#include <array>
#include <cstddef>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules_env.h"
#include "verifier/engine/rules_listing.h"
#include "verifier/engine/rules_log.h"
#include "verifier/engine/rules_node.h"
#include "verifier/engine/rules_run.h"
#include "verifier/engine/rules_spec.h"

namespace rdmaguard::engine {
namespace {

constexpr auto kMissing = FindingKind::MissingCondition;
constexpr auto kDegraded = FindingKind::DegradedSignal;
constexpr auto kNote = FindingKind::Note;

// What one node and one selection show. In the order in which NCCL meets the conditions, so that
// the first that holds is the one to fix first: what it was told, then library, device, node,
// driver, port, list, plugin.
constexpr std::array kNodeRules{
    Rule{"net-forced-socket", "NCCL_NET names the Socket transport", kMissing,
         "Unset NCCL_NET, or set NCCL_NET=IB.", "", "NCCL src/init.cc, src/plugin/net.cc",
         netForcedSocket},
    Rule{"net-forced-other", "NCCL_NET names a TCP plugin, or no network at all", kMissing,
         "Unset NCCL_NET, or set NCCL_NET=IB.", "net-forced-socket",
         "NCCL src/init.cc, src/plugin/net.cc", netForcedOther},
    Rule{"net-chosen-by-program", "The program asks for Socket (ncclConfig_t.netName)", kMissing,
         "Remove netName in the program, or override it with NCCL_NET=IB.", "net-forced-socket",
         "NCCL nccl.h, src/init.cc", netChosenByProgram},
    Rule{"ib-disabled-by-env", "NCCL_IB_DISABLE is not 0", kMissing, "Unset NCCL_IB_DISABLE.", "",
         "NCCL src/transport/net_ib (ncclIbInit)", ibDisabled},
    Rule{"tcp-plugin", "The net plugin in use is a TCP transport", kMissing,
         "Set NCCL_NET_PLUGIN=none or to the platform's RDMA plugin.", "",
         "names that plugins give NCCL", tcpPlugin},
    Rule{"provider-is-tcp", "FI_PROVIDER puts the OFI plugin on TCP", kMissing,
         "Unset FI_PROVIDER, or set FI_PROVIDER=efa.", "", "libfabric fi_provider(7)",
         providerIsTcp},
    Rule{"libibverbs-missing", "libibverbs cannot be loaded", kMissing,
         "Install libibverbs and its providers in the image.", "", "NCCL src/misc/ibvsymbols.cc",
         libibverbsMissing},
    Rule{"no-rdma-device", "The kernel shows no RDMA device", kMissing,
         "Check the HCA and its driver on the host; in a container, have the device passed in.", "",
         "Linux Documentation/ABI/stable/sysfs-class-infiniband", noRdmaDevice},
    Rule{"verbs-module-missing", "A device without verbs: ib_uverbs is not loaded", kMissing,
         "modprobe ib_uverbs on the host.", "no-rdma-device", "rdma-core libibverbs/init.c",
         verbsModuleMissing},
    Rule{"uverbs-device-missing", "Devices in sysfs, but none of their nodes in /dev/infiniband",
         kMissing, "Have the devices passed into the container (pod spec, --device).", "",
         "rdma-core libibverbs/init.c", uverbsNodeMissing},
    Rule{"device-open-failed", "The device nodes cannot be opened", kMissing,
         "Open the device cgroup or the file's mode for the job.", "",
         "NCCL src/transport/net_ib (\"Unable to open device\")", deviceOpenFailed},
    Rule{"verbs-provider-missing", "libibverbs has no userspace driver for the devices", kMissing,
         "Install ibverbs-providers of the same rdma-core release in the image.",
         "libibverbs-missing", "rdma-core libibverbs/dynamic_driver.c", providerMissing},
    Rule{"efa-needs-plugin", "The devices are EFA and the AWS OFI plugin is not used", kMissing,
         "Install aws-ofi-nccl and libfabric where NCCL finds them.", "no-rdma-device",
         "NCCL src/transport/net_ib (link layer check)", efaNeedsPlugin},
    Rule{"link-layer-unsupported", "No port is InfiniBand or Ethernet", kMissing,
         "Use the fabric vendor's net plugin.", "no-rdma-device",
         "NCCL src/transport/net_ib (link layer check)", linkLayerUnsupported},
    Rule{"port-not-active", "No port that could be used is ACTIVE", kMissing,
         "Bring the link up: interface, cable, switch port, subnet manager.", "",
         "NCCL src/transport/net_ib (port state check)", portNotActive},
    Rule{"hca-filter-matches-nothing", "NCCL_IB_HCA leaves no port that NCCL could use", kMissing,
         "Set NCCL_IB_HCA to a prefix of the devices' names, or unset it.",
         "nccl-ib-hca-matches-nothing", "NCCL src/misc/utils.cc (matchIfList)",
         hcaFilterMatchesNothing},
    Rule{"hca-filter-port-not-active", "NCCL_IB_HCA takes only ports that are not ACTIVE", kMissing,
         "Bring the named port up, or name one that is ACTIVE.", "port-not-active",
         "NCCL src/misc/utils.cc, src/transport/net_ib", hcaFilterPortNotActive},
    Rule{"plugin-failed-fell-back", "The net plugin that was asked for is not loaded", kMissing,
         "Put the plugin and its libraries where the loader finds them.", "",
         "NCCL src/plugin/plugin_open.cc", pluginNotLoaded},

    Rule{"socket-ifname-matches-nothing", "NCCL_SOCKET_IFNAME matches no usable interface",
         kDegraded, "Name an interface that reaches the other nodes, or unset it.",
         "no-socket-interface", "NCCL src/misc/socket.cc", socketIfnameMatchesNothing},
    Rule{"memlock-limited", "The locked-memory limit is too small to register buffers", kDegraded,
         "Grant CAP_IPC_LOCK or raise RLIMIT_MEMLOCK to unlimited.", "",
         "ibv_reg_mr(3), getrlimit(2)", memlockLimited},
    Rule{"port-disabled", "A port is Disabled", kDegraded, "Enable the port or plug its cable in.",
         "port-down", "sysfs phys_state", somePortDisabled},
    Rule{"port-polling", "A port finds no link partner", kDegraded,
         "Check cable, transceiver and switch port.", "port-down", "sysfs phys_state",
         somePortPolling},
    Rule{"port-down", "A port is DOWN", kDegraded, "Check cable and switch port.", "",
         "sysfs state", somePortDown},
    Rule{"port-initializing", "A port waits for its subnet manager", kDegraded,
         "Start or repair the subnet manager.", "", "sysfs state", somePortInitializing},
    Rule{"fewer-hcas", "NCCL uses fewer HCAs than are ACTIVE and as fast", kDegraded,
         "Let NCCL_IB_HCA take them all.", "unequal-hca-sets", "NCCL's device list against sysfs",
         fewerHcas},
    Rule{"mixed-link-layers", "NCCL takes InfiniBand and Ethernet ports", kDegraded,
         "Name the ports meant for the job in NCCL_IB_HCA.", "", "NCCL's device list",
         mixedLinkLayers},
    Rule{"slow-nic-chosen", "A slow port is in use", kDegraded, "Leave it out with NCCL_IB_HCA.",
         "slow-nic", "NCCL's device list", slowNic},
    Rule{"software-rdma", "The devices are software RDMA", kDegraded, "Use the node's HCAs.", "",
         "Linux drivers/infiniband/sw", softwareRdma},
    Rule{"gdr-disabled-by-env", "A setting switches GPUDirect RDMA off", kDegraded,
         "Remove the setting.", "gdr-disabled", "NCCL src/graph/paths.cc (ncclTopoCheckGdr)",
         gdrDisabledByEnv},
    Rule{"gdr-no-peermem-or-dmabuf", "Neither peer memory nor DMA-BUF for GPUDirect RDMA",
         kDegraded, "Load nvidia_peermem on the host, or use the open kernel modules.",
         "gdr-disabled", "NCCL src/transport/net_ib (ncclIbGdrSupport, ncclIbDmaBufSupport)",
         gdrNoPeermemOrDmabuf},
    Rule{"gdr-disabled", "RDMA without GPUDirect RDMA", kDegraded,
         "Look at the distance between GPU and HCA and at NCCL_NET_GDR_LEVEL.", "",
         "NCCL src/transport/net.cc", gdrCapableNotUsed},

    Rule{"hca-prefix-matches-more", "A name in NCCL_IB_HCA takes more devices than it says", kNote,
         "Put '=' in front of the list for whole names.", "", "NCCL src/misc/utils.cc",
         hcaPrefixMatchesMore},
    Rule{"ib-disable-not-a-number", "NCCL_IB_DISABLE holds a word, which is 0", kNote,
         "Write 1 or 0.", "", "NCCL src/misc/param.cc", ibDisableNotANumber},
};

// A spec's conditions come before NCCL's: without the device there is nothing to choose.
template <std::size_t... N>
constexpr auto joined(const std::array<Rule, N>&... tables) {
  std::array<Rule, (N + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& table) {
    for (const Rule& rule : table) all[at++] = rule;
  };
  (append(tables), ...);
  return all;
}

constexpr auto kRules =
    joined(kSpecRules, kNodeRules, kWholeNodeRules, kLogRules, kEnvRules, kListingRules, kRunRules);

}  // namespace

std::span<const Rule> rules() noexcept {
  return kRules;
}

}  // namespace rdmaguard::engine
