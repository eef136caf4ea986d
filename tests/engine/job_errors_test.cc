// What errors prove of the network, and what a verdict exits with.
#include <gtest/gtest.h>

#include "job_input.h"

namespace rdmaguard::engine {
namespace {

JobInput onIb() {
  JobInput in;
  ProcessLog& p = in.process("a", 0);
  in.lists(p, {"mlx5_0"}, LinkLayer::InfiniBand);
  in.uses(p, "IB");
  return in;
}

TEST(JobErrors, ASetUpThatFailedMeansNoDataOnWhatWasSelected) {
  JobInput in = onIb();
  in.event("create-qp-failed", Phase::Setup, "IB");
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::No);
  EXPECT_EQ(v.job.transport, Transport::IB);
  EXPECT_EQ(v.exitCode, 2);
  EXPECT_TRUE(findingOf(v, "setup-failed"));
  EXPECT_FALSE(findingOf(v, "unknown-cause"));
}

TEST(JobErrors, ACompletionErrorProvesAConnection) {
  JobInput in = onIb();
  in.event("vendor-err-129", Phase::Data, "IB");
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::Yes);
  EXPECT_EQ(v.exitCode, 1);
  EXPECT_FALSE(findingOf(v, "selected-not-connected"));
}

TEST(JobErrors, ACompletionErrorAloneShowsTheNetworkAndAGidItsLinkLayer) {
  JobInput in;
  Event& e = in.event("vendor-err-129", Phase::Data, "IB");
  EXPECT_EQ(in.judged().job.transport, Transport::IB);
  EXPECT_TRUE(findingOf(in.judged(), "link-layer-not-shown"));
  e.gid = true;
  EXPECT_EQ(in.judged().job.transport, Transport::RoCE);
  EXPECT_EQ(in.judged().exitCode, 1);
}

TEST(JobErrors, AVerbsCallThatFailedAloneDoesNotShowWhichNetworkMadeIt) {
  JobInput in;
  in.event("reg-mr-iova2-einval", Phase::Setup, "IB");
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::No);
  EXPECT_EQ(v.job.transport, Transport::Unknown);
  EXPECT_EQ(v.exitCode, 2);
}

TEST(JobErrors, AFailureBeforeAnyNetworkWasChosenLeavesItUnknown) {
  JobInput in;
  in.event("version-mismatch", Phase::Setup);
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::Unknown);
  EXPECT_EQ(v.exitCode, 3);
  EXPECT_FALSE(findingOf(v, "setup-failed"));
}

TEST(JobErrors, NoInterfaceAtAllMeansThatNoNetworkCouldBeUsed) {
  JobInput in;
  in.event("no-socket-interface", Phase::Setup);
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::No);
  EXPECT_EQ(v.job.transport, Transport::None);
}

TEST(JobErrors, AnErrorBesideAHealthyNetworkDegradesIt) {
  JobInput in = onIb();
  in.channel(in.facts.log.processes[0], "IB", true);
  EXPECT_EQ(in.judged().exitCode, 0);
  in.event("watchdog-timeout", Phase::Other).failure = false;
  EXPECT_EQ(in.judged().exitCode, 0) << "no failure by itself";
  in.event("watchdog-timeout", Phase::Other);
  EXPECT_EQ(in.judged().exitCode, 1);
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes);
}

TEST(JobErrors, SelectedAndNothingAfterItIsYesWithANote) {
  JobInput in = onIb();
  EXPECT_TRUE(findingOf(in.judged(), "selected-not-connected"));
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes);
  in.facts.log.processes[0].comms[0].complete = true;
  EXPECT_FALSE(findingOf(in.judged(), "selected-not-connected"));
}

TEST(JobErrors, ARequirementThatIsNotMetIsExit2) {
  JobInput in = onIb();
  in.channel(in.facts.log.processes[0], "IB", false);
  EXPECT_EQ(in.judged().exitCode, 1) << "without GPUDirect RDMA";
  const JobVerdict roce = in.judged({Requirement::Net::RoCE, false});
  EXPECT_EQ(roce.exitCode, 2);
  EXPECT_EQ(roce.job.violation, "RoCE is required and NCCL uses IB.");
  EXPECT_EQ(in.judged({Requirement::Net::IB, true}).exitCode, 2);
  EXPECT_EQ(in.judged({Requirement::Net::IB, false}).job.requirement, Met::Yes);
}

TEST(JobErrors, UnknownSaysWhatToGather) {
  JobInput in;
  in.process("a", 0, 2, 0).warnLevelOnly = true;
  const JobVerdict v = in.judged();
  ASSERT_FALSE(v.gather.empty());
  EXPECT_NE(v.gather[0].find("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV"), std::string::npos);
}

}  // namespace
}  // namespace rdmaguard::engine
