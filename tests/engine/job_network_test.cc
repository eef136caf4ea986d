// The network of a job out of its log lines: ranks, communicators, the job.
#include <gtest/gtest.h>

#include "job_input.h"

namespace rdmaguard::engine {
namespace {

TEST(JobNetwork, IsInfiniBandWhereTheListShowsItAndChannelsAreOnIt) {
  JobInput in;
  in.facts.log.processes.reserve(2);
  for (const int rank : {0, 1}) {
    ProcessLog& p = in.process(rank == 0 ? "a" : "b", rank);
    in.lists(p, {"mlx5_0", "mlx5_1"}, LinkLayer::InfiniBand);
    in.uses(p, "IB");
    in.channel(p, "IB", true);
  }
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::Yes);
  EXPECT_EQ(v.job.transport, Transport::IB);
  EXPECT_EQ(v.job.gdrState, GdrState::Enabled);
  EXPECT_EQ(v.exitCode, 0);
  ASSERT_EQ(v.communicators.size(), 1U);
  EXPECT_EQ(v.communicators[0].hcas, std::vector<std::string>{"mlx5_0"});
  EXPECT_EQ(v.sentence, "RDMA is engaged: InfiniBand, GPUDirect RDMA in use (2 ranks on 2 nodes).");
}

TEST(JobNetwork, IsRoceForRanksThatListNothingWhenTheirNodeDoes) {
  JobInput in;
  in.facts.log.processes.reserve(2);
  in.lists(in.process("a", 0), {"ibp0"}, LinkLayer::Ethernet);
  in.channel(in.process("a", 1), "IB", true);
  EXPECT_EQ(in.judged().job.transport, Transport::RoCE);
}

TEST(JobNetwork, GoesByTheDevicesThatChannelsUseInAMixedList) {
  JobInput in;
  ProcessLog& p = in.process("a", 0);
  in.lists(p, {"mlx5_2", "mlx5_3"}, LinkLayer::Ethernet);
  p.devices.insert(p.devices.begin(), {"mlx5_0", 1, LinkLayer::InfiniBand, "IB", 0});
  p.devices[1].index = 1;
  p.devices[2].index = 2;
  in.uses(p, "IB");
  EXPECT_EQ(in.judged().job.transport, Transport::RoCE) << "the majority";
  in.channel(p, "IB", true, 0);
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.transport, Transport::IB);
  EXPECT_FALSE(findingOf(v, "mixed-link-layers"));
}

TEST(JobNetwork, CallsItIbAndSaysSoWhereNoLinkLayerIsShown) {
  JobInput in;
  in.uses(in.process("a", 0), "IB");
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.transport, Transport::IB);
  EXPECT_TRUE(findingOf(v, "link-layer-not-shown"));
}

TEST(JobNetwork, OfAPluginIsItsLinkLayerWithAListAndItsNameWithout) {
  JobInput in;
  ProcessLog& p = in.process("a", 0);
  in.uses(p, "IBext_v8");
  EXPECT_EQ(in.judged().job.transport, Transport::External);
  EXPECT_EQ(in.judged().job.externalName, "IBext_v8");
  in.lists(p, {"mlx5_0"}, LinkLayer::Ethernet);
  EXPECT_EQ(in.judged().job.transport, Transport::RoCE);
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes);
}

TEST(JobNetwork, OfTheOfiPluginIsJudgedByItsProvider) {
  for (const auto& [provider, engaged] :
       {std::pair{"efa", Engaged::Yes}, std::pair{"tcp;ofi_rxm", Engaged::No},
        std::pair{"", Engaged::Unknown}}) {
    JobInput in;
    ProcessLog& p = in.process("a", 0);
    in.uses(p, "AWS Libfabric");
    p.ofiProvider = provider;
    p.ofiProviderAt = in.next();
    const JobVerdict v = in.judged();
    EXPECT_EQ(v.job.engaged, engaged) << provider;
    EXPECT_EQ(v.job.externalName, "AWS Libfabric");
    EXPECT_EQ(findingOf(v, "provider-is-tcp") != nullptr, engaged == Engaged::No);
  }
}

TEST(JobNetwork, IsSocketWhereTheSearchForDevicesFailedAndNoLineNamesIt) {
  JobInput in;
  ProcessLog& p = in.process("a", 0, 2, 0);
  p.socketUsing = in.next();
  EXPECT_EQ(in.judged().job.engaged, Engaged::Unknown) << "NET/Socket : Using decides nothing";
  EXPECT_EQ(in.judged().exitCode, 3);
  p.noDevice = in.next();
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::No);
  EXPECT_EQ(v.job.transport, Transport::Socket);
  EXPECT_TRUE(findingOf(v, "no-rdma-device"));
  EXPECT_EQ(v.exitCode, 2);
}

TEST(JobNetwork, IsNotNeededOnOneNodeWhateverItsNameIs) {
  JobInput in;
  ProcessLog& p = in.process("a", 0, 8, 1);
  in.uses(p, "Socket");
  p.libibverbsFailed = in.next();
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::NotNeeded);
  EXPECT_EQ(v.job.transport, Transport::None);
  EXPECT_EQ(v.exitCode, 0);
  EXPECT_TRUE(v.job.missing.empty());
}

TEST(JobNetwork, CarriesDataOnOneNodeWhereChannelsGoThroughIt) {
  JobInput in;
  ProcessLog& p = in.process("a", 0, 8, 1);
  in.lists(p, {"mlx5_0"}, LinkLayer::InfiniBand);
  in.channel(p, "IB", true);
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes);
}

TEST(JobNetwork, IsNotNeededWithinAnNvlinkCliqueOfSeveralNodes) {
  JobInput in;
  ProcessLog& p = in.process("a", 0, 8, 2);
  in.uses(p, "IB");
  p.comms[0].mnnvl = true;
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes) << "no connection is seen yet";
  p.comms[0].localEdges = p.comms[0].mnnvlEdges = 2;
  EXPECT_EQ(in.judged().job.engaged, Engaged::NotNeeded);
  in.channel(p, "IB", false);
  EXPECT_EQ(in.judged().job.engaged, Engaged::Yes);
}

TEST(JobNetwork, OneNodeIsInferredOnceMoreThanHalfOfTheRanksAreOnOneHost) {
  JobInput in;
  in.facts.log.processes.reserve(4);
  for (const int rank : {0, 1}) {
    ProcessLog& p = in.process("a", rank, 4, 0);
    in.uses(p, "Socket");
    p.comms[0].localEdges = 1;
  }
  EXPECT_EQ(in.judged().job.engaged, Engaged::No) << "half of them: the rest may be elsewhere";
  in.facts.log.processes[0].comms[0].localPeers = {1, 3};
  EXPECT_EQ(in.judged().job.engaged, Engaged::NotNeeded);
}

TEST(JobNetwork, OneRankOnSocketIsNamedByRankAndHost) {
  JobInput in;
  in.facts.log.processes.reserve(8);
  for (int rank = 0; rank < 4; ++rank) {
    ProcessLog& p = in.process(rank < 2 ? "a" : "b", rank, 4);
    in.uses(p, rank == 3 ? "Socket" : "IB");
    if (rank == 3) p.libibverbsFailed = in.next();
  }
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::Partial);
  EXPECT_EQ(v.job.transport, Transport::Mixed);
  EXPECT_EQ(v.exitCode, 2);
  ASSERT_EQ(v.offRanks.size(), 1U);
  EXPECT_EQ(v.offRanks[0].rank, 3);
  EXPECT_EQ(v.offRanks[0].host, "b");
  const Finding* f = findingOf(v, "ranks-disagree");
  ASSERT_TRUE(f);
  EXPECT_NE(f->what.find("rank 3 on b is on Socket"), std::string::npos) << f->what;
  EXPECT_TRUE(findingOf(v, "libibverbs-missing"));
}

TEST(JobNetwork, OfTwoCommunicatorsOnTwoNetworksIsPartialWithoutADisagreementOfRanks) {
  JobInput in;
  ProcessLog& p = in.process("a", 0);
  in.lists(p, {"mlx5_0"}, LinkLayer::InfiniBand);
  in.uses(p, "IB");
  in.channel(p, "IB", true);
  CommLog second;
  second.id = "0x726e";
  second.nRanks = second.nNodes = 2;
  second.rank = 0;
  p.comms.push_back(second);
  p.networks.push_back({NetworkLine::Form::ConfigName, "Socket", in.next(), 1});
  in.uses(p, "Socket");
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::Partial);
  EXPECT_EQ(v.job.gdrState, GdrState::Enabled);
  EXPECT_TRUE(findingOf(v, "net-forced-socket"));
  EXPECT_FALSE(findingOf(v, "ranks-disagree"));
}

TEST(JobNetwork, OfSeveralJobsInOnePasteIsThatOfTheWorstOne) {
  JobInput in;
  in.facts.log.processes.reserve(2);
  in.uses(in.process("a", 0), "Socket");
  ProcessLog& second = in.process("a", 0, 2, 1);
  second.comms[0].id = "0x9";
  in.uses(second, "Socket");
  const JobVerdict v = in.judged();
  EXPECT_EQ(v.job.engaged, Engaged::No);
  EXPECT_EQ(v.communicators[1].engaged, Engaged::NotNeeded);
}

}  // namespace
}  // namespace rdmaguard::engine
