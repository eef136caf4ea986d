// The verdict: engaged or not, the requirement, the exit code.
#include <gtest/gtest.h>

#include "verifier/engine/rules.h"

namespace rdmaguard::engine {
namespace {

Selection on(Transport transport, int nNodes = 2) {
  Selection s;
  s.transport = transport;
  s.transportSource = "first connect";
  s.certainty = Certainty::Observed;
  s.nNodes = nNodes;
  s.nRanks = 16;
  return s;
}

Verdict judged(const Selection& s, std::string_view wanted = "rdma") {
  return judge({}, s, parseRequirement(wanted).value());
}

TEST(Requirement, TakesNetAndGdrInAnyOrderAndCase) {
  EXPECT_EQ(name(parseRequirement("rdma").value()), "rdma");
  EXPECT_EQ(name(parseRequirement(" IB , gdr").value()), "ib,gdr");
  EXPECT_EQ(name(parseRequirement("gdr,RoCE").value()), "roce,gdr");
  EXPECT_EQ(name(parseRequirement("gdr").value()), "rdma,gdr");
}

TEST(Requirement, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "socket", "ib,roce", "ib,", "gdr,gdr", ",", "ib gdr"})
    EXPECT_FALSE(parseRequirement(text)) << text;
}

TEST(Verdict, SocketOnTwoNodesViolatesAndSaysWhere) {
  const Verdict v = judged(on(Transport::Socket));
  EXPECT_EQ(v.engaged, Engaged::No);
  EXPECT_EQ(v.requirement, Met::Violated);
  EXPECT_EQ(v.violation, "RDMA is required and the traffic goes over Socket.");
  EXPECT_EQ(exitCode(v), 2);
  EXPECT_EQ(v.evidence[0].source, "first connect");
}

TEST(Verdict, OneNodeNeedsNoNetworkWhateverItIsCalled) {
  for (Transport t : {Transport::Socket, Transport::Unknown, Transport::IB}) {
    const Verdict v = judged(on(t, 1), "ib,gdr");
    EXPECT_EQ(v.engaged, Engaged::NotNeeded);
    EXPECT_EQ(v.transport, Transport::None);
    EXPECT_EQ(v.requirement, Met::Yes);
    EXPECT_TRUE(v.missing.empty());
    EXPECT_EQ(exitCode(v), 0);
  }
}

TEST(Verdict, OneRankIsOneNodeThoughNodesAreNotKnown) {
  Selection s = on(Transport::Socket, 0);
  s.nRanks = 1;
  EXPECT_EQ(judged(s).engaged, Engaged::NotNeeded);
}

TEST(Verdict, SocketIsNoAlarmBeforeMoreThanOneNodeOrAConnectionIsSeen) {
  Selection s = on(Transport::Socket, 0);
  const Verdict before = judged(s);
  EXPECT_EQ(before.engaged, Engaged::Unknown);
  EXPECT_EQ(before.requirement, Met::Unknown);
  EXPECT_FALSE(before.missing.empty()) << "the cause is known all the same";
  s.socketUsed = true;
  EXPECT_EQ(judged(s).requirement, Met::Violated);
}

TEST(Verdict, AnUnknownTransportViolatesNothing) {
  const Verdict v = judged(on(Transport::Unknown), "ib,gdr");
  EXPECT_EQ(v.engaged, Engaged::Unknown);
  EXPECT_EQ(v.requirement, Met::Unknown);
  EXPECT_EQ(exitCode(v), 3);
}

TEST(Verdict, RequiredLinkLayerIsHeldAgainstTheOneInUse) {
  EXPECT_EQ(judged(on(Transport::IB), "ib").requirement, Met::Yes);
  EXPECT_EQ(judged(on(Transport::RoCE), "roce").requirement, Met::Yes);
  EXPECT_EQ(judged(on(Transport::RoCE), "ib").violation, "IB is required and NCCL uses RoCE.");
  EXPECT_EQ(judged(on(Transport::Mixed), "ib").requirement, Met::Violated);
  EXPECT_EQ(judged(on(Transport::Mixed)).requirement, Met::Yes);
}

TEST(Verdict, GdrIsViolatedOnlyWhenHostMemoryWasSeenRegistered) {
  Selection s = on(Transport::IB);
  EXPECT_EQ(judged(s, "ib,gdr").requirement, Met::Unknown);
  s.gdr = Gdr::DmaBuf;
  EXPECT_EQ(judged(s, "ib,gdr").requirement, Met::Yes);
  s.gdr = Gdr::None;
  EXPECT_EQ(judged(s, "ib,gdr").requirement, Met::Violated);
  EXPECT_EQ(judged(s, "ib").requirement, Met::Yes);
}

TEST(Verdict, ExternalPluginsAreJudgedByWhatTheyAre) {
  Selection s = on(Transport::External);
  s.externalName = "IBext_v8";
  EXPECT_EQ(judged(s).engaged, Engaged::Yes);
  EXPECT_EQ(judged(s, "ib").requirement, Met::Unknown);
  s.devices = {{"mlx5_0", 1, 400, LinkLayer::InfiniBand, 0, true}};
  EXPECT_EQ(judged(s, "ib").requirement, Met::Yes);
  s.externalName = "FastSocket";
  EXPECT_EQ(judged(s).engaged, Engaged::No);
  s.externalName = "AWS Libfabric";
  EXPECT_EQ(judged(s).engaged, Engaged::Unknown) << "EFA or TCP: not known from the name";
}

TEST(Verdict, SomeRanksOffIsPartialAndNamesHowMany) {
  Selection s = on(Transport::IB);
  s.ranksSeen = 64;
  s.ranksOffRdma = 1;
  const Verdict v = judged(s);
  EXPECT_EQ(v.engaged, Engaged::Partial);
  EXPECT_EQ(v.violation, "RDMA is required and 1 of 64 ranks are not on it.");
  EXPECT_EQ(exitCode(v), 2);
}

TEST(Verdict, ADegradedSignalAloneIsExitCodeOne) {
  Selection s = on(Transport::IB);
  s.gdr = Gdr::None;
  EXPECT_EQ(exitCode(judged(s)), 1);
  s.gdr = Gdr::DmaBuf;
  EXPECT_EQ(exitCode(judged(s)), 0);
}

TEST(Verdict, CarriesTheEvidenceItStandsOn) {
  Selection s = on(Transport::IB);
  s.ibDevices = 8;
  s.ibUsed = true;
  s.gdr = Gdr::Peermem;
  const Verdict v = judged(s);
  ASSERT_EQ(v.evidence.size(), 4u);
  EXPECT_EQ(v.evidence[1].fact, "NCCL's IB transport has 8 devices.");
  EXPECT_EQ(v.evidence[3].fact, "GPU memory is registered with the HCA through peermem.");
}

}  // namespace
}  // namespace rdmaguard::engine
