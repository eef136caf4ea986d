// Which transport a process's signs amount to, and how sure that is.
#include "plugin/guard/observe.h"

#include <gtest/gtest.h>

#include "verifier/engine/rules.h"

namespace rdmaguard::guard {
namespace {

using engine::NodeFacts;

engine::DeviceInUse device(const char* name, LinkLayer layer) {
  return {name, 1, 400, layer, false};
}

CommunicatorFacts twoNodes() {
  CommunicatorFacts c;
  c.id = 0xabc;
  c.nNodes = 2;
  c.nRanks = 16;
  c.rank = 3;
  return c;
}

TransportSigns located(int ibDevices) {
  TransportSigns s;
  s.located = true;
  s.ibDevices = ibDevices;
  if (ibDevices > 0) s.devices = {device("mlx5_0", LinkLayer::Ethernet)};
  return s;
}

TEST(Observe, DevicesOfTheIbTransportMeanIbOrRoceByTheirLinkLayer) {
  TransportSigns signs = located(1);
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::RoCE);
  signs.devices = {device("mlx5_0", LinkLayer::InfiniBand)};
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::IB);
  signs.devices.push_back(device("mlx5_1", LinkLayer::Ethernet));
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::Mixed);
}

TEST(Observe, NoDeviceOfTheIbTransportMeansSocket) {
  for (int devices : {0, engine::kIbDevicesUninitialised}) {
    const auto seen = observe(twoNodes(), located(devices), {});
    EXPECT_EQ(seen.transport, Transport::Socket);
    EXPECT_EQ(seen.certainty, Certainty::Told);
    EXPECT_EQ(seen.ibDevices, devices);
  }
}

TEST(Observe, AnUninitialisedIbTransportBesideAMappedPluginIsThatPluginAndOnlyInferred) {
  NodeFacts node;
  node.netPluginsMapped = {"/opt/lib/libnccl-net.so"};
  const auto seen = observe(twoNodes(), located(engine::kIbDevicesUninitialised), node);
  EXPECT_EQ(seen.transport, Transport::External);
  EXPECT_EQ(seen.certainty, Certainty::Inferred);
  // It was initialised, so the plugin had failed before it: then Socket follows.
  EXPECT_EQ(observe(twoNodes(), located(0), node).transport, Transport::Socket);
}

TEST(Observe, NcclNetDecidesAgainstDevicesThatAreThere) {
  NodeFacts node;
  node.settings = {{"NCCL_NET", "socket", "environment"}};
  const auto seen = observe(twoNodes(), located(1), node);
  EXPECT_EQ(seen.transport, Transport::Socket);
  EXPECT_NE(seen.transportSource.find("NCCL_NET"), std::string::npos);
  node.settings[0].value = "AWS Libfabric";
  EXPECT_EQ(observe(twoNodes(), located(1), node).transport, Transport::External);
  EXPECT_EQ(observe(twoNodes(), located(1), node).externalName, "AWS Libfabric");
  node.settings[0].value = "IB";
  EXPECT_EQ(observe(twoNodes(), located(1), node).transport, Transport::RoCE);
}

TEST(Observe, UseOutranksEverySetting) {
  NodeFacts node;
  node.settings = {{"NCCL_NET", "Socket", "environment"}};
  TransportSigns signs = located(1);
  signs.ibUsed = true;
  const auto seen = observe(twoNodes(), signs, node);
  EXPECT_EQ(seen.transport, Transport::RoCE);
  EXPECT_EQ(seen.certainty, Certainty::Observed);
  signs.ibUsed = false;
  signs.socketUsed = true;
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::Socket);
}

TEST(Observe, WithoutATapOpenVerbsDevicesStandInAndNothingIsGuessed) {
  TransportSigns signs;
  signs.whyNot = "NCCL 2.99.0 is newer than the layouts known";
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::Unknown);
  signs.openVerbsDevices = 0;
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::Socket);
  EXPECT_EQ(observe(twoNodes(), signs, {}).certainty, Certainty::Inferred);
  NodeFacts node;
  node.netPluginsMapped = {"/opt/lib/libnccl-net.so"};
  EXPECT_EQ(observe(twoNodes(), signs, node).transport, Transport::Unknown);
  signs.openVerbsDevices = 8;
  EXPECT_EQ(observe(twoNodes(), signs, {}).transport, Transport::IB);
}

TEST(Observe, ARemotePeerMakesTwoNodesOfAnUnknownNumber) {
  CommunicatorFacts unknown = twoNodes();
  unknown.nNodes = 0;
  TransportSigns signs = located(0);
  EXPECT_EQ(observe(unknown, signs, {}).nNodes, 0);
  signs.remotePeer = true;
  EXPECT_EQ(observe(unknown, signs, {}).nNodes, 2);
  EXPECT_EQ(observe(twoNodes(), signs, {}).nNodes, 2);
}

TEST(Observe, SocketWithinThisHostIsNoNetworkWhereTheNumberOfNodesIsUnknown) {
  CommunicatorFacts unknown = twoNodes();
  unknown.nNodes = 0;
  TransportSigns signs = located(0);
  signs.socketUsed = true;
  EXPECT_NE(engine::judge({}, observe(unknown, signs, {}), {}).requirement, engine::Met::Violated);
  signs.remotePeer = true;
  EXPECT_EQ(engine::judge({}, observe(unknown, signs, {}), {}).requirement, engine::Met::Violated);
  signs.remotePeer = false;
  EXPECT_EQ(engine::judge({}, observe(twoNodes(), signs, {}), {}).requirement,
            engine::Met::Violated);
}

TEST(Observe, OneNodeIsNeverAnAlarm) {
  CommunicatorFacts one = twoNodes();
  one.nNodes = 1;
  TransportSigns signs = located(0);
  signs.socketUsed = true;
  const auto verdict = engine::judge({}, observe(one, signs, {}), {});
  EXPECT_EQ(verdict.engaged, engine::Engaged::NotNeeded);
  EXPECT_EQ(verdict.transport, Transport::None);
  EXPECT_NE(verdict.requirement, engine::Met::Violated);
}

}  // namespace
}  // namespace rdmaguard::guard
