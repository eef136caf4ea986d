// Rows of the rule table for what pod specs and batch scripts ask for. Joined into the table by
// rules.cc; predicates in rules_spec_*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

// rules_spec_resource.cc: what gives a pod its devices.
MaybeFinding rdmaResourceAbsent(const Case& c);
MaybeFinding rdmaRequestsOnly(const Case& c);
MaybeFinding rdmaRequestsDiffer(const Case& c);
MaybeFinding rdmaWrongContainer(const Case& c);
MaybeFinding rdmaLimitsOnly(const Case& c);
MaybeFinding rdmaQuantityZero(const Case& c);
MaybeFinding rdmaQuantityNotOne(const Case& c);
MaybeFinding siteRdmaKey(const Case& c);
MaybeFinding siteGpuKey(const Case& c);
MaybeFinding unknownRdmaKey(const Case& c);
MaybeFinding efaResource(const Case& c);
MaybeFinding rdmaByClaim(const Case& c);
MaybeFinding rdmaByPlatform(const Case& c);
MaybeFinding hostPathPrivileged(const Case& c);
MaybeFinding hostPathUnprivileged(const Case& c);
MaybeFinding webhookMayInject(const Case& c);
MaybeFinding networkMayCarry(const Case& c);
MaybeFinding sriovPolicyRdma(const Case& c);
MaybeFinding sriovPolicyNotRdma(const Case& c);
MaybeFinding rdmaOnSomeRoles(const Case& c);
// rules_spec_settings.cc: variables.
MaybeFinding hcaUnset(const Case& c);
MaybeFinding ifnameUnset(const Case& c);
MaybeFinding hcaMatchesNothing(const Case& c);
MaybeFinding hcaSiteSpecific(const Case& c);
MaybeFinding envFromConfigMap(const Case& c);
MaybeFinding settingsSourced(const Case& c);
MaybeFinding envDiffersBetweenRoles(const Case& c);
MaybeFinding mpiOperatorManages(const Case& c);
MaybeFinding smallJobSpcx(const Case& c);
// rules_spec_roce.cc: RoCE rails, locked memory, UCX.
MaybeFinding multusMissing(const Case& c);
MaybeFinding multusDuplicate(const Case& c);
MaybeFinding ipcLockMissing(const Case& c);
MaybeFinding ipcLockNotSet(const Case& c);
MaybeFinding roceFamilyUnset(const Case& c);
MaybeFinding roceFamilyWrong(const Case& c);
MaybeFinding roceTrafficClassUnset(const Case& c);
MaybeFinding ucxTlsWrong(const Case& c);
MaybeFinding ucxGidIndexWrong(const Case& c);
MaybeFinding ucxTlsTcp(const Case& c);
// rules_spec_notes.cc: the text, and the shape of the job.
MaybeFinding duplicateKey(const Case& c);
MaybeFinding emptyDocument(const Case& c);
MaybeFinding yamlTabs(const Case& c);
MaybeFinding specTooLarge(const Case& c);
MaybeFinding templateUnrendered(const Case& c);
MaybeFinding specNotParsed(const Case& c);
MaybeFinding noPodInInput(const Case& c);
MaybeFinding noGpuPod(const Case& c);
MaybeFinding singleNodeSpec(const Case& c);
MaybeFinding launcherWithoutRdma(const Case& c);
MaybeFinding workersMayShareNode(const Case& c);
MaybeFinding shmNotMounted(const Case& c);
MaybeFinding sunkManages(const Case& c);
MaybeFinding gb300MayBeRoce(const Case& c);
MaybeFinding shellHeredoc(const Case& c);
MaybeFinding mnnvlPossible(const Case& c);
MaybeFinding installsVerbs(const Case& c);
/// The part of the row external-plugin (rules_log.h) that a spec shows.
MaybeFinding specExternalPlugin(const Case& c);

// Missing conditions in the order in which they are to be put right: the device, what shows it to
// the pod, what NCCL is told, what other libraries are told.
inline constexpr std::array kSpecRules{
    Rule{"rdma-resource-absent", "No RDMA resource on a container with GPUs",
         FindingKind::MissingCondition,
         "Add the cluster's RDMA resource to limits and requests of the container.", "",
         "Kubernetes: extended resources; CoreWeave documentation", rdmaResourceAbsent, Scope::Job},
    Rule{"rdma-resource-requests-only", "The RDMA resource stands under requests alone",
         FindingKind::MissingCondition, "Add it to limits.", "",
         "Kubernetes: extended resources cannot be overcommitted", rdmaRequestsOnly, Scope::Job},
    Rule{"rdma-requests-limits-differ", "Requests and limits of the RDMA resource differ",
         FindingKind::MissingCondition, "Write the same quantity in both.", "",
         "Kubernetes: extended resources cannot be overcommitted", rdmaRequestsDiffer, Scope::Job},
    Rule{"rdma-resource-wrong-container", "The RDMA resource is on another container",
         FindingKind::MissingCondition, "Move it to the container with GPUs.", "",
         "Kubernetes: device plugins hand devices to containers", rdmaWrongContainer, Scope::Job},
    Rule{"multus-annotations-missing", "Fewer than 16 Multus networks on GB300",
         FindingKind::MissingCondition, "Name all 16 rails in the annotation.", "",
         "CoreWeave documentation: GB300 RoCE", multusMissing, Scope::Job},
    Rule{"nccl-ib-hca-unset", "NCCL_IB_HCA is not set", FindingKind::MissingCondition,
         "Set NCCL_IB_HCA to a prefix of the compute HCAs' names.", "",
         "CoreWeave documentation; NCCL src/transport/net_ib", hcaUnset, Scope::Job},
    Rule{"nccl-socket-ifname-unset", "NCCL_SOCKET_IFNAME is not set", FindingKind::MissingCondition,
         "Set NCCL_SOCKET_IFNAME to the pods' interface.", "",
         "CoreWeave documentation; NCCL src/misc/socket.cc", ifnameUnset, Scope::Job},
    Rule{"nccl-ib-hca-matches-nothing", "NCCL_IB_HCA of a spec can match no HCA",
         FindingKind::MissingCondition, "Set it to a prefix of the devices' names.",
         "hca-filter-matches-nothing", "NCCL src/misc/utils.cc (matchIfList)", hcaMatchesNothing,
         Scope::Job},
    Rule{"ipc-lock-missing", "No IPC_LOCK on GB300 RoCE", FindingKind::MissingCondition,
         "Add the capability IPC_LOCK.", "", "CoreWeave documentation: GB300 RoCE", ipcLockMissing,
         Scope::Job},
    Rule{"roce-addr-family-unset", "NCCL_IB_ADDR_FAMILY is not set on GB300 RoCE",
         FindingKind::MissingCondition, "Set NCCL_IB_ADDR_FAMILY=AF_INET6.", "",
         "CoreWeave documentation: GB300 RoCE; NCCL src/transport/net_ib", roceFamilyUnset,
         Scope::Job},
    Rule{"roce-addr-family-wrong", "NCCL_IB_ADDR_FAMILY is not AF_INET6 on GB300 RoCE",
         FindingKind::MissingCondition, "Set NCCL_IB_ADDR_FAMILY=AF_INET6.", "",
         "CoreWeave documentation: GB300 RoCE", roceFamilyWrong, Scope::Job},
    Rule{"roce-traffic-class-unset", "NCCL_IB_TC is not set on GB300 RoCE",
         FindingKind::MissingCondition, "Set NCCL_IB_TC=96.", "",
         "CoreWeave documentation: GB300 RoCE", roceTrafficClassUnset, Scope::Job},
    Rule{"ucx-tls-wrong", "UCX_TLS names plain verbs transports on GB300 RoCE",
         FindingKind::MissingCondition, "Set UCX_TLS=rc_mlx5,ud_mlx5,cuda_copy.", "",
         "CoreWeave documentation: GB300 RoCE; UCX", ucxTlsWrong, Scope::Job},
    Rule{"ucx-gid-index-wrong", "UCX_IB_GID_INDEX is not 11 on GB300 RoCE",
         FindingKind::MissingCondition, "Set UCX_IB_GID_INDEX=11.", "",
         "CoreWeave documentation: GB300 RoCE", ucxGidIndexWrong, Scope::Job},
    Rule{"gb300-may-be-roce", "GB300 nodes, and nothing says whether with InfiniBand or RoCE",
         FindingKind::Note, "Where the rails are RoCE, add the RoCE set.", "",
         "CoreWeave documentation: GB300 RoCE", gb300MayBeRoce, Scope::Job},
    Rule{"rdma-limits-only", "The RDMA resource stands under limits alone", FindingKind::Note,
         "Nothing: Kubernetes copies it to requests.", "", "Kubernetes: managing resources",
         rdmaLimitsOnly, Scope::Job},
    Rule{"rdma-quantity-zero", "The RDMA resource is asked for 0 times", FindingKind::Note,
         "Write 1.", "", "Kubernetes API", rdmaQuantityZero, Scope::Job},
    Rule{"rdma-quantity-not-one", "More than one slot of a shared RDMA resource", FindingKind::Note,
         "Write 1.", "", "k8s-rdma-shared-dev-plugin", rdmaQuantityNotOne, Scope::Job},
    Rule{"site-specific-rdma-key", "The RDMA resource has a site's own name", FindingKind::Note,
         "Compare with `kubectl describe node`.", "", "Kubernetes API", siteRdmaKey, Scope::Job},
    Rule{"unknown-rdma-key", "A resource that may be RDMA or not", FindingKind::Note,
         "Look it up with `kubectl describe node`.", "", "Kubernetes API", unknownRdmaKey,
         Scope::Job},
    Rule{"site-specific-gpu-key", "The GPU resource has a site's own name", FindingKind::Note,
         "Compare with `kubectl describe node`.", "", "Kubernetes API", siteGpuKey, Scope::Job},
    Rule{"efa-resource", "EFA devices instead of rdma/*", FindingKind::Note,
         "Nothing: use aws-ofi-nccl.", "", "AWS EFA device plugin", efaResource, Scope::Job},
    Rule{"rdma-by-dra", "Devices by a resource claim", FindingKind::Note, "Nothing.", "",
         "Kubernetes: dynamic resource allocation", rdmaByClaim, Scope::Job},
    Rule{"rdma-by-platform-annotation", "The platform attaches RDMA NICs by annotation",
         FindingKind::Note, "Nothing.", "", "GKE: networking.gke.io/interfaces", rdmaByPlatform,
         Scope::Job},
    Rule{"hostpath-infiniband-privileged", "Privileged with hostPath /dev/infiniband",
         FindingKind::Note, "Prefer the resource: the scheduler then knows.", "", "Kubernetes API",
         hostPathPrivileged, Scope::Job},
    Rule{"hostpath-infiniband-without-privilege", "hostPath /dev/infiniband without privilege",
         FindingKind::Note, "Ask for the resource instead.", "", "Linux device cgroup",
         hostPathUnprivileged, Scope::Job},
    Rule{"webhook-may-inject-rdma", "A webhook may add RDMA devices", FindingKind::Note,
         "Give the live pod: `kubectl get pod -o yaml`.", "", "Kubernetes API", webhookMayInject,
         Scope::Job},
    Rule{"multus-network-may-carry-rdma", "A Multus network may bring an RDMA device",
         FindingKind::Note, "Look at its definition and at the live pod.", "",
         "RDMA CNI, exclusive mode", networkMayCarry, Scope::Job},
    Rule{"multus-duplicate-network", "A Multus network is named twice", FindingKind::Note,
         "Name each rail once.", "", "Kubernetes API", multusDuplicate, Scope::Job},
    Rule{"sriov-policy-isrdma", "An SR-IOV policy makes the resource RDMA", FindingKind::Note,
         "Nothing.", "", "SR-IOV network operator: isRdma", sriovPolicyRdma, Scope::Job},
    Rule{"sriov-policy-not-rdma", "An SR-IOV policy without isRdma", FindingKind::Note,
         "Set isRdma: true.", "", "SR-IOV network operator: isRdma", sriovPolicyNotRdma,
         Scope::Job},
    Rule{"rdma-on-some-roles-only", "Some roles get RDMA devices and some do not",
         FindingKind::Note, "Give all roles with GPUs the same resources.", "", "Kubernetes API",
         rdmaOnSomeRoles, Scope::Job},
    Rule{"env-differs-between-roles", "Roles have different NCCL variables", FindingKind::Note,
         "Give all roles the same.", "", "Kubernetes API", envDiffersBetweenRoles, Scope::Job},
    Rule{"env-from-configmap", "Variables come from a ConfigMap or Secret", FindingKind::Note,
         "Give it too.", "", "Kubernetes API", envFromConfigMap, Scope::Job},
    Rule{"settings-sourced", "A script sources a file that sets variables", FindingKind::Note,
         "Give it too.", "", "Kubernetes API", settingsSourced, Scope::Job},
    Rule{"mpi-operator-manages-env", "The MPI Operator sees to NCCL's variables", FindingKind::Note,
         "Nothing.", "", "CoreWeave documentation: MPI Operator", mpiOperatorManages, Scope::Job},
    Rule{"launcher-without-rdma-ok", "A launcher without GPUs needs no RDMA", FindingKind::Note,
         "Nothing.", "", "Kubernetes API", launcherWithoutRdma, Scope::Job},
    Rule{"ipc-lock-not-set", "No IPC_LOCK", FindingKind::Note,
         "Add it where registration fails with ENOMEM.", "", "ibv_reg_mr(3), getrlimit(2)",
         ipcLockNotSet, Scope::Job},
    Rule{"shm-not-mounted", "No memory-backed volume at /dev/shm", FindingKind::Note,
         "Mount an emptyDir with medium Memory at /dev/shm.", "",
         "NCCL documentation: troubleshooting, shared memory", shmNotMounted, Scope::Job},
    Rule{"workers-may-share-node", "All workers may fit on one node", FindingKind::Note,
         "Nothing; spread them to test the network.", "", "Kubernetes API", workersMayShareNode,
         Scope::Job},
    Rule{"single-node", "One node is the whole job", FindingKind::Note, "Nothing.", "",
         "Kubernetes API", singleNodeSpec, Scope::Job},
    Rule{"no-gpu-pod", "No container asks for a GPU", FindingKind::Note, "Nothing.", "",
         "Kubernetes API", noGpuPod, Scope::Job},
    Rule{"no-pod-in-input", "No pod is in the input", FindingKind::Note,
         "Give the rendered manifest or the live pod.", "", "Kubernetes API", noPodInInput,
         Scope::Job},
    Rule{"sunk-nodeset-manages-rdma", "Slurm: the nodes bring their RDMA devices",
         FindingKind::Note, "Nothing.", "", "CoreWeave documentation: SUNK", sunkManages,
         Scope::Job},
    Rule{"net-plugin-spcx-small-job", "The Spectrum-X plugin for a small job", FindingKind::Note,
         "Set NCCL_NET_PLUGIN=none below about 10,000 GPUs.", "",
         "CoreWeave documentation: GB300 RoCE", smallJobSpcx, Scope::Job},
    Rule{"ucx-tls-tcp", "UCX stays on TCP", FindingKind::Note, "Nothing for NCCL.", "", "UCX",
         ucxTlsTcp, Scope::Job},
    Rule{"hca-value-site-specific", "NCCL_IB_HCA has a site's own value", FindingKind::Note,
         "Compare with `ibv_devices` in the container.", "", "Kubernetes API", hcaSiteSpecific,
         Scope::Job},
    Rule{"mnnvl-possible", "NVLink may connect nodes", FindingKind::Note, "Nothing.", "",
         "NVIDIA ComputeDomain, IMEX", mnnvlPossible, Scope::Job},
    Rule{"runtime-libibverbs-install", "libibverbs is installed at run time", FindingKind::Note,
         "Install it in the image.", "", "Kubernetes API", installsVerbs, Scope::Job},
    Rule{"duplicate-key", "A key stands twice", FindingKind::Note, "Write it once.", "",
         "YAML 1.2, 3.2.1.1", duplicateKey, Scope::Job},
    Rule{"empty-document", "An empty YAML document", FindingKind::Note, "Nothing.", "",
         "Kubernetes API", emptyDocument, Scope::Job},
    Rule{"template-unrendered", "A template or an excerpt", FindingKind::Note,
         "Give what the cluster gets.", "", "Kubernetes API", templateUnrendered, Scope::Job},
    Rule{"spec-not-parsed", "Text that is no YAML", FindingKind::Note,
         "Give the file as it is applied.", "", "Kubernetes API", specNotParsed, Scope::Job},
    Rule{"yaml-tabs", "Tabs as indentation", FindingKind::Note, "Indent with blanks.", "",
         "YAML 1.2, 6.1", yamlTabs, Scope::Job},
    Rule{"spec-too-large", "A document beyond the reader's limits", FindingKind::Note,
         "Give the job's objects alone.", "", "Kubernetes API", specTooLarge, Scope::Job},
    Rule{"shell-heredoc", "A script with a here-document", FindingKind::Note, "Nothing.", "",
         "Kubernetes API", shellHeredoc, Scope::Job},
};

}  // namespace rdmaguard::engine
