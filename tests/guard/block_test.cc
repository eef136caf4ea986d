// What a person reads in the middle of a job's log.
#include "plugin/guard/block.h"

#include <gtest/gtest.h>

#include "verifier/engine/rules.h"

namespace rdmaguard::guard {
namespace {

CommunicatorFacts comm() {
  CommunicatorFacts c;
  c.id = 0xd98f1;
  c.nNodes = 2;
  c.nRanks = 16;
  c.rank = 3;
  return c;
}

engine::Verdict socketVerdict() {
  engine::NodeFacts node;
  node.settings = {{"NCCL_IB_DISABLE", "1", "/etc/nccl.conf:3"}};
  engine::Selection seen;
  seen.transport = Transport::Socket;
  seen.certainty = Certainty::Told;
  seen.transportSource = "devices() of NCCL's IB transport";
  seen.ibDevices = engine::kIbDevicesUninitialised;
  seen.nNodes = 2;
  seen.nRanks = 16;
  return engine::judge(node, seen, {});
}

TEST(Block, NamesTheCommunicatorTheCauseItsPlaceAndTheFix) {
  const auto verdict = socketVerdict();
  ASSERT_EQ(verdict.requirement, engine::Met::Violated);
  const std::string text = violationBlock(comm(), verdict, "2.28.9", "none", {});
  for (const char* part :
       {"NET/Socket", "0xd98f1", "2 nodes, 16 ranks; this is rank 3", "NCCL 2.28.9",
        "NCCL_IB_DISABLE", "/etc/nccl.conf:3", "cause", "fix", "the job goes on"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(text.back(), '\n');
}

TEST(Block, SaysThatTheJobIsStoppedAndWithWhichCodeWhenItIs) {
  Policy policy;
  policy.onFallback = OnFallback::Abort;
  policy.exitCode = 91;
  const std::string text = violationBlock(comm(), socketVerdict(), "", "none", policy);
  EXPECT_NE(text.find("exit code 91"), std::string::npos) << text;
  EXPECT_EQ(text.find("the job goes on"), std::string::npos) << text;
}

TEST(Block, TheOtherProcessesOfTheNodeSayOneLineWithTheCause) {
  const std::string line = violationLine(comm(), socketVerdict(), {});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("NCCL_IB_DISABLE"), std::string::npos) << line;
}

TEST(Block, ANumberOfNodesThatIsNotKnownIsNotInvented) {
  CommunicatorFacts unknown = comm();
  unknown.nNodes = unknown.nRanks = 0;
  unknown.rank = -1;
  const std::string text = violationBlock(unknown, socketVerdict(), "", "none", {});
  EXPECT_NE(text.find("2 or more nodes)"), std::string::npos) << text;
}

}  // namespace
}  // namespace rdmaguard::guard
