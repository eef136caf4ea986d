// Rows of the rule table for what only NCCL's log lines show: of one process, and of ranks beside
// each other. Joined into the table by rules.cc; predicates in rules_log.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

inline constexpr std::array kLogRules{
    Rule{"gdr-distance", "GPU and HCA are too far apart for GPUDirect RDMA",
         FindingKind::DegradedSignal,
         "Use the HCA next to the GPU, or allow the distance with NCCL_NET_GDR_LEVEL.",
         "gdr-disabled", "NCCL src/graph/paths.cc (ncclTopoCheckGdr)", gdrDistance, Scope::Job},
    Rule{"ranks-disagree", "Ranks of one communicator are on different networks",
         FindingKind::DegradedSignal,
         "Find out why the odd ranks are off; a job of two networks hangs or fails.", "",
         "NCCL's network lines of all ranks", ranksDisagree, Scope::Job},
    Rule{"nccl-version-mismatch", "Ranks run different NCCL releases", FindingKind::DegradedSignal,
         "Use one image with one NCCL release on all nodes.", "", "NCCL's version lines",
         versionsDiffer, Scope::Job},
    Rule{"wrong-interface", "NCCL talks over an interface that other nodes cannot reach",
         FindingKind::DegradedSignal,
         "Name the interface that reaches the other nodes in NCCL_SOCKET_IFNAME.", "",
         "NCCL src/misc/socket.cc (ncclFindInterfaces)", wrongInterface, Scope::Job},
    Rule{"unequal-hca-sets", "Nodes use different numbers of HCAs", FindingKind::DegradedSignal,
         "Find out why the node with fewer lacks some (ibv_devinfo, NCCL_IB_HCA).", "",
         "NCCL's device lists of all nodes", unequalHcaSets, Scope::Job},
    Rule{"gdr-partial", "GPUDirect RDMA on some connections only", FindingKind::DegradedSignal,
         "Find out which GPUs are too far from an HCA or lack peer memory and DMA-BUF.",
         "gdr-disabled", "NCCL's channel lines", gdrPartial, Scope::Job},
    Rule{"setup-failed", "The job failed before data moved", FindingKind::Note,
         "Repair what the first error names.", "", "NCCL src/transport/net_ib, src/bootstrap.cc",
         setupFailed, Scope::Job},
    Rule{"selected-not-connected", "A network was chosen and no connection follows",
         FindingKind::Note, "Look at what the ranks did next, before the network.", "",
         "NCCL src/init.cc, src/transport/net.cc", selectedNotConnected, Scope::Job},
    Rule{"link-layer-not-shown", "No line shows whether the ports are InfiniBand or RoCE",
         FindingKind::Note, "Keep the \"NET/IB : Using\" lines (NCCL_DEBUG=INFO).", "",
         "NCCL src/transport/net_ib", linkLayerNotShown, Scope::Job},
    Rule{"external-plugin", "A net plugin carries the traffic", FindingKind::Note,
         "Read the plugin's own documentation for its settings.", "", "NCCL src/plugin/net.cc",
         externalPlugin, Scope::Job},
    Rule{"external-plugin-file", "An error comes from a net plugin's own source file",
         FindingKind::Note, "Report it to the plugin's maintainers, with the plugin's version.", "",
         "file names in NCCL's warnings", externalPluginFile, Scope::Job},
};

}  // namespace rdmaguard::engine
