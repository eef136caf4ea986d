// GPUDirect RDMA of a job out of its log lines, and findings of ranks beside each other.
#include <gtest/gtest.h>

#include "job_input.h"

namespace rdmaguard::engine {
namespace {

JobInput onIb() {
  JobInput in;
  in.facts.log.processes.reserve(4);
  for (const int rank : {0, 1}) {
    ProcessLog& p = in.process(rank == 0 ? "a" : "b", rank);
    in.lists(p, {"mlx5_0", "mlx5_1"}, LinkLayer::InfiniBand);
    in.uses(p, "IB");
  }
  return in;
}

TEST(JobGdr, IsUnknownWhereNoLineSpeaksOfIt) {
  EXPECT_EQ(onIb().judged().job.gdrState, GdrState::Unknown);
}

TEST(JobGdr, IsPartialWhereOneEndHasItAndTheOtherNot) {
  JobInput in = onIb();
  in.channel(in.facts.log.processes[0], "IB", true);
  in.channel(in.facts.log.processes[1], "IB", false);
  in.facts.log.processes[1].hcaGdr.push_back({"mlx5_0", false, "no module", "IB", in.next()});
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.gdrState, GdrState::Partial);
  EXPECT_EQ(v.exitCode, 1);
  EXPECT_TRUE(findingOf(v, "gdr-partial"));
  EXPECT_TRUE(findingOf(v, "gdr-no-peermem-or-dmabuf"));
}

TEST(JobGdr, OfChannelsOutweighsWhatIsSaidOfHcas) {
  JobInput in = onIb();
  for (ProcessLog& p : in.facts.log.processes)
    p.hcaGdr.push_back({"mlx5_0", true, "DMABUF", "IB", in.next()});
  EXPECT_EQ(in.judged().job.gdrState, GdrState::Enabled);
  EXPECT_EQ(in.judged().job.gdr, Gdr::DmaBuf);
  in.channel(in.facts.log.processes[0], "IB", false);
  EXPECT_EQ(in.judged().job.gdrState, GdrState::Disabled);
}

TEST(JobGdr, OfPairsIsPartialWhereSomeGpusAreTooFar) {
  JobInput in = onIb();
  ProcessLog& p = in.facts.log.processes[0];
  p.pairGdr.push_back({"18000", "0", true, 4, 4, in.next(), 1});
  EXPECT_EQ(in.judged().job.gdrState, GdrState::Enabled);
  EXPECT_FALSE(findingOf(in.judged(), "gdr-distance"));
  p.pairGdr.push_back({"3b000", "0", false, 5, 4, in.next(), 1});
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.gdrState, GdrState::Partial);
  const Finding* f = findingOf(v, "gdr-distance");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->evidence[0].fact, "On a: GPU 3b000 and HCA 0: distance 5 > 4.");
  EXPECT_EQ(f->evidence[0].source, "log.txt:8");
}

TEST(JobGdr, SwitchedOffByASettingIsFixedWhereTheJobSetsIt) {
  JobInput in = onIb();
  for (ProcessLog& p : in.facts.log.processes) {
    in.set(p, "NCCL_NET_GDR_LEVEL", "LOC");
    in.channel(p, "IB", false);
  }
  const JobVerdict v = in.judged();
  const Finding* f = findingOf(v, "gdr-disabled-by-env");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->fix, "Unset NCCL_NET_GDR_LEVEL where the job sets it (NCCL's default is PXB).");
  EXPECT_NE(f->what.find("So for 2 ranks: rank 0 on a and rank 1 on b."), std::string::npos)
      << f->what;
}

TEST(JobGdr, IsNotApplicableOverTcp) {
  JobInput in;
  in.uses(in.process("a", 0), "Socket");
  EXPECT_EQ(in.judged().job.gdrState, GdrState::NotApplicable);
}

TEST(JobRanks, NodesWithUnequalHcasAreToldApartAndTheMissingOneNamed) {
  JobInput in = onIb();
  EXPECT_FALSE(findingOf(in.judged(), "unequal-hca-sets"));
  in.facts.log.processes[1].devices.pop_back();
  const JobVerdict v = in.judged();
  const Finding* f = findingOf(v, "unequal-hca-sets");
  ASSERT_TRUE(f);
  EXPECT_NE(f->what.find("b lacks mlx5_1"), std::string::npos) << f->what;
  EXPECT_EQ(v.exitCode, 1);
  in.facts.log.processes[1].deviceListCut = true;
  EXPECT_FALSE(findingOf(in.judged(), "unequal-hca-sets")) << "a list that was cut off";
}

TEST(JobRanks, AVirtualBridgeIsTheWrongInterfaceOnceSetUpFails) {
  JobInput in = onIb();
  for (ProcessLog& p : in.facts.log.processes) p.bootstrapInterface = "virbr0";
  EXPECT_FALSE(findingOf(in.judged(), "wrong-interface")) << "it works";
  in.event("socket-connect-failed", Phase::Setup);
  EXPECT_TRUE(findingOf(in.judged(), "wrong-interface"));
  for (ProcessLog& p : in.facts.log.processes) p.bootstrapInterface = "eth0";
  EXPECT_FALSE(findingOf(in.judged(), "wrong-interface"));
}

TEST(JobRanks, TwoReleasesInOneJobAreAMismatchAndInTwoJobsNone) {
  JobInput in = onIb();
  in.facts.log.processes[0].ncclVersion = "2.14.3";
  in.facts.log.processes[1].ncclVersion = "2.19.3";
  EXPECT_TRUE(findingOf(in.judged(), "nccl-version-mismatch"));
  in.facts.log.processes[1].comms[0].id = "0x9";
  EXPECT_FALSE(findingOf(in.judged(), "nccl-version-mismatch"));
}

TEST(JobRanks, AMissingPluginExplainsNothingUnlessItWasAskedFor) {
  JobInput in;
  ProcessLog& p = in.process("a", 0);
  in.uses(p, "Socket");
  p.pluginFailures.push_back(
      {PluginFailure::Kind::NotThere, "libnccl-net.so", "cannot open", in.next()});
  EXPECT_FALSE(findingOf(in.judged(), "plugin-failed-fell-back"));
  EXPECT_TRUE(findingOf(in.judged(), "unknown-cause"));
  p.pluginFailures[0].kind = PluginFailure::Kind::DlopenFailed;
  EXPECT_TRUE(findingOf(in.judged(), "plugin-failed-fell-back"));
}

}  // namespace
}  // namespace rdmaguard::engine
