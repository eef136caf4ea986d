// Rows of the rule table for what ibstat and its like list. Joined into the
// table by rules.cc; predicates in rules_listing*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

MaybeFinding slowListedPort(const Case& c);
MaybeFinding possibleFrontendPort(const Case& c);
MaybeFinding frontendEthernetHca(const Case& c);
MaybeFinding roceLidZero(const Case& c);
MaybeFinding ibpanicIncomplete(const Case& c);
MaybeFinding truncatedListing(const Case& c);
MaybeFinding unknownLinkLayer(const Case& c);
MaybeFinding netdevStateOnly(const Case& c);
MaybeFinding ibstatReadsSysfs(const Case& c);
MaybeFinding deviceNameMissing(const Case& c);

inline constexpr std::array kListingRules{
    Rule{"slow-nic", "An ACTIVE port runs slower than its siblings", FindingKind::DegradedSignal,
         "Compare cable, transceiver and switch port with those of a fast rail.", "slow-nic-chosen",
         "ibstat(8) Rate, ibstatus rate", slowListedPort, Scope::Job},
    Rule{"possible-frontend-port", "A port that is down is probably no compute rail",
         FindingKind::Note, "Make sure NCCL_IB_HCA names the compute rails only.", "",
         "ibstat(8) CA type and Rate", possibleFrontendPort, Scope::Job},
    Rule{"frontend-ethernet-hca", "An Ethernet port beside InfiniBand rails", FindingKind::Note,
         "Leave it out with NCCL_IB_HCA.", "", "ibstat(8) Link layer", frontendEthernetHca,
         Scope::Job},
    Rule{"roce-lid-zero-normal", "LID 0 on Ethernet is normal", FindingKind::Note,
         "Nothing to fix.", "", "InfiniBand Architecture, annex A16 (RoCE)", roceLidZero,
         Scope::Job},
    Rule{"ibpanic-incomplete-output", "The tool died in the middle of its listing",
         FindingKind::Note, "Run ibv_devinfo in the same place; it lists what ibstat could not.",
         "", "infiniband-diags (ibstat)", ibpanicIncomplete, Scope::Job},
    Rule{"truncated-output", "The listing is cut off", FindingKind::Note, "Give the whole output.",
         "", "ibv_devinfo(1) phys_port_cnt", truncatedListing, Scope::Job},
    Rule{"unknown-link-layer", "A device that is neither InfiniBand nor RoCE", FindingKind::Note,
         "Name the InfiniBand or RoCE devices in NCCL_IB_HCA.", "", "ibv_devinfo(1) link_layer",
         unknownLinkLayer, Scope::Job},
    Rule{"ibdev2netdev-netdev-state-only", "ibdev2netdev shows the interface, not the port",
         FindingKind::Note, "Run ibstat: its State and Physical state are the port's.", "",
         "MLNX_OFED ibdev2netdev", netdevStateOnly, Scope::Job},
    Rule{"ibstat-reads-sysfs", "ibstat sees devices that a container may not open",
         FindingKind::Note, "Run ibv_devinfo in the job's own container: it opens the devices.", "",
         "infiniband-diags (ibstat reads /sys/class/infiniband)", ibstatReadsSysfs, Scope::Job},
    Rule{"device-name-missing", "Ports without the name of their device", FindingKind::Note,
         "Give the lines above, which name the device.", "", "ibstat(8)", deviceNameMissing,
         Scope::Job},
};

}  // namespace rdmaguard::engine
