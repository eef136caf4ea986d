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

}  // namespace
}  // namespace rdmaguard::verify
