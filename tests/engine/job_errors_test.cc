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

TEST(JobErrors, ABootstrapFailureAfterACompleteInitIsNoFailedSetUp) {
  JobInput in = onIb();
  ProcessLog& p = in.facts.log.processes[0];
  in.channel(p, "IB", true);
  Event& e = in.event("socket-connect-failed", Phase::Setup);
  EXPECT_EQ(in.judged().job.engaged, Engaged::No);
  p.comms[0].complete = true;
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes);
  EXPECT_EQ(in.judged().exitCode, 1);
  e.network = "IB";
  EXPECT_EQ(in.judged().job.engaged, Engaged::No) << "connections may be made after the init";
  p.comms[0].ringGdr = 1;
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes) << "the rings were connected";
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

TEST(JobErrors, WhatASpecSetsIsNamedWithItsContainer) {
  JobInput in;
  in.uses(in.process("a", 0), "Socket");
  in.facts.specs.any = true;
  in.facts.specs.roles.emplace_back();
  in.facts.specs.roles[0].role = "Worker";
  in.facts.specs.roles[0].containers.emplace_back();
  SpecContainer& c = in.facts.specs.roles[0].containers[0];
  c.name = "t";
  SpecQuantity gpus;  // without a GPU NCCL has nothing to do there
  gpus.key = "nvidia.com/gpu";
  gpus.text = "8";
  gpus.value = 8;
  c.limits.push_back(gpus);
  SpecSetting set;
  set.name = "NCCL_IB_DISABLE";
  set.value = "1";
  set.at = in.next();
  c.env.push_back(set);
  const JobVerdict v = in.judged();
  const Finding* f = findingOf(v, "ib-disabled-by-env");
  ASSERT_TRUE(f);
  EXPECT_NE(f->what.find("So for container t of Worker."), std::string::npos) << f->what;
  EXPECT_NE(f->fix.find("Remove NCCL_IB_DISABLE from log.txt:"), std::string::npos) << f->fix;
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
