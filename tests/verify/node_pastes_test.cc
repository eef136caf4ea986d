// What an operator pastes of a node's shell, alone and beside a log: a text in, the verdict out.
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

bool has(const std::vector<engine::Finding>& list, std::string_view id) {
  for (const engine::Finding& f : list)
    if (f.ruleId == id) return true;
  return false;
}

bool missing(const JobVerdict& v, std::string_view id) {
  return has(v.job.missing, id);
}

constexpr std::string_view kNoNodes =
    "$ ls /dev/infiniband\nls: cannot access '/dev/infiniband': No such file or directory\n";

// Two ranks on two nodes, on RDMA.
constexpr std::string_view kHealthy =
    "na:71:80 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>\n"
    "na:71:80 [0] NCCL INFO Using network IB\n"
    "na:71:80 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
    "na:71:80 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n";

constexpr std::string_view kSocket =
    "na:71:80 [0] NCCL INFO NET/IB : No device found.\n"
    "na:71:80 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>\n"
    "na:71:80 [0] NCCL INFO Using network Socket\n"
    "na:71:80 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0\n";

TEST(NodePaste, WithoutDeviceNodesCannotUseRdma) {
  const JobVerdict v = verdictOf(kNoNodes);
  EXPECT_TRUE(missing(v, "uverbs-device-missing"));
  EXPECT_EQ(v.job.engaged, engine::Engaged::No);
  EXPECT_EQ(v.exitCode, 2);
}

TEST(NodePaste, WithoutDeviceNodesExplainsAFallback) {
  const JobVerdict v = verdictOf(std::string(kNoNodes) + std::string(kSocket));
  EXPECT_TRUE(missing(v, "uverbs-device-missing"));
  EXPECT_EQ(v.exitCode, 2);
}

TEST(NodePaste, DoesNotOverruleALog) {
  const JobVerdict v = verdictOf(std::string(kNoNodes) + std::string(kHealthy));
  EXPECT_FALSE(missing(v, "uverbs-device-missing"));
  EXPECT_EQ(v.job.engaged, engine::Engaged::Yes);
  EXPECT_EQ(v.exitCode, 0);
}

TEST(NodePaste, WithDeviceNodesLeavesEverythingOpen) {
  const JobVerdict v = verdictOf("$ ls /dev/infiniband\nrdma_cm  uverbs0  uverbs1\n$ date\n");
  EXPECT_EQ(v.job.engaged, engine::Engaged::Unknown);
  EXPECT_TRUE(v.job.missing.empty());
}

TEST(NodePaste, OfALowLimitIsDegraded) {
  const std::string limits =
      "Max locked memory         65536                65536                bytes\n";
  EXPECT_TRUE(has(verdictOf(limits).job.degraded, "memlock-limited"));
  EXPECT_FALSE(has(verdictOf("Max locked memory         unlimited            unlimited            "
                             "bytes\n")
                       .job.degraded,
                   "memlock-limited"));
}

TEST(NodePaste, OfAMisspeltNameIsNoAlarm) {
  const JobVerdict v = verdictOf("$ env\nNCCL_IB_HAC=mlx5\n" + std::string(kHealthy));
  EXPECT_TRUE(has(v.job.notes, "nccl-variable-misspelt"));
  EXPECT_EQ(v.exitCode, 0);
}

TEST(NodePaste, OfAnEmptyGidEntryIsNoAlarmWhereDataMoved) {
  const std::string gids =
      "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
      "mlx5_0\t1\t1\tfe80:0000:0000:0000:ba3f:d2ff:fea1:b2c4\t\t\tv2\teth2\n"
      "NCCL_IB_GID_INDEX=7\n";
  EXPECT_TRUE(missing(verdictOf(gids), "gid-index-empty"));
  EXPECT_FALSE(missing(verdictOf(gids + std::string(kHealthy)), "gid-index-empty"));
}

}  // namespace
}  // namespace rdmaguard::verify
