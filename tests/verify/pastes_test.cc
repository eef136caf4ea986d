// Pastes as people make them: a text in, the whole verdict out. What mixes kinds, what was moved
// or cut on its way, and healthy jobs that must raise no alarm.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "verifier/engine/judge_job.h"
#include "verifier/readers/input.h"

namespace rdmaguard::verify {
namespace {

using engine::JobVerdict;

JobVerdict verdictOf(std::string_view text) {
  return engine::judgeJob(readers::readText(text, "paste.txt").facts, {});
}

/// The ids of all that was found, with a blank before and behind each.
std::string idsOf(const JobVerdict& v) {
  std::string ids = " ";
  for (const auto* list : {&v.causes, &v.job.missing, &v.job.degraded, &v.job.notes})
    for (const engine::Finding& f : *list) ids += f.ruleId + " ";
  return ids;
}

bool has(const JobVerdict& v, std::string_view id) {
  return idsOf(v).find(" " + std::string(id) + " ") != std::string::npos;
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out += std::string(by) + std::string(text.substr(0, end)) + '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

constexpr std::string_view kScript = R"(#!/bin/bash
#SBATCH --job-name=pretrain
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
export NCCL_IB_DISABLE=1
cat > hosts.txt <<EOF
node-1
node-2
EOF
srun torchrun --nnodes=2 --nproc-per-node=8 train.py
)";

// --- logs ------------------------------------------------------------------------------------

// ncclCommInitAll makes all ranks in one process. An excerpt need not show more than one of them.
TEST(Log, RanksThatOneCallMakesNeedNoNetwork) {
  const auto log = [](std::string_view call) {
    return "gpu-7:900:940 [6] NCCL INFO NET/IB : Using [0]mlx5_bond_0:1/RoCE [RO]; OOB "
           "eth0:192.0.2.7<0>\n"
           "gpu-7:900:940 [6] NCCL INFO Using network IB\n"
           "gpu-7:900:940 [6] NCCL INFO " +
           std::string(call) +
           " comm 0x5581c0001400 rank 6 nranks 8 cudaDev 6 nvmlDev 6 busId c1000 commId "
           "0x11aa22bb33cc44dd - Init START\n";
  };
  const JobVerdict one = verdictOf(log("ncclCommInitAll"));
  EXPECT_EQ(engine::name(one.job.engaged), "not_needed") << idsOf(one);
  EXPECT_EQ(one.exitCode, 0);
  const JobVerdict many = verdictOf(log("ncclCommInitRank"));
  EXPECT_EQ(engine::name(many.job.engaged), "yes") << idsOf(many);
}

// What a login node lists is not what the pods have, and the log shows that the filter takes some.
TEST(Mixed, AListingOfOtherDevicesDoesNotOutweighALogThatShowsRdma) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec:\n  containers:\n  - name: w\n"
      "    command: [torchrun, --nnodes=2, train.py]\n"
      "    env: [{name: NCCL_IB_HCA, value: ibp}, {name: NCCL_SOCKET_IFNAME, value: eth0}]\n"
      "    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}\n";
  const std::string listing =
      "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
      "\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n";
  const std::string log =
      "n1:10:11 [0] NCCL INFO NET/IB : Using [0]ibp0:1/IB [RO]; OOB eth0:192.0.2.1<0>\n"
      "n1:10:11 [0] NCCL INFO Using network IB\n"
      "n1:10:11 [0] NCCL INFO comm 0x5501 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL "
      "0\n"
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n";
  EXPECT_TRUE(has(verdictOf(pod + listing), "nccl-ib-hca-matches-nothing"));
  for (const std::string& text : {pod + listing + log, log + listing + "---\n" + pod}) {
    const JobVerdict v = verdictOf(text);
    EXPECT_FALSE(has(v, "nccl-ib-hca-matches-nothing")) << idsOf(v);
    EXPECT_EQ(engine::name(v.job.engaged), "yes");
    EXPECT_EQ(v.exitCode, 0) << idsOf(v);
  }
}

// --- scripts ---------------------------------------------------------------------------------

TEST(Script, OutOfACodeBlockIsTheScript) {
  for (const std::string_view by : {"", "    ", "\t", "  "}) {
    const JobVerdict v = verdictOf("We submit this:\n\n" + indented(kScript, by));
    EXPECT_TRUE(has(v, "ib-disabled-by-env")) << "'" << by << "'" << idsOf(v);
    EXPECT_EQ(v.exitCode, 2) << "'" << by << "'";
  }
}

TEST(Script, ACodeBlockEndsItWithItsIndentation) {
  const JobVerdict v = verdictOf(
      "    #!/bin/bash\n"
      "    #SBATCH --nodes=2\n"
      "    srun python train.py\n"
      "kind: Pod\n"
      "spec:\n"
      "  containers:\n"
      "  - name: train\n"
      "    env:\n"
      "    - {name: NCCL_IB_DISABLE, value: \"1\"}\n"
      "    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}\n");
  EXPECT_TRUE(has(v, "ib-disabled-by-env")) << idsOf(v);
  EXPECT_TRUE(has(v, "rdma-limits-only")) << idsOf(v);
}

TEST(Script, InAManifestsBlockIsTheManifests) {
  const JobVerdict v =
      verdictOf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scripts}\ndata:\n  run.sh: |\n" +
                indented(kScript, "    "));
  EXPECT_FALSE(has(v, "sunk-nodeset-manages-rdma")) << idsOf(v);
}

// `: "${NAME:=value}"` is how scripts give defaults: no program's output, which would end them.
TEST(Script, DefaultsAndMessagesDoNotEndIt) {
  const JobVerdict v = verdictOf(
      "#!/bin/bash\n"
      "#SBATCH --nodes=1\n"
      "#SBATCH --gpus-per-node=8\n"
      ": \"${IMAGE:=/data/train.sqsh}\"\n"
      ": \"${RUNS:?RUNS not set}\"\n"
      "export NCCL_DEBUG=WARN\n"
      "srun --container-image=$IMAGE python train.py\n");
  EXPECT_EQ(engine::name(v.job.engaged), "not_needed") << idsOf(v);
  EXPECT_EQ(v.exitCode, 0) << idsOf(v);
}

std::string script(std::string_view head, std::string_view body) {
  return "#!/bin/bash\n" + std::string(head) + std::string(body) + "srun python train.py\n";
}

TEST(Script, IsAskedForItsHcasWhereItStartsGpusOfSeveralNodesOnInfiniBand) {
  const JobVerdict v = verdictOf(script("#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\n", ""));
  EXPECT_TRUE(has(v, "nccl-ib-hca-unset")) << idsOf(v);
  EXPECT_EQ(v.exitCode, 1);
}

TEST(Script, IsNotAskedForHcasItHasNoUseFor) {
  for (const std::string& text : {
           // EFA, which NCCL's own transport does not drive
           script("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n", "export FI_PROVIDER=efa\n"),
           script("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n",
                  "export FI_EFA_USE_DEVICE_RDMA=1\nexport NCCL_DEBUG=INFO\n"),
           script("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n",
                  "export NCCL_NET=GPUDirectTCPX_v7 NCCL_GPUDIRECTTCPX_CTRL_DEV=enp0s12\n"),
           // no GPU, no NCCL
           script("#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=8\n", ""),
           // nothing says that it is more than one node
           script("#SBATCH --gpus-per-node=8\n", ""),
       }) {
    const JobVerdict v = verdictOf(text);
    EXPECT_FALSE(has(v, "nccl-ib-hca-unset")) << text << idsOf(v);
    EXPECT_EQ(v.exitCode, 0) << text << idsOf(v);
  }
}

TEST(Script, OnEfaMayHaveNcclsOwnTransportOff) {
  constexpr std::string_view kHead = "#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n";
  const JobVerdict efa =
      verdictOf(script(kHead, "export FI_PROVIDER=efa\nexport NCCL_IB_DISABLE=1\n"));
  EXPECT_FALSE(has(efa, "ib-disabled-by-env")) << idsOf(efa);
  EXPECT_EQ(efa.exitCode, 0);
  EXPECT_EQ(verdictOf(script(kHead, "export NCCL_IB_DISABLE=1\n")).exitCode, 2);
}

// --- manifests -------------------------------------------------------------------------------

TEST(Manifest, ADocumentMayBeginOnTheLineThatSeparatesIt) {
  const JobVerdict v = verdictOf(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n"
      "--- {apiVersion: v1, kind: Pod, metadata: {name: w}, spec: {containers: [{name: w, "
      "resources: {requests: {nvidia.com/gpu: 8, rdma/ib: 1}}}]}}\n");
  EXPECT_TRUE(has(v, "rdma-resource-requests-only")) << idsOf(v);
  EXPECT_EQ(v.exitCode, 2);
}

TEST(Manifest, ACommentBehindASeparatorIsNoDocument) {
  const JobVerdict v = verdictOf(
      "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
      "--- # the pod\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec:\n  containers:\n  - name: w\n"
      "    resources: {requests: {nvidia.com/gpu: 8, rdma/ib: 1}}\n");
  EXPECT_TRUE(has(v, "rdma-resource-requests-only")) << idsOf(v);
  EXPECT_FALSE(has(v, "empty-document")) << idsOf(v);
}

std::string pods(std::string_view pod, std::string_view container) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  completions: 4\n"
         "  parallelism: 4\n  completionMode: Indexed\n  template:\n    spec:\n" +
         std::string(pod) + "      containers:\n      - name: train\n        image: train:1\n" +
         std::string(container);
}

constexpr std::string_view kGpusAlone = "        resources: {limits: {amd.com/gpu: 8}}\n";

TEST(Manifest, APrivilegedPodOnTheHostsNetworkNeedsNoResource) {
  const std::string privileged =
      "        securityContext: {privileged: true}\n"
      "        env: [{name: NCCL_IB_HCA, value: mlx5}, {name: NCCL_SOCKET_IFNAME, value: eth0}]\n" +
      std::string(kGpusAlone);
  const JobVerdict shared = verdictOf(pods("      hostNetwork: true\n", privileged));
  EXPECT_TRUE(has(shared, "hostpath-infiniband-privileged")) << idsOf(shared);
  EXPECT_FALSE(has(shared, "rdma-resource-absent")) << idsOf(shared);
  EXPECT_EQ(shared.exitCode, 0);
  // In a network of its own it may see the devices and none of RoCE's addresses.
  const JobVerdict own = verdictOf(pods("", privileged));
  EXPECT_EQ(own.exitCode, 3) << idsOf(own);
  // The host's network alone shows no device.
  const JobVerdict plain = verdictOf(pods("      hostNetwork: true\n", kGpusAlone));
  EXPECT_EQ(plain.exitCode, 2) << idsOf(plain);
}

TEST(Manifest, EfaDevicesInAnUnknownNumberAreStillEfa) {
  const JobVerdict v = verdictOf(
      pods("", "        resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: $EFA}}\n"));
  EXPECT_FALSE(has(v, "nccl-ib-hca-unset")) << idsOf(v);
  EXPECT_TRUE(has(v, "template-unrendered")) << idsOf(v);
  EXPECT_EQ(v.exitCode, 3);
}

TEST(Manifest, OnEfaNcclsOwnTransportMayBeOff) {
  constexpr std::string_view kOff = "        env: [{name: NCCL_IB_DISABLE, value: \"1\"}]\n";
  const JobVerdict efa = verdictOf(pods(
      "", std::string(kOff) +
              "        resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}\n"));
  EXPECT_FALSE(has(efa, "ib-disabled-by-env")) << idsOf(efa);
  EXPECT_EQ(efa.exitCode, 0);
  const JobVerdict ib = verdictOf(pods(
      "", std::string(kOff) + "        resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}\n"));
  EXPECT_TRUE(has(ib, "ib-disabled-by-env")) << idsOf(ib);
  EXPECT_EQ(ib.exitCode, 2);
}

// The same machines are sold with InfiniBand and with RoCE rails.
TEST(Manifest, Gb300NodesAreOnRoceWhereSomethingSaysSo) {
  const auto pod = [](std::string_view env) {
    return pods("      nodeSelector: {node.coreweave.cloud/type: gb300-4x}\n",
                "        env: [{name: NCCL_IB_HCA, value: ibp}, {name: NCCL_SOCKET_IFNAME, value: "
                "eth0}" +
                    std::string(env) +
                    "]\n        resources: {limits: {nvidia.com/gpu: 4, rdma/ib: 1}}\n");
  };
  const JobVerdict unsaid = verdictOf(pod(""));
  EXPECT_EQ(unsaid.exitCode, 0) << idsOf(unsaid);
  EXPECT_TRUE(has(unsaid, "gb300-may-be-roce")) << idsOf(unsaid);
  const JobVerdict roce = verdictOf(pod(", {name: NCCL_IB_ADDR_FAMILY, value: AF_INET6}"));
  EXPECT_EQ(roce.exitCode, 2) << idsOf(roce);
  EXPECT_TRUE(has(roce, "multus-annotations-missing")) << idsOf(roce);
}

}  // namespace
}  // namespace rdmaguard::verify
