// Whatever stands before an NCCL message, the message is read and its speaker known.
#include <gtest/gtest.h>

#include <string>

#include "tests/readers/log_text.h"

namespace rdmaguard::readers {
namespace {

struct Prefixed {
  const char* name;
  const char* before;
  const char* behind = "";
  int launcherRank = -1;
};

void PrintTo(const Prefixed& p, std::ostream* out) {
  *out << p.name;
}

class LogPrefix : public testing::TestWithParam<Prefixed> {};

TEST_P(LogPrefix, HidesNeitherTheMessageNorItsSpeaker) {
  const Prefixed& p = GetParam();
  const auto said = [&](const std::string& message) {
    return p.before + ("gpu-07:4211:4377 [3] NCCL INFO " + message) + p.behind + "\n";
  };
  const engine::LogFacts log = test::logOf(
      said("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.7<0>") + said("Using network IB") +
      said("Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA"));
  ASSERT_EQ(log.processes.size(), 1U);
  const engine::ProcessLog& process = log.processes.front();
  EXPECT_EQ(process.host, "gpu-07");
  EXPECT_EQ(process.pid, 4211);
  EXPECT_EQ(process.lines, 3U);
  EXPECT_EQ(process.address, "192.0.2.7");
  EXPECT_EQ(process.launcherRank, p.launcherRank);
  EXPECT_FALSE(process.warnLevelOnly);
  ASSERT_EQ(process.devices.size(), 1U);
  EXPECT_EQ(process.devices.front().name, "mlx5_0");
  EXPECT_FALSE(process.deviceListCut);
  ASSERT_EQ(process.comms.size(), 1U);
  EXPECT_EQ(process.comms.front().network, "IB");
  EXPECT_EQ(process.comms.front().rank, 0);
  ASSERT_EQ(process.comms.front().edges.size(), 1U);
  EXPECT_EQ(process.comms.front().edges.front().receivesGdr, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, LogPrefix,
    testing::Values(Prefixed{"Bare", ""}, Prefixed{"Indented", "   "},
                    Prefixed{"NcclTimestamp", "[2026-02-11 08:41:07] "},
                    Prefixed{"NcclTimestampWithFraction", "[2026-02-11 08:41:07.123456] "},
                    Prefixed{"TorchrunLocalRank", "[default3]:", "", 3},
                    Prefixed{"TorchrunRank", "[rank3]: ", "", 3},
                    Prefixed{"MpirunTag", "[1,12]<stdout>:", "", 12},
                    Prefixed{"MpirunStderr", "[1,12]<stderr>:", "", 12},
                    Prefixed{"Slurm", "12: ", "", 12}, Prefixed{"SlurmPadded", " 3: ", "", 3},
                    Prefixed{"Pdsh", "gpu-07: "}, Prefixed{"PdshByAddress", "192.0.2.7: "},
                    Prefixed{"Ray", "(RayWorkerWrapper pid=4211, ip=192.0.2.7) "},
                    Prefixed{"RayTwice", "(EngineCore_DP0 pid=17) (RayWorkerWrapper pid=4211) "},
                    Prefixed{"RayRepeated", "(RayWorkerWrapper pid=4211) ",
                             " [repeated 15x across cluster]"},
                    Prefixed{"Cri", "2026-02-11T08:41:07.610123456Z stdout F "},
                    Prefixed{"KubectlTimestamps", "2026-02-11T08:41:07.610123456Z "},
                    Prefixed{"KubectlPrefix", "[pod/train-0/pytorch] "},
                    Prefixed{"Worker", "[worker-3] "}, Prefixed{"Compose", "worker_1  | "},
                    Prefixed{"GluedStamp", "  | 2026-01-22T07:41:19.083-08:00"},
                    Prefixed{"StampColon", "2026-01-09T03:27:55.610Z: [1,12]<stdout>:", "", 12},
                    Prefixed{"Grep", "logs/nccl.txt:"},
                    Prefixed{"GrepNumbered", "logs/nccl.txt:1203:"},
                    Prefixed{"GrepContext", "logs/nccl.txt-1203-"}, Prefixed{"MpiRank", "[3] "},
                    Prefixed{"Mail", "> "}, Prefixed{"MailTwice", ">> "},
                    Prefixed{"Box", "\xe2\x94\x82 ", " \xe2\x94\x82"},
                    Prefixed{"Colour", "\x1b[36m", "\x1b[0m"},
                    Prefixed{"ColouredTag", "\x1b[36m(RayWorkerWrapper pid=4211)\x1b[0m "},
                    Prefixed{"Crlf", "", "\r"}, Prefixed{"TrailingBlanks", "", "    "},
                    Prefixed{"Syslog", "Feb 11 08:41:07 gpu-07 train[4211]: "}),
    [](const auto& p) { return p.param.name; });

TEST(LogPrefix, ColourWithinAMessageIsNoPartOfIt) {
  const engine::NetEdges e =
      test::edgesOf("Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/\x1b[31mGDRDMA\x1b[0m");
  EXPECT_EQ(e.receivesGdr, 1U);
}

TEST(LogPrefix, AMessageWithoutAnySpeakerIsRead) {
  const engine::ProcessLog p = test::processOf(
      "NCCL INFO Using network IB\n"
      "NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n");
  EXPECT_EQ(p.host, "");
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_EQ(p.comms.front().network, "IB");
}

TEST(LogPrefix, AMessageAloneIsReadWhereItCanBeNoOther) {
  const engine::ProcessLog p = test::processOf(
      "NET/IB : No device found.\n"
      "NET/Socket : Using [0]eth0:192.0.2.77<0>\n"
      "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n");
  EXPECT_TRUE(p.noDevice);
  EXPECT_TRUE(p.socketUsing);
  ASSERT_EQ(p.comms.size(), 1U);
  EXPECT_EQ(p.comms.front().edges.front().network, "Socket");
}

TEST(LogPrefix, ProgramsThatSpeakOfNcclAreNoLog) {
  const engine::LogFacts log = test::logOf(
      "export NCCL_IB_HCA=mlx5\n"
      "Using networkx 3.1\n"
      "Channel 5 of the image is empty\n"
      "Rank 3: via NET/IB/0\n"
      "terminate called: NCCL error in ProcessGroupNCCL.cpp:1970 (run with NCCL_DEBUG=INFO)\n");
  EXPECT_TRUE(log.processes.empty());
  EXPECT_EQ(log.lines, 0U);
}

TEST(LogPrefix, Nccl22DoesNotSayNccl) {
  const engine::ProcessLog p =
      test::processOf("old-1:31002:31128 [1] INFO Using internal Network IB\n");
  EXPECT_EQ(p.host, "old-1");
  EXPECT_EQ(p.pid, 31002);
  ASSERT_EQ(p.networks.size(), 1U);
  EXPECT_EQ(p.networks.front().network, "IB");
}

TEST(LogPrefix, SpeakersWithoutAHostAreToldApartByTheirGpu) {
  const engine::LogFacts log = test::logOf(
      " [0] NCCL INFO Ring 00 : 7[42000] -> 0[1e000] [receive] via NET/IB/0/GDRDMA\n"
      " [3] NCCL INFO Ring 00 : 3[42000] -> 4[1e000] [send] via NET/IB/0\n");
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[0].comms.front().rank, 0);
  EXPECT_EQ(log.processes[1].comms.front().rank, 3);
}

TEST(LogPrefix, TasksWithoutAHostAreToldApartByTheirLabel) {
  const engine::LogFacts log = test::logOf(
      "0: NCCL INFO Bootstrap : Using [0]bond2:192.0.2.11<0>\n"
      "1: NCCL INFO Bootstrap : Using [0]bond2:192.0.2.12<0>\n"
      "0: transport/net_ib.cc:148 NCCL WARN NET/IB : Unable to open device mlx5_1\n"
      "0: NET/IB : No device found.\n");
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[0].launcherRank, 0);
  EXPECT_EQ(log.processes[0].address, "192.0.2.11");
  EXPECT_EQ(log.processes[0].openFailed.size(), 1U);
  EXPECT_TRUE(log.processes[0].noDevice);
  EXPECT_EQ(log.processes[1].launcherRank, 1);
  EXPECT_EQ(log.processes[1].address, "192.0.2.12");
}

TEST(LogPrefix, LinksThatAMailProgramMadeAreText) {
  const readers::InputResult in = readText(
      "> w-b:310:311 [2] transport/[net_ib.cc:101](http://net_ib.cc:101/) NCCL WARN NET/IB : "
      "Unable to open device mlx5_2\n",
      "mail.txt");
  ASSERT_EQ(in.facts.log.processes.size(), 1U);
  const engine::ProcessLog& p = in.facts.log.processes.front();
  EXPECT_EQ(p.host, "w-b");
  ASSERT_EQ(p.openFailed.size(), 1U);
  EXPECT_EQ(p.openFailed.front(), "mlx5_2");
}

TEST(LogPrefix, AVersionOnALineOfItsOwnBelongsToNobody) {
  const engine::LogFacts log = test::logOf(
      "[1,0]<stdout>:NCCL version 2.4.2+cuda10.0\n"
      "NCCL version 2.21.5+cuda12.4\n"
      "RCCL version 2.18.3+hip5.7 HEAD:1c0ffee\n");
  ASSERT_EQ(log.versions.size(), 3U);
  EXPECT_EQ(log.versions[0], "2.4.2");
  EXPECT_EQ(log.versions[1], "2.21.5");
  EXPECT_EQ(log.versions[2], "2.18.3");
  EXPECT_TRUE(log.rccl);
  EXPECT_TRUE(log.processes.empty());
  EXPECT_EQ(log.versionsAt[1].line, 2U);
}

}  // namespace
}  // namespace rdmaguard::readers
