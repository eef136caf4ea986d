// Rows of the rule table for what a look at the node itself shows (probe::readWholeNode,
// readChanges, tryRegistration): GIDs, registered memory, counters, the way through PCI. Silent
// where only logs, listings or a job's own process were read. Joined into the table by rules.cc;
// predicates in rules_node_*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

// rules_node_gid.cc: the GID that NCCL would take on each RoCE port.
MaybeFinding gidOutOfRange(const Case& c);
MaybeFinding gidEmpty(const Case& c);
MaybeFinding gidNotInNamespace(const Case& c);
MaybeFinding gidRoceV1(const Case& c);
MaybeFinding gidLinkLocal(const Case& c);

// rules_node_memory.cc: registered memory and shared memory.
MaybeFinding relaxedOrderingRefused(const Case& c);
MaybeFinding registrationRefused(const Case& c);
MaybeFinding registrationUnfinished(const Case& c);
MaybeFinding shmTooSmall(const Case& c);

// rules_node_device.cc: devices beside those that work, and the libraries for them.
MaybeFinding openFailedOnSome(const Case& c);
MaybeFinding providerMissingOnSome(const Case& c);
MaybeFinding devicesNotPassedIn(const Case& c);
MaybeFinding verbsLibrariesMixed(const Case& c);

// rules_node_pci.cc: what slows the way between HCA and GPU.
MaybeFinding acsRedirects(const Case& c);
MaybeFinding iommuTranslates(const Case& c);

// rules_node_counters.cc: what grew while the ports were watched.
MaybeFinding linkWentDown(const Case& c);
MaybeFinding portErrorsGrow(const Case& c);
MaybeFinding congestionSeen(const Case& c);

inline constexpr std::array kWholeNodeRules{
    Rule{"roce-gid-out-of-range", "NCCL_IB_GID_INDEX is past the end of a port's GID table",
         FindingKind::DegradedSignal, "Unset NCCL_IB_GID_INDEX.", "gid-index-empty",
         "NCCL src/transport/net_ib (ncclIbGetGidIndex), ibv_query_gid(3)", gidOutOfRange},
    Rule{"roce-gid-empty", "The GID that NCCL would take is an empty slot",
         FindingKind::DegradedSignal, "Unset NCCL_IB_GID_INDEX; give the interface an address.",
         "gid-index-empty", "NCCL src/transport/net_ib (ncclIbGetGidIndex)", gidEmpty},
    Rule{"roce-gid-not-in-namespace", "The GID's interface is not in this network namespace",
         FindingKind::DegradedSignal, "Give the container the interface, or the host's network.",
         "", "Linux drivers/infiniband/core/cache.c (GIDs and network namespaces)",
         gidNotInNamespace},
    Rule{"roce-gid-v1", "The GID that NCCL would take is of RoCE v1", FindingKind::DegradedSignal,
         "Let NCCL take a RoCE v2 entry.", "gid-index-roce-v1",
         "NCCL src/transport/net_ib (ncclUpdateGidIndex)", gidRoceV1},
    Rule{"roce-gid-link-local", "The GID that NCCL would take is a link-local address",
         FindingKind::DegradedSignal, "Let NCCL take the entry of a routable address.", "",
         "RFC 4291 2.5.6, NCCL src/transport/net_ib (ncclUpdateGidIndex)", gidLinkLocal},
    Rule{"reg-mr-relaxed-refused", "Registering memory with relaxed ordering is refused",
         FindingKind::DegradedSignal, "Use an image whose rdma-core fits the host's driver.",
         "reg-mr-iova2-einval", "NCCL src/transport/net_ib, src/misc/ibvwrap.cc",
         relaxedOrderingRefused},
    Rule{"reg-mr-refused", "A device lets no memory be registered", FindingKind::DegradedSignal,
         "Look for the driver's reason in the host's dmesg.", "", "ibv_reg_mr(3)",
         registrationRefused},
    Rule{"reg-mr-unfinished", "Registering memory hangs or crashes", FindingKind::DegradedSignal,
         "Look for the driver's reason in the host's dmesg.", "", "ibv_reg_mr(3)",
         registrationUnfinished},
    Rule{"shm-too-small", "/dev/shm is too small for the GPUs of a node",
         FindingKind::DegradedSignal, "Give /dev/shm 1 GiB or more.", "shm-not-mounted",
         "NCCL documentation: troubleshooting, shared memory", shmTooSmall},
    Rule{"device-open-failed-on-some", "Some devices cannot be opened", FindingKind::DegradedSignal,
         "Open the device cgroup or the file's mode for the job.", "device-open-failed",
         "NCCL src/transport/net_ib (\"Unable to open device\")", openFailedOnSome},
    Rule{"verbs-provider-missing-on-some", "Some devices have no userspace driver here",
         FindingKind::DegradedSignal, "Install ibverbs-providers in the image.",
         "libibverbs-missing", "rdma-core libibverbs/dynamic_driver.c", providerMissingOnSome},
    Rule{"acs-redirects-gdr", "PCIe switches send HCA-to-GPU traffic up to the CPU",
         FindingKind::DegradedSignal, "Switch ACS off on the PCIe switches (setpci, or the BIOS).",
         "", "PCI Express Base Specification (ACS P2P Request Redirect); NCCL documentation",
         acsRedirects},
    Rule{"port-link-downed", "A link went down while it was watched", FindingKind::DegradedSignal,
         "Check cable, transceiver and switch port.", "link-flap",
         "Linux Documentation/ABI/stable/sysfs-class-infiniband (link_downed)", linkWentDown},
    Rule{"port-errors-growing", "A port's error counters grew while it was watched",
         FindingKind::DegradedSignal, "Check cable, transceiver and switch port.", "",
         "Linux Documentation/ABI/stable/sysfs-class-infiniband, mlx5 hw_counters", portErrorsGrow},
    Rule{"devices-not-passed-in", "The kernel shows more devices than this container was given",
         FindingKind::Note, "Nothing, if the job is meant to have these alone.", "",
         "rdma-core libibverbs/init.c", devicesNotPassedIn},
    Rule{"verbs-libraries-mixed", "libibverbs and a provider are of different rdma-core releases",
         FindingKind::Note, "Take both from one package source.", "",
         "rdma-core (libibverbs private ABI)", verbsLibrariesMixed},
    Rule{"iommu-translates", "The IOMMU translates what the HCAs do", FindingKind::Note,
         "Boot the host with iommu=pt.", "",
         "Linux Documentation/ABI/testing/sysfs-kernel-iommu_groups; NCCL documentation",
         iommuTranslates},
    Rule{"congestion-seen", "Congestion was seen while the ports were watched", FindingKind::Note,
         "Compare with an idle fabric.", "", "mlx5 hw_counters (np_cnp_sent, rp_cnp_handled)",
         congestionSeen},
};

}  // namespace rdmaguard::engine
