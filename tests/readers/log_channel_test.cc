// Channel lines of every release: which network, which end, which device, with GPUDirect or not.
#include <gtest/gtest.h>

#include <string>

#include "tests/readers/log_text.h"

namespace rdmaguard::readers {
namespace {

struct NetLine {
  const char* message;
  const char* network;
  bool receive;
  bool gdr;
  int device;
  bool pxn = false;
};

class NetChannel : public testing::TestWithParam<NetLine> {};

TEST_P(NetChannel, NamesItsNetworkEndDeviceAndGdr) {
  const NetLine& n = GetParam();
  const engine::NetEdges e = test::edgesOf(n.message);
  EXPECT_EQ(e.network, n.network);
  EXPECT_EQ(e.receives, n.receive ? 1U : 0U);
  EXPECT_EQ(e.sends, n.receive ? 0U : 1U);
  EXPECT_EQ(e.receivesGdr, n.receive && n.gdr ? 1U : 0U);
  EXPECT_EQ(e.sendsGdr, !n.receive && n.gdr ? 1U : 0U);
  EXPECT_EQ(e.pxnSends, n.pxn ? 1U : 0U);
  EXPECT_EQ(e.devicesUsed, std::uint64_t{1} << n.device);
  EXPECT_EQ(e.first.line, 1U);
  EXPECT_EQ(e.firstGdr.line, n.gdr ? 1U : 0U);
  EXPECT_EQ(e.firstWithoutGdr.line, n.gdr ? 0U : 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Releases, NetChannel,
    testing::Values(
        // 2.4: no GPU behind the rank.
        NetLine{"Ring 00 : 3 -> 0 [receive] via NET/IB/0", "IB", true, false, 0},
        NetLine{"Ring 00 : 3 -> 0 [receive] via NET/IB/3/GDRDMA", "IB", true, true, 3},
        // 2.5 to 2.18.1: its bus id.
        NetLine{"Ring 00 : 7[42000] -> 0[1e000] [receive] via NET/IB/0/GDRDMA", "IB", true, true,
                0},
        NetLine{"Channel 00 : 0[1e000] -> 7[42000] [send] via NET/IB/1", "IB", false, false, 1},
        // 2.12: the connection's index, PXN, shared buffers.
        NetLine{"Channel 04/1 : 5[90000] -> 12[87000] [send] via NET/IB/4(4)/GDRDMA/Shared", "IB",
                false, true, 4, true},
        NetLine{"Channel 01/0 : 2[3b000] -> 9[18000] [send] via NET/IB/1(1)", "IB", false, false, 1,
                true},
        NetLine{"Channel 04/1 : 5[4] -> 12[7] [receive] via NET/IB/4/Shared", "IB", true, false, 4},
        // 2.26: through PCI on a C2C system. 2.31: how the receiver flushes.
        NetLine{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/2/GDRDMA(PCI)", "IB", false, true,
                2},
        NetLine{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/2/GDRDMA(PCI)/Shared", "IB", false,
                true, 2},
        NetLine{"Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA/flush=None", "IB", true,
                true, 0},
        NetLine{"Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/flush=None", "IB", true, false,
                0},
        // Plugins.
        NetLine{"Channel 06/0 : 1[1] -> 0[0] [receive] via NET/AWS Libfabric/1/GDRDMA",
                "AWS Libfabric", true, true, 1},
        NetLine{"Channel 06/0 : 1[1] -> 0[0] [send] via NET/Spectrum-X/7", "Spectrum-X", false,
                false, 7},
        NetLine{"Channel 06/0 : 1[1] -> 0[0] [send] via NET/GPUDirectTCPX_v7/1/GDRDMA",
                "GPUDirectTCPX_v7", false, true, 1},
        // RCCL names the communicator behind it.
        NetLine{"Channel 00/0 : 1[7000] -> 0[b7000] [receive] via NET/UCX/0/GDRDMA comm "
                "0x55c6f6b17ca8 nRanks 02",
                "UCX", true, true, 0}));

TEST(Channel, OneThatStopsWithinTheNetworksNameSaysNothing) {
  for (const char* cut :
       {"Channel 02/0 : 15[7] -> 0[0] [send] via NET/", "Channel 02/0 : 15[7] -> 0[0] [send] via N",
        "Channel 02/0 : 15[7] -> 0[0] [send] via NET/AWS Lib", "Channel 02/0 : 15[7] -> 0[",
        "Channel 00/0 : 6[", "Channel"}) {
    EXPECT_TRUE(test::commOf(cut).edges.empty()) << cut;
  }
}

TEST(Channel, OneThatEndsTheInputMayHaveLostItsGdr) {
  const engine::ProcessLog p = test::processOf(
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "n1:10:11 [0] NCCL INFO Channel 01/0 : 1[0] -> 0[0] [receive] via NET/IB/0");
  ASSERT_EQ(p.comms.size(), 1U);
  const engine::NetEdges& e = p.comms.front().edges.front();
  EXPECT_EQ(e.receives, 1U);
  EXPECT_EQ(e.receivesGdr, 1U);
  EXPECT_FALSE(e.firstWithoutGdr);
  EXPECT_TRUE(p.cut);
}

TEST(Channel, TheOrderOfARingIsNoConnection) {
  const engine::ProcessLog p = test::processOf(
      "n1:10:11 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n"
      "n1:10:11 [0] NCCL INFO Channel 01/02 :    0   1   2   3\n");
  EXPECT_EQ(p.lines, 2U);
  EXPECT_TRUE(p.comms.empty());
}

TEST(Channel, LocalOnesCountWithTheirPeers) {
  const engine::ProcessLog p = test::processOf(
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 2[2] -> 3[3] via P2P/IPC\n"
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 2[2] -> 3[3] via P2P/CUMEM/read\n"
      "n1:10:11 [0] NCCL INFO Channel 00 : 2[2] -> 1[1] via SHM/direct/direct\n"
      "n1:10:11 [0] NCCL INFO Channel 00 : 2[2] -> 5[5] via direct shared memory\n"
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 2[2] -> 3[3] via P2P/direct pointer\n"
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 2[2] -> 4[4] via P2P/indirect/3[3]\n");
  ASSERT_EQ(p.comms.size(), 1U);
  const engine::CommLog& c = p.comms.front();
  EXPECT_EQ(c.rank, 2);
  EXPECT_EQ(c.localEdges, 6U);
  EXPECT_EQ(c.localPeers, (std::vector<int>{1, 3, 4, 5}));
  EXPECT_TRUE(c.edges.empty());
  EXPECT_EQ(c.crossEdges, 0U);
}

TEST(Channel, LocalOnesToAnotherHostAreMultiNodeNvlink) {
  const engine::LogFacts log = test::logOf(
      "a:10:11 [3] NCCL INFO ncclCommInitRank comm 0xaa rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId "
      "a000 commId 0x77 - Init START\n"
      "b:20:21 [0] NCCL INFO ncclCommInitRank comm 0xbb rank 4 nranks 8 cudaDev 0 nvmlDev 0 busId "
      "a000 commId 0x77 - Init START\n"
      "a:10:11 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] via P2P/MNNVL\n"
      "a:10:11 [3] NCCL INFO Channel 01/0 : 3[3] -> 4[0] via P2P/MNNVL\n"
      "b:20:21 [0] NCCL INFO Channel 00/0 : 4[0] -> 5[1] via P2P/IPC\n");
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[0].comms.front().mnnvlEdges, 2U);
  EXPECT_EQ(log.processes[0].comms.front().crossEdges, 2U);
  EXPECT_EQ(log.processes[1].comms.front().crossEdges, 0U);
}

TEST(Channel, CollNetIsCountedApart) {
  const engine::CommLog c = test::commOf("CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA");
  EXPECT_EQ(c.collNetEdges, 1U);
  EXPECT_EQ(c.collNetEdgesGdr, 1U);
  EXPECT_TRUE(c.edges.empty());
}

TEST(Channel, EachNetworkOfACommunicatorHasItsOwnCounts) {
  const engine::ProcessLog p = test::processOf(
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 3[3] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "n1:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"
      "n1:10:11 [0] NCCL INFO Channel 01/0 : 3[3] -> 0[0] [receive] via NET/IB/1/GDRDMA\n");
  ASSERT_EQ(p.comms.size(), 1U);
  ASSERT_EQ(p.comms.front().edges.size(), 2U);
  EXPECT_EQ(p.comms.front().edges[0].receives, 2U);
  EXPECT_EQ(p.comms.front().edges[0].devicesUsed, 3U);
  EXPECT_EQ(p.comms.front().edges[1].sends, 1U);
  EXPECT_EQ(p.comms.front().netPeers, (std::vector<int>{1, 3}));
}

TEST(Channel, PeersAreBoundedAndCountsAreNot) {
  std::string text;
  for (int i = 1; i < 300; ++i)
    text += "n1:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> " + std::to_string(i) +
            "[0] [send] via NET/IB/0\n";
  const engine::ProcessLog p = test::processOf(text);
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_EQ(p.comms.front().netPeers.size(), 64U);
  EXPECT_EQ(p.comms.front().edges.front().sends, 299U);
}

}  // namespace
}  // namespace rdmaguard::readers
