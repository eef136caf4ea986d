// Lines that were torn, joined, wrapped or cut on their way.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/readers/log_text.h"

namespace rdmaguard::readers {
namespace {

const engine::ProcessLog* of(const engine::LogFacts& log, std::string_view host) {
  const auto at = std::find_if(log.processes.begin(), log.processes.end(),
                               [&](const engine::ProcessLog& p) { return p.host == host; });
  return at == log.processes.end() ? nullptr : &*at;
}

std::uint64_t receivesGdr(const engine::LogFacts& log, std::string_view host) {
  const engine::ProcessLog* p = of(log, host);
  if (p == nullptr || p->comms.size() != 1 || p->comms[0].edges.size() != 1) return 0;
  return p->comms[0].edges[0].receivesGdr;
}

constexpr std::string_view kA =
    "a:1:2 [0] NCCL INFO Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA";
constexpr std::string_view kB =
    "b:5:6 [0] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [receive] via NET/IB/0/GDRDMA";

// Another process writes its line after so many bytes of this one; the rest has a line to itself.
class TornAt : public testing::TestWithParam<std::size_t> {};

TEST_P(TornAt, BothLinesAreReadAndEachGoesToItsProcess) {
  const std::size_t at = GetParam();
  const engine::LogFacts log = test::logOf(
      "a:1:2 [0] NCCL INFO Using network IB\nb:5:6 [0] NCCL INFO Using network IB\n" +
      std::string(kA.substr(0, at)) + std::string(kB) + "\n" + std::string(kA.substr(at)) + "\n");
  EXPECT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(receivesGdr(log, "a"), 1U);
  EXPECT_EQ(receivesGdr(log, "b"), 1U);
}

INSTANTIATE_TEST_SUITE_P(Bytes, TornAt,
                         testing::Values(9U, 20U, 28U, 40U, 55U, 63U, 66U, 69U, 71U));

TEST(TornLines, ALineFollowsLaterThanTheForeignOne) {
  const engine::LogFacts log = test::logOf(
      "a:1:2 [0] NCCL INFO b:5:6 [0] NCCL INFO Using network IB\nUsing network Socket\n");
  ASSERT_NE(of(log, "a"), nullptr);
  ASSERT_NE(of(log, "b"), nullptr);
  ASSERT_EQ(of(log, "a")->networks.size(), 1U);
  EXPECT_EQ(of(log, "a")->networks[0].network, "Socket");
  EXPECT_EQ(of(log, "b")->networks[0].network, "IB");
}

TEST(TornLines, APlainLineThatFollowsIsNotTaken) {
  const engine::LogFacts log = test::logOf(std::string(kA) + std::string(kB) +
                                           "\nepoch 3 loss 2.41\n" + std::string(kA) + "\n");
  EXPECT_EQ(receivesGdr(log, "a"), 2U);
  EXPECT_EQ(receivesGdr(log, "b"), 1U);
  EXPECT_EQ(log.lines, 3U);
}

TEST(JoinedLines, EveryMessageOfAPhysicalLineIsRead) {
  const std::string two = std::string(kA) + std::string(kB) + "\n";
  const std::string padded = std::string(kA) + "          " + std::string(kB) + "\n";
  const std::string bar = std::string(kA) + " | " + std::string(kB) + "\n";
  for (const std::string& text : {two, padded, bar}) {
    const engine::LogFacts log = test::logOf(text);
    EXPECT_EQ(receivesGdr(log, "a"), 1U) << text;
    EXPECT_EQ(receivesGdr(log, "b"), 1U) << text;
  }
}

TEST(JoinedLines, AWholeLogOnOneLineIsRead) {
  std::string text = "[1,0]<stdout>:";
  for (int i = 0; i < 500; ++i) text += std::string(i % 2 == 0 ? kA : kB) + " ";
  const engine::LogFacts log = test::logOf(text + "\n");
  EXPECT_EQ(receivesGdr(log, "a"), 250U);
  EXPECT_EQ(receivesGdr(log, "b"), 250U);
}

TEST(WrappedLines, WhatATerminalBrokeIsPutTogether) {
  const engine::ProcessLog p = test::processOf(
      "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx\n"
      "5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>\n");
  ASSERT_EQ(p.devices.size(), 2U);
  EXPECT_EQ(p.devices[1].name, "mlx5_1");
  EXPECT_FALSE(p.deviceListCut);
}

TEST(CutLines, AnInputThatEndsWithinALineIsKnownToBeCut) {
  const engine::LogFacts log =
      test::logOf("a:1:2 [0] NCCL INFO NET/IB : No device found.\na:1:2 [0] NCCL INFO Using netw");
  ASSERT_EQ(log.processes.size(), 1U);
  EXPECT_TRUE(log.cut);
  EXPECT_TRUE(log.processes[0].cut);
  EXPECT_TRUE(log.processes[0].noDevice);
  EXPECT_TRUE(log.processes[0].networks.empty());
}

// A channel whose line another writer broke off does not say how it goes: it is not one without
// GPUDirect RDMA.
TEST(CutLines, AChannelBrokenOffBeforeItsEndSaysNothingOfGpuDirect) {
  for (const std::string tail : {"/GDLoading the checkpoint shards", "/G", "/GDRDM",
                                 "/GDRD epoch 1", "Loading the checkpoint shards", "/"}) {
    const engine::CommLog c = test::commOf(
        "Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
        "n1:10:11 [0] NCCL INFO Channel 01/0 : 1[1] -> 8[0] [send] via NET/IB/1" +
        tail);
    ASSERT_EQ(c.edges.size(), 1U) << tail;
    EXPECT_EQ(c.edges[0].sends, 1U) << tail;
    EXPECT_EQ(c.edges[0].sendsGdr, 1U) << tail;
  }
}

TEST(CutLines, ALineWithoutItsBeginningIsReadForWhatItSays) {
  const engine::LogFacts log = test::logOf(
      "orkerWrapper pid=43105) k8s-20:43105:43106 [6] NCCL INFO Channel\n"
      "105:43106 [6] NCCL INFO Using network IB\n");
  ASSERT_FALSE(log.processes.empty());
  EXPECT_EQ(log.processes[0].host, "k8s-20");
  EXPECT_EQ(log.processes[0].pid, 43105);
  EXPECT_EQ(log.lines, 2U);
}

TEST(CutLines, RayTellsThatOthersSaidTheSame) {
  const engine::LogFacts log = test::logOf(
      "(W pid=1) a:1:2 [0] NCCL INFO comm 0x57 rank 6 nRanks 8 nNodes 1 localRanks 8 localRank 6 "
      "MNNVL 0 [repeated 15x across cluster]\n"
      "(W pid=1) a:1:2 [0] NCCL INFO Channel 00/0 : 6[ [repeated 31x across cluster]\n");
  EXPECT_TRUE(log.repeatedAcrossCluster);
  ASSERT_EQ(log.processes.size(), 1U);
  ASSERT_EQ(log.processes[0].comms.size(), 1U);
  EXPECT_FALSE(log.processes[0].comms[0].mnnvl);
  EXPECT_EQ(log.processes[0].comms[0].localEdges, 0U);
}

TEST(HostileLines, AMegabyteOfHeadersCostsNoMoreThanItsLength) {
  std::string text = "NCCL INFO ";
  while (text.size() < (std::size_t{2} << 20)) text += "h:1:1:1:1:1:1:1:1:1[";
  text += " [0] NCCL INFO x\n";
  EXPECT_GE(test::logOf(text).lines, 1U);
}

}  // namespace
}  // namespace rdmaguard::readers
