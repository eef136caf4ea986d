// Which communicator, process and machine a line belongs to.
#include <gtest/gtest.h>

#include <string>

#include "tests/readers/log_text.h"

namespace rdmaguard::readers {
namespace {

std::string init(const std::string& who, const std::string& pointer, int rank,
                 const std::string& id, const std::string& end) {
  return who + " NCCL INFO ncclCommInitRank comm " + pointer + " rank " + std::to_string(rank) +
         " nranks 8 cudaDev 0 nvmlDev 0 busId a000 commId " + id + " - Init " + end + "\n";
}

TEST(LogCommunicator, ANetworkBelongsToTheOneItsThreadInitialisesNext) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO Using network IB\n" + init("n:1:2 [0]", "0xa1", 0, "0x11", "START") +
      "n:1:9 [0] NCCL INFO Using network Socket\n" + init("n:1:9 [0]", "0xb1", 0, "0x22", "START") +
      "n:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "n:1:9 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n");
  ASSERT_EQ(p.comms.size(), 2U);
  EXPECT_EQ(p.comms[0].id, "0x11");
  EXPECT_EQ(p.comms[0].network, "IB");
  EXPECT_EQ(p.comms[0].networkAt.line, 1U);
  ASSERT_EQ(p.comms[0].edges.size(), 1U);
  EXPECT_EQ(p.comms[0].edges[0].network, "IB");
  EXPECT_EQ(p.comms[1].network, "Socket");
  ASSERT_EQ(p.comms[1].edges.size(), 1U);
  EXPECT_EQ(p.comms[1].edges[0].network, "Socket");
}

TEST(LogCommunicator, ThreadsOfOneProcessAreRanksOfTheirOwn) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO Using network Socket\n"
      "n:1:3 [1] NCCL INFO Using network Socket\n" +
      init("n:1:2 [0]", "0xa1", 0, "0x11", "START") +
      init("n:1:3 [1]", "0xa2", 1, "0x11", "START") +
      "n:1:3 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 7[0] -> 0[0] [receive] via NET/Socket/0\n");
  ASSERT_EQ(p.comms.size(), 2U);
  EXPECT_EQ(p.comms[0].rank, 0);
  EXPECT_EQ(p.comms[1].rank, 1);
  EXPECT_EQ(p.comms[0].edges[0].receives, 1U);
  EXPECT_EQ(p.comms[1].edges[0].sends, 1U);
}

TEST(LogCommunicator, ChannelsComeBeforeTheNameUntil218) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO Using network IB\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n"
      "n:1:2 [0] NCCL INFO comm 0xa1 rank 0 nranks 2 cudaDev 0 busId a000 - Init COMPLETE\n");
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_EQ(p.comms[0].pointer, "0xa1");
  EXPECT_EQ(p.comms[0].nRanks, 2);
  EXPECT_TRUE(p.comms[0].complete);
  EXPECT_FALSE(p.comms[0].started);
  EXPECT_EQ(p.comms[0].network, "IB");
  EXPECT_EQ(p.comms[0].edges[0].receives, 1U);
}

TEST(LogCommunicator, OneNetworkLineOfAnotherThreadHoldsForTheProcess) {
  const engine::ProcessLog p = test::processOf(
      "n:1:1 [0] NCCL INFO Using network Socket\n"
      "n:1:7 [0] NCCL INFO comm 0xa1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE\n");
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_EQ(p.comms[0].network, "Socket");
  EXPECT_EQ(p.comms[0].networkAt.line, 1U);
}

TEST(LogCommunicator, TwoNetworksOfOtherThreadsTellNothing) {
  const engine::ProcessLog p = test::processOf(
      "n:1:1 [0] NCCL INFO Using network Socket\n"
      "n:1:4 [0] NCCL INFO Using network IB\n"
      "n:1:7 [0] NCCL INFO comm 0xa1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE\n");
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_EQ(p.comms[0].network, "");
  EXPECT_EQ(p.networks.size(), 2U);
}

TEST(LogCommunicator, ConnectionsMadeLaterComeFromThreadsOfTheirOwn) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO Using network IB\n" + init("n:1:2 [0]", "0xa1", 5, "0x11", "START") +
      init("n:1:2 [0]", "0xa1", 5, "0x11", "COMPLETE") +
      "n:1:40 [0] NCCL INFO Channel 00/0 : 1[0] -> 5[0] [receive] via NET/IB/0\n"
      "n:1:41 [0] NCCL INFO Channel 00/1 : 5[0] -> 6[0] [send] via NET/IB/0\n");
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_TRUE(p.comms[0].complete);
  EXPECT_EQ(p.comms[0].edges[0].receives, 1U);
  EXPECT_EQ(p.comms[0].edges[0].sends, 1U);
}

TEST(LogCommunicator, ASplitInheritsItsParentsNetwork) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO Using network IB\n" + init("n:1:2 [0]", "0xa1", 0, "0x11", "START") +
      "n:1:9 [0] NCCL INFO Using network Socket\n" + init("n:1:9 [0]", "0xb1", 0, "0x22", "START") +
      "n:1:5 [0] NCCL INFO ncclCommSplit comm 0xc1 rank 1 nranks 4 cudaDev 0 nvmlDev 0 busId a000 "
      "parent 0xa1 splitCount 1 color 3 key 0 - Init COMPLETE\n");
  ASSERT_EQ(p.comms.size(), 3U);
  EXPECT_TRUE(p.comms[2].split);
  EXPECT_EQ(p.comms[2].parent, "0xa1");
  EXPECT_EQ(p.comms[2].network, "IB");
  EXPECT_EQ(p.comms[2].nRanks, 4);
}

TEST(LogCommunicator, TheNodesLineFillsInWhatItKnows) {
  const engine::CommLog c =
      test::commOf("comm 0xa1 rank 4 nRanks 16 nNodes 2 localRanks 8 localRank 4 MNNVL 1");
  EXPECT_EQ(c.rank, 4);
  EXPECT_EQ(c.nRanks, 16);
  EXPECT_EQ(c.nNodes, 2);
  EXPECT_EQ(c.localRanks, 8);
  EXPECT_TRUE(c.mnnvl);
}

TEST(LogCommunicator, RingsTellWhetherAllHadGdr) {
  const auto ring = [](const std::string& words) {
    const engine::ProcessLog p = test::processOf(
        "n:1:2 [0] NCCL INFO comm 0xa1 rank 4 nRanks 16 nNodes 2 localRanks 8 localRank 4 MNNVL "
        "0\nn:1:2 [0] NCCL INFO " +
        words + "\n");
    return p.comms.size() == 1 ? p.comms[0].ringGdr : std::optional<int>{};
  };
  EXPECT_EQ(ring("Connected all rings, use ring PXN 0 GDR 1"), 1);
  EXPECT_EQ(ring("Connected all rings, use ring PXN 1 GDR 0"), 0);
  EXPECT_EQ(ring("Connected all rings"), std::nullopt);
}

TEST(LogCommunicator, MemoryOfOneThatIsGoneIsUsedAgain) {
  const engine::ProcessLog p = test::processOf(
      init("n:1:2 [0]", "0xa1", 0, "0x11", "START") +
      "n:1:2 [0] NCCL INFO comm 0xa1 rank 0 nranks 8 cudaDev 0 busId a000 - Destroy COMPLETE\n" +
      init("n:1:2 [0]", "0xa1", 3, "0x22", "START"));
  ASSERT_EQ(p.comms.size(), 2U);
  EXPECT_TRUE(p.comms[0].destroyed);
  EXPECT_FALSE(p.comms[0].aborted);
  EXPECT_EQ(p.comms[1].id, "0x22");
  EXPECT_EQ(p.comms[1].rank, 3);
  EXPECT_FALSE(p.comms[1].destroyed);
}

TEST(LogCommunicator, OperationsAreCountedByCommunicator) {
  const engine::ProcessLog p = test::processOf(
      init("n:1:2 [0]", "0xa1", 0, "0x11", "START") +
      init("n:1:2 [0]", "0xb1", 0, "0x22", "START") +
      "n:1:2 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7f count 8 datatype 7 op "
      "0 root 0 comm 0xa1 [nranks=8] stream 0x5\n"
      "n:1:2 [0] NCCL INFO AllGather: opCount 1 sendbuff 0x7f recvbuff 0x7f count 8 datatype 7 op "
      "0 root 0 comm 0xa1 [nranks=8] stream 0x5\n");
  ASSERT_EQ(p.comms.size(), 2U);
  EXPECT_EQ(p.comms[0].opLines, 2U);
  EXPECT_EQ(p.comms[0].lastOp, "AllGather");
  EXPECT_EQ(p.comms[1].opLines, 0U);
}

std::string operation(const std::string& name, const std::string& pointer) {
  return "n:1:2 [0] NCCL INFO " + name +
         ": opCount 3f sendbuff 0x7f00 recvbuff 0x7f10 count 8 datatype 7 op 0 root 0 comm " +
         pointer + " [nranks=8] stream 0x55d1b0f31000\n";
}

TEST(LogCommunicator, OperationsOfMoreCommunicatorsThanAreRememberedAreCountedToo) {
  constexpr int kComms = 40, kRounds = 3;
  std::string text;
  const auto pointer = [](int i) { return "0x55d1c00" + std::to_string(10000 + i); };
  for (int i = 0; i < kComms; ++i)
    text += init("n:1:2 [0]", pointer(i), 0, "0x" + std::to_string(100 + i), "START");
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < kComms; ++i)
      text += operation(round == 2 ? "Send" : "AllReduce", pointer(i));
  const engine::ProcessLog p = test::processOf(text);
  ASSERT_EQ(p.comms.size(), std::size_t{kComms});
  for (const engine::CommLog& c : p.comms) {
    EXPECT_EQ(c.opLines, std::uint64_t{kRounds});
    EXPECT_EQ(c.lastOp, "Send");
  }
}

TEST(LogCommunicator, OperationsGoToWhoHasThePointerAtTheTime) {
  const std::string gone =
      "n:1:2 [0] NCCL INFO comm 0x55d1c0001400 rank 0 nranks 8 cudaDev 0 busId a000 - Destroy "
      "COMPLETE\n";
  const engine::ProcessLog p = test::processOf(
      operation("Broadcast", "0x55d1c0001400") +
      init("n:1:2 [0]", "0x55d1c0001400", 0, "0x11", "START") +
      operation("AllReduce", "0x55d1c0001400") + gone +
      init("n:1:2 [0]", "0x55d1c0001400", 0, "0x22", "START") +
      operation("ReduceScatter", "0x55d1c0001400") + operation("AllGather", "0x55d1c0001400"));
  ASSERT_EQ(p.comms.size(), 2U);
  EXPECT_EQ(p.comms[0].opLines, 1U);
  EXPECT_EQ(p.comms[0].lastOp, "AllReduce");
  EXPECT_EQ(p.comms[1].opLines, 2U);
  EXPECT_EQ(p.comms[1].lastOp, "AllGather");
}

TEST(LogCommunicator, AnOperationThatAnotherLineBrokeIntoHidesNeither) {
  const engine::LogFacts log = test::logOf(
      init("n:1:2 [0]", "0x55d1c0001400", 0, "0x11", "START") +
      "b:5:6 [0] NCCL INFO Using network IB\n" +
      "n:1:2 [0] NCCL INFO AllReduce: opCount 3f sendbuff b:5:6 [0] NCCL INFO Channel 00/0 : 3[3] "
      "-> 4[0] [receive] via NET/IB/0\n");
  ASSERT_EQ(log.processes.size(), 2U);
  ASSERT_EQ(log.processes[1].comms.size(), 1U);
  EXPECT_EQ(log.processes[1].comms[0].edges[0].receives, 1U);
}

TEST(LogProcess, EqualNamesAndPidsOnMachinesWithOtherAddressesAreTwo) {
  const auto node = [](const std::string& tid, const std::string& address) {
    return "pod:7:" + tid + " [0] NCCL INFO Bootstrap : Using eth0:" + address +
           "<0>\npod:7:" + tid + " [0] NCCL INFO Using network " + (tid == "8" ? "IB" : "Socket") +
           "\n";
  };
  const engine::LogFacts log = test::logOf(node("8", "192.0.2.1") + node("9", "192.0.2.2"));
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[0].address, "192.0.2.1");
  EXPECT_EQ(log.processes[0].networks.front().network, "IB");
  EXPECT_EQ(log.processes[1].address, "192.0.2.2");
  EXPECT_EQ(log.processes[1].networks.front().network, "Socket");
}

TEST(LogProcess, OneAddressIsOneMachineHoweverOftenItIsPrinted) {
  const engine::LogFacts log = test::logOf(
      "pod:7:8 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n"
      "pod:7:9 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n"
      "pod:7:9 [0] NCCL INFO NET/Socket : Using [0]ib0:192.0.2.99<0>\n");
  EXPECT_EQ(log.processes.size(), 1U);
}

TEST(LogProcess, ASecondJobOfAPasteHasOtherPids) {
  const engine::LogFacts log = test::logOf(
      "n:1:2 [0] NCCL INFO Using network Socket\n"
      "n:501:502 [0] NCCL INFO Using network IB\n");
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[0].pid, 1);
  EXPECT_EQ(log.processes[1].pid, 501);
}

TEST(LogProcess, WarnAloneIsKnownForThat) {
  EXPECT_TRUE(
      test::processOf("n:1:2 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n")
          .warnLevelOnly);
  EXPECT_FALSE(test::processOf("n:1:2 [0] NCCL INFO cudaDriverVersion 12040\n").warnLevelOnly);
}

TEST(LogProcess, SettingsAreKeptWithTheirValuesAndPlaces) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.\n"
      "n:1:2 [0] NCCL INFO NCCL_NET_GDR_LEVEL set by environment to LOC\n"
      "n:1:2 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0:2\n"
      "n:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.\n"
      "n:1:2 [0] NCCL INFO Comm config netName reset to NCCL_NET=Socket\n");
  ASSERT_EQ(p.settings.size(), 4U);
  ASSERT_EQ(p.settingsAt.size(), 4U);
  EXPECT_EQ(p.settings[0].name, "NCCL_IB_DISABLE");
  EXPECT_EQ(p.settings[0].value, "0");
  EXPECT_EQ(p.settings[1].value, "LOC");
  EXPECT_EQ(p.settings[2].value, "=mlx5_0:2");
  EXPECT_EQ(p.settings[2].source, "log.txt:3");
  EXPECT_EQ(p.settings[3].name, "NCCL_NET");
  EXPECT_EQ(p.settings[3].value, "Socket");
  EXPECT_EQ(p.settingsAt[3].line, 5U);
}

TEST(LogProcess, TensOfThousandsOfPidsAreBounded) {
  std::string text;
  for (int i = 1; i <= 40000; ++i)
    text += "n:" + std::to_string(i) + ":1 [0] NCCL INFO Using network IB\n";
  const engine::LogFacts log = test::logOf(text);
  EXPECT_EQ(log.processes.size(), 32768U);
  EXPECT_TRUE(log.tooMany);
  EXPECT_EQ(log.lines, 40000U);
}

}  // namespace
}  // namespace rdmaguard::readers
