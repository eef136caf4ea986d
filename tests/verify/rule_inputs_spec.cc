// The rules that look at pod specs and batch scripts: see rule_inputs.h. Most are one change away
// from a pod that lacks nothing.
#include "rule_inputs.h"

namespace rdmaguard::verify {
namespace {

constexpr std::string_view kPod = R"(apiVersion: v1
kind: Pod
metadata:
  name: worker
spec:
  containers:
  - name: worker
    image: registry.example/train:1
    command: [torchrun, --nnodes=2, train.py]
    env:
    - name: NCCL_IB_HCA
      value: ibp
    - name: NCCL_SOCKET_IFNAME
      value: eth0
    securityContext:
      capabilities:
        add: [IPC_LOCK]
    resources:
      limits:
        nvidia.com/gpu: 8
        rdma/ib: 1
      requests:
        nvidia.com/gpu: 8
        rdma/ib: 1
    volumeMounts:
    - {name: shm, mountPath: /dev/shm}
  volumes:
  - {name: shm, emptyDir: {medium: Memory}}
)";

constexpr std::string_view kLimits =
    "      limits:\n        nvidia.com/gpu: 8\n        rdma/ib: 1\n";
constexpr std::string_view kRequests =
    "      requests:\n        nvidia.com/gpu: 8\n        rdma/ib: 1\n";
constexpr std::string_view kNoRdmaLimits = "      limits:\n        nvidia.com/gpu: 8\n";
constexpr std::string_view kNoRdmaRequests = "      requests:\n        nvidia.com/gpu: 8\n";

constexpr std::string_view kHostVolume =
    "  volumes:\n  - {name: ib, hostPath: {path: /dev/infiniband}}\n";
constexpr std::string_view kHostMount =
    "    volumeMounts:\n    - {name: ib, mountPath: /dev/infiniband}\n";

constexpr std::string_view kTwoRoles = R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: job}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example/train:1
            env: [{name: NCCL_IB_HCA, value: ibp}, {name: NCCL_SOCKET_IFNAME, value: eth0}]
            resources:
              limits: {nvidia.com/gpu: 8, rdma/ib: 1}
    Worker:
      replicas: 3
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example/train:2
            env: [{name: NCCL_IB_HCA, value: ibp}, {name: NCCL_SOCKET_IFNAME, value: eth0}]
            resources:
              limits: {nvidia.com/gpu: 8, rdma/ib: 1}
)";

constexpr std::string_view kScript = R"(#!/bin/bash
#SBATCH --nodes=2
export NCCL_IB_HCA=ibp
export NCCL_SOCKET_IFNAME=eth0
srun python train.py
)";

constexpr std::string_view kGb300 = R"(apiVersion: v1
kind: Pod
metadata:
  name: worker
  annotations:
    k8s.v1.cni.cncf.io/networks: ibs0p0,ibs0p1,ibs0p2,ibs0p3,ibs1p0,ibs1p1,ibs1p2,ibs1p3,ibs2p0,ibs2p1,ibs2p2,ibs2p3,ibs3p0,ibs3p1,ibs3p2,ibs3p3
spec:
  nodeSelector: {node.coreweave.cloud/type: gb300-4x}
  containers:
  - name: worker
    image: registry.example/train:1
    securityContext: {capabilities: {add: [IPC_LOCK]}}
    env:
    - {name: NCCL_SOCKET_IFNAME, value: eth0}
    - {name: NCCL_IB_HCA, value: ibp}
    - {name: NCCL_IB_ADDR_FAMILY, value: AF_INET6}
    - {name: NCCL_IB_TC, value: "96"}
    - {name: NCCL_NET_PLUGIN, value: none}
    - {name: UCX_TLS, value: "rc_mlx5,ud_mlx5,cuda_copy"}
    - {name: UCX_IB_GID_INDEX, value: "11"}
    resources:
      limits: {nvidia.com/gpu: 4, rdma/ib: 1}
      requests: {nvidia.com/gpu: 4, rdma/ib: 1}
)";

constexpr std::string_view kMpiJob = R"(apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: job}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: launcher
            image: registry.example/train:1
            command: [mpirun, python, train.py]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: worker
            image: registry.example/train:1
            resources:
              limits: {nvidia.com/gpu: 8, rdma/ib: 1}
)";

constexpr std::string_view kSlurm = R"(#!/bin/bash
#SBATCH --partition=h100
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
export NCCL_SOCKET_IFNAME=eth0 NCCL_IB_HCA=ibp
srun --container-image=registry.example/train:1 python train.py
)";

}  // namespace

std::vector<RuleInput> specRuleInputs() {
  const std::string pod(kPod), gb300(kGb300), mpiJob(kMpiJob), slurm(kSlurm);
  return {
      {"rdma-resource-absent", with(kPod, {{kLimits, kNoRdmaLimits}, {kRequests, kNoRdmaRequests}}),
       pod},
      {"rdma-resource-requests-only", with(kPod, {{kLimits, kNoRdmaLimits}}), pod},
      {"rdma-resource-wrong-container",
       with(kPod, {{kLimits, kNoRdmaLimits},
                   {kRequests, kNoRdmaRequests},
                   {"  volumes:\n",
                    "  - name: sidecar\n    image: registry.example/agent:1\n    resources:\n"
                    "      limits: {rdma/ib: 1}\n      requests: {rdma/ib: 1}\n  volumes:\n"}}),
       with(kPod, {{"  volumes:\n",
                    "  - name: sidecar\n    image: registry.example/agent:1\n    resources:\n"
                    "      limits: {rdma/ib: 1}\n      requests: {rdma/ib: 1}\n  volumes:\n"}})},
      {"rdma-limits-only", with(kPod, {{kRequests, ""}}), pod},
      {"rdma-quantity-zero",
       with(kPod, {{"        rdma/ib: 1\n", "        rdma/ib: 0\n"}, {kRequests, ""}}), pod},
      {"rdma-quantity-not-one",
       with(kPod, {{"        rdma/ib: 1\n", "        rdma/ib: 8\n"}, {kRequests, ""}}), pod},
      {"site-specific-rdma-key", with(kPod, {{"rdma/ib", "rdma/hca_b"}, {"rdma/ib", "rdma/hca_b"}}),
       pod},
      {"unknown-rdma-key",
       with(kPod, {{"rdma/ib", "rails.example/nic_a"}, {"rdma/ib", "rails.example/nic_a"}}), pod},
      {"efa-resource",
       with(kPod, {{"rdma/ib", "vpc.amazonaws.com/efa"}, {"rdma/ib", "vpc.amazonaws.com/efa"}}),
       pod},
      {"nccl-ib-hca-unset", with(kPod, {{"    - name: NCCL_IB_HCA\n      value: ibp\n", ""}}), pod},
      {"nccl-socket-ifname-unset",
       with(kPod, {{"    - name: NCCL_SOCKET_IFNAME\n      value: eth0\n", ""}}), pod},
      {"nccl-ib-hca-matches-nothing", with(kPod, {{"value: ibp", "value: ^ibp"}}),
       with(kPod, {{"value: ibp", "value: ^ibp9"}})},
      {"hca-value-site-specific", with(kPod, {{"value: ibp", "value: rail"}}), pod},
      {"ipc-lock-not-set",
       with(kPod, {{"    securityContext:\n      capabilities:\n        add: [IPC_LOCK]\n", ""}}),
       pod},
      {"shm-not-mounted",
       with(kPod, {{"    volumeMounts:\n    - {name: shm, mountPath: /dev/shm}\n", ""}}), pod},
      {"duplicate-key", with(kPod, {{kLimits, std::string(kLimits) + std::string(kLimits)}}), pod},
      {"empty-document", pod + "---\n", pod},
      {"env-from-configmap",
       with(kPod, {{"    env:\n", "    envFrom:\n    - configMapRef: {name: nccl}\n    env:\n"}}),
       pod},
      {"hostpath-infiniband-privileged",
       with(kPod, {{kLimits, kNoRdmaLimits},
                   {kRequests, kNoRdmaRequests},
                   {"      capabilities:\n", "      privileged: true\n      capabilities:\n"},
                   {"  volumes:\n", kHostVolume},
                   {"    volumeMounts:\n", kHostMount}}),
       pod},
      {"hostpath-infiniband-without-privilege",
       with(kPod, {{"  volumes:\n", kHostVolume},
                   {"    volumeMounts:\n", kHostMount},
                   {kLimits, kNoRdmaLimits},
                   {kRequests, kNoRdmaRequests}}),
       pod},
      {"no-gpu-pod",
       with(kPod, {{"        nvidia.com/gpu: 8\n", ""}, {"        nvidia.com/gpu: 8\n", ""}}), pod},
      {"site-specific-gpu-key",
       with(kPod, {{"nvidia.com/gpu", "gpu.example/h100"}, {"nvidia.com/gpu", "gpu.example/h100"}}),
       pod},
      {"single-node", with(kPod, {{"--nnodes=2", "--nnodes=1"}}), pod},
      {"template-unrendered", with(kPod, {{"value: ibp", "value: {{ .Values.hca }}"}}), pod},
      {"no-pod-in-input",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nccl}\ndata:\n  NCCL_IB_HCA: ibp\n", pod},
      {"rdma-by-dra",
       with(kPod, {{"        rdma/ib: 1\n", ""},
                   {"        rdma/ib: 1\n", ""},
                   {"    resources:\n", "    resources:\n      claims: [{name: rdma-nic}]\n"},
                   {"spec:\n",
                    "spec:\n  resourceClaims:\n  - name: rdma-nic\n"
                    "    resourceClaimTemplateName: rdma-nic\n"}}),
       pod},
      {"rdma-by-platform-annotation",
       with(kPod, {{"        rdma/ib: 1\n", ""},
                   {"        rdma/ib: 1\n", ""},
                   {"  name: worker\n",
                    "  name: worker\n  annotations:\n    networking.gke.io/interfaces: |\n"
                    "      [{\"interfaceName\":\"eth2\",\"network\":\"rdma-0\"}]\n"}}),
       pod},
      {"multus-network-may-carry-rdma",
       with(kPod,
            {{"        rdma/ib: 1\n", ""},
             {"        rdma/ib: 1\n", ""},
             {"  name: worker\n",
              "  name: worker\n  annotations:\n    k8s.v1.cni.cncf.io/networks: lab/site-roce\n"}}),
       pod},
      {"webhook-may-inject-rdma",
       with(kPod, {{"        rdma/ib: 1\n", ""},
                   {"        rdma/ib: 1\n", ""},
                   {"  name: worker\n",
                    "  name: worker\n  annotations:\n    net.example/rdma-inject: rail-pool\n"}}),
       pod},
      {"sriov-policy-isrdma",
       "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: "
       "rails}\n"
       "spec:\n  resourceName: rail_nic\n  isRdma: true\n---\n" +
           with(kPod, {{"rdma/ib", "nvidia.com/rail_nic"}, {"rdma/ib", "nvidia.com/rail_nic"}}),
       with(kPod, {{"rdma/ib", "nvidia.com/rail_nic"}, {"rdma/ib", "nvidia.com/rail_nic"}})},
      {"sriov-policy-not-rdma",
       "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: "
       "rails}\n"
       "spec:\n  resourceName: rail_nic\n  isRdma: false\n---\n" +
           with(kPod, {{"rdma/ib", "nvidia.com/rail_nic"}, {"rdma/ib", "nvidia.com/rail_nic"}}),
       with(kPod, {{"rdma/ib", "nvidia.com/rail_nic"}, {"rdma/ib", "nvidia.com/rail_nic"}})},
      {"mpi-operator-manages-env", mpiJob, pod},
      {"launcher-without-rdma-ok", mpiJob, pod},
      {"workers-may-share-node",
       with(kMpiJob, {{"slotsPerWorker: 8", "slotsPerWorker: 1"},
                      {"{nvidia.com/gpu: 8, rdma/ib: 1}", "{nvidia.com/gpu: 1}"}}),
       mpiJob},
      {"sunk-nodeset-manages-rdma", slurm, pod},
      {"gb300-may-be-roce",
       with(kPod, {{"spec:\n", "spec:\n  nodeSelector: {node.coreweave.cloud/type: gb300-4x}\n"},
                   {"    securityContext:\n      capabilities:\n        add: [IPC_LOCK]\n", ""}}),
       with(kPod, {{"spec:\n", "spec:\n  nodeSelector: {node.coreweave.cloud/type: gb200-4x}\n"},
                   {"    securityContext:\n      capabilities:\n        add: [IPC_LOCK]\n", ""}})},
      {"multus-annotations-missing", with(kGb300, {{",ibs3p3", ""}}), gb300},
      {"multus-duplicate-network", with(kGb300, {{",ibs3p3", ",ibs3p2"}}), gb300},
      {"ipc-lock-missing",
       with(kGb300, {{"    securityContext: {capabilities: {add: [IPC_LOCK]}}\n", ""}}), gb300},
      {"roce-addr-family-unset",
       with(kGb300, {{"    - {name: NCCL_IB_ADDR_FAMILY, value: AF_INET6}\n", ""}}), gb300},
      {"roce-addr-family-wrong", with(kGb300, {{"value: AF_INET6", "value: AF_INET"}}), gb300},
      {"roce-traffic-class-unset",
       with(kGb300, {{"    - {name: NCCL_IB_TC, value: \"96\"}\n", ""}}), gb300},
      {"net-plugin-spcx-small-job", with(kGb300, {{"value: none", "value: spcx"}}), gb300},
      {"ucx-tls-wrong", with(kGb300, {{"rc_mlx5,ud_mlx5", "rc_verbs,ud_verbs"}}), gb300},
      {"ucx-tls-tcp", with(kGb300, {{"rc_mlx5,ud_mlx5,cuda_copy", "tcp,cuda_copy"}}), gb300},
      {"ucx-gid-index-wrong", with(kGb300, {{"value: \"11\"", "value: \"3\""}}), gb300},
      {"rdma-requests-limits-differ",
       with(kPod,
            {{kRequests, "      requests:\n        nvidia.com/gpu: 8\n        rdma/ib: 2\n"}}),
       pod},
      {"rdma-on-some-roles-only",
       with(kTwoRoles, {{"            image: registry.example/train:2\n"
                         "            env: [{name: NCCL_IB_HCA, value: ibp}, "
                         "{name: NCCL_SOCKET_IFNAME, value: eth0}]\n"
                         "            resources:\n"
                         "              limits: {nvidia.com/gpu: 8, rdma/ib: 1}\n",
                         "            image: registry.example/train:2\n"
                         "            resources:\n"
                         "              limits: {nvidia.com/gpu: 8}\n"}}),
       std::string(kTwoRoles)},
      {"env-differs-between-roles",
       with(kTwoRoles, {{"[{name: NCCL_IB_HCA, value: ibp}", "[{name: NCCL_IB_HCA, value: mlx5}"}}),
       std::string(kTwoRoles)},
      {"settings-sourced",
       with(kScript, {{"srun python", "source /opt/site/nccl-env.sh\nsrun python"}}),
       std::string(kScript)},
      {"mnnvl-possible",
       with(kPod, {{"spec:\n",
                    "spec:\n  resourceClaims:\n  - {name: compute-domain-channel, "
                    "resourceClaimTemplateName: job-channel}\n"}}),
       pod},
      {"runtime-libibverbs-install",
       with(kScript, {{"srun python", "apt-get install -y libibverbs1\nsrun python"}}),
       with(kScript, {{"srun python", "apt-get install -y vim\nsrun python"}})},
      {"spec-not-parsed",
       with(kPod, {{"    image: registry.example/train:1\n",
                    "    image: registry.example/train:1\n    args: [unclosed\n"}}),
       pod},
      {"yaml-tabs", with(kPod, {{"    image: registry.example", "\t  image: registry.example"}}),
       pod},
      {"spec-too-large",
       with(kPod, {{"    image: registry.example/train:1\n",
                    "    image: registry.example/train:1\n    deep: " + std::string(4000, '[') +
                        std::string(4000, ']') + "\n"}}),
       with(kPod, {{"    image: registry.example/train:1\n",
                    "    image: registry.example/train:1\n    deep: [[[]]]\n"}})},
      {"shell-heredoc",
       with(kScript, {{"srun python", "cat >hosts <<EOF\nn1 slots=8\nEOF\nsrun python"}}),
       std::string(kScript)},
  };
}

}  // namespace rdmaguard::verify
