// What NCCL would select by a node's facts, and the verdict before the job.
#include "verifier/engine/preflight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "rule_cases.h"

namespace rdmaguard::engine {
namespace {

Situation on(LinkLayer first, LinkLayer second) {
  Situation s = preflight();
  s.node.devices = {hca(0, first), hca(1, second)};
  return s;
}

JobVerdict judged(const NodeFacts& node, std::string_view wanted = "rdma") {
  return judgePreflight(node, foreseen(node), parseRequirement(wanted).value());
}

/// The verdict where one variable of NCCL is set on a node with two InfiniBand HCAs.
JobVerdict judgedWith(const std::string& name, const std::string& value) {
  Situation s = preflight();
  s.set(name, value);
  return judged(s.node);
}

bool starts(const std::string& text, std::string_view with) {
  return text.compare(0, with.size(), with) == 0;
}

std::string firstMissing(const JobVerdict& v) {
  return v.job.missing.empty() ? "none" : v.job.missing.front().ruleId;
}

TEST(Preflight, UsableInfiniBandIsZeroAndNamesItsDevices) {
  const JobVerdict v = judged(preflight().node);
  EXPECT_EQ(v.exitCode, 0);
  EXPECT_EQ(v.job.transport, Transport::IB);
  EXPECT_EQ(v.job.engaged, Engaged::Yes);
  EXPECT_EQ(v.sentence,
            "NCCL should run a job of several nodes over InfiniBand (mlx5_0 and mlx5_1).");
  ASSERT_EQ(v.gather.size(), 1U) << "facts are not the library's own word";
  EXPECT_NE(v.gather[0].find("--nccl auto"), std::string::npos);
}

TEST(Preflight, ADefaultPluginComesBeforeNcclsOwnTransports) {
  Situation s = preflight();
  s.node.defaultNetPlugin = "/opt/amazon/libnccl-net.so";
  const JobVerdict v = judged(s.node);
  EXPECT_EQ(v.job.transport, Transport::Unknown);
  EXPECT_EQ(v.exitCode, 3);
  EXPECT_NE(v.sentence.find("/opt/amazon/libnccl-net.so first"), std::string::npos) << v.sentence;
  s.set("NCCL_NET_PLUGIN", "none");
  EXPECT_EQ(judged(s.node).job.transport, Transport::IB);
}

TEST(Preflight, TheLinkLayersOfTheUsablePortsDecideWhatItIsCalled) {
  const NodeFacts roce = on(LinkLayer::Ethernet, LinkLayer::Ethernet).node;
  EXPECT_EQ(foreseen(roce).transport, Transport::RoCE);
  EXPECT_EQ(judged(roce).exitCode, 0);
  EXPECT_EQ(judged(roce, "ib").exitCode, 2);
  EXPECT_EQ(judged(roce, "roce").exitCode, 0);
  Situation mixed = on(LinkLayer::InfiniBand, LinkLayer::Ethernet);
  EXPECT_EQ(foreseen(mixed.node).transport, Transport::Mixed);
  mixed.port(1).state = PortState::Down;
  EXPECT_EQ(foreseen(mixed.node).transport, Transport::IB) << "the Ethernet port is down";
}

TEST(Preflight, ARequirementThatIsNotMetIsPartOfTheSentence) {
  const JobVerdict v = judged(preflight().node, "roce");
  EXPECT_EQ(v.exitCode, 2);
  EXPECT_EQ(v.job.engaged, Engaged::Yes);
  EXPECT_NE(v.sentence.find(v.job.violation), std::string::npos) << v.sentence;
}

TEST(Preflight, ANodeWithoutDevicesFallsBackToTcp) {
  Situation s = preflight();
  s.node.devices.clear();
  const JobVerdict v = judged(s.node);
  EXPECT_EQ(v.exitCode, 2);
  EXPECT_EQ(v.job.transport, Transport::Socket);
  EXPECT_TRUE(starts(v.sentence, "NCCL would fall back to TCP (NET/Socket)")) << v.sentence;
  EXPECT_EQ(firstMissing(v), "no-rdma-device");
  ASSERT_FALSE(v.causes.empty());
  EXPECT_EQ(v.causes[0].ruleId, "no-rdma-device");
}

TEST(Preflight, SettingsThatKeepTheIbTransportOffAreTheCause) {
  for (const auto& [name, value, id] : std::vector<std::array<std::string, 3>>{
           {"NCCL_IB_DISABLE", "1", "ib-disabled-by-env"},
           {"NCCL_NET", "Socket", "net-forced-socket"},
           {"NCCL_NET", "socket", "net-forced-socket"},
           {"NCCL_IB_HCA", "mlx4", "hca-filter-matches-nothing"},
           {"NCCL_IB_HCA", "^mlx5", "hca-filter-matches-nothing"}}) {
    const JobVerdict v = judgedWith(name, value);
    EXPECT_EQ(v.exitCode, 2) << name << "=" << value;
    EXPECT_EQ(v.job.transport, Transport::Socket) << name << "=" << value;
    EXPECT_EQ(firstMissing(v), id) << name << "=" << value;
    EXPECT_TRUE(starts(v.sentence, "NCCL would fall back to TCP")) << v.sentence;
  }
  EXPECT_EQ(judgedWith("NCCL_IB_DISABLE", "0").exitCode, 0);
  EXPECT_EQ(judgedWith("NCCL_NET", "ib").exitCode, 0);
}

TEST(Preflight, AFallbackThatNcclNetForbidsIsARefusalToStart) {
  Situation s = preflight();
  s.set("NCCL_NET", "IB");
  s.node.devices.clear();
  const JobVerdict v = judged(s.node);
  EXPECT_EQ(v.exitCode, 2);
  EXPECT_TRUE(starts(v.sentence, "NCCL would refuse to start")) << v.sentence;
  EXPECT_EQ(v.sentence.find("fraction of the throughput"), std::string::npos) << v.sentence;
}

TEST(Preflight, ANameThatIsNoNetsIsARefusalToo) {
  for (const char* value : {"RoCE", "mlx5_0", ""}) {
    const JobVerdict v = judgedWith("NCCL_NET", value);
    EXPECT_EQ(v.exitCode, 2) << value;
    EXPECT_EQ(firstMissing(v), "net-forced-other") << value;
    EXPECT_TRUE(starts(v.sentence, "NCCL would refuse to start")) << v.sentence;
  }
}

TEST(Preflight, APluginThatIsTcpIsNotRdma) {
  const JobVerdict v = judgedWith("NCCL_NET", "FastSocket");
  EXPECT_EQ(v.exitCode, 2);
  EXPECT_EQ(v.job.transport, Transport::External);
  EXPECT_EQ(firstMissing(v), "net-forced-other");
}

TEST(Preflight, WhatAPluginWouldDoIsNotKnown) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"NCCL_NET_PLUGIN", "ofi"}, {"NCCL_NET", "AWS Libfabric"}}) {
    const JobVerdict v = judgedWith(name, value);
    EXPECT_EQ(v.job.transport, Transport::Unknown) << name;
    EXPECT_EQ(v.exitCode, 3) << name;
    EXPECT_NE(v.sentence.find("cannot be told"), std::string::npos) << v.sentence;
    EXPECT_FALSE(v.gather.empty()) << name;
  }
  EXPECT_EQ(judgedWith("NCCL_NET_PLUGIN", "none").job.transport, Transport::IB);
}

TEST(Preflight, NcclNetPassesOverAPlugin) {
  Situation s = preflight();
  s.set("NCCL_NET_PLUGIN", "ofi");
  s.set("NCCL_NET", "Socket");
  EXPECT_EQ(foreseen(s.node).transport, Transport::Socket);
  s.node.settings[1].value = "IB";
  EXPECT_EQ(foreseen(s.node).transport, Transport::IB);
}

TEST(Preflight, DevicesThatCouldNotBeReadAreNotAbsent) {
  NodeFacts nothing;
  EXPECT_EQ(foreseen(nothing).transport, Transport::Unknown);
  EXPECT_EQ(judged(nothing).exitCode, 3);
  nothing.loader.state = VerbsLoader::State::Missing;
  EXPECT_EQ(foreseen(nothing).transport, Transport::Socket) << "no libibverbs, no IB transport";
  EXPECT_EQ(judged(nothing).exitCode, 2);
}

TEST(Preflight, TheWordOfTheLibraryItselfIsSaidAsSuch) {
  Situation s = ib();
  s.seen.planned = true;
  const JobVerdict yes = judgePreflight(s.node, s.seen, {});
  EXPECT_TRUE(starts(yes.sentence, "NCCL here would run")) << yes.sentence;
  EXPECT_TRUE(yes.gather.empty());
  s.seen = socket().seen;
  s.seen.planned = true;
  const JobVerdict no = judgePreflight(s.node, s.seen, {});
  EXPECT_TRUE(starts(no.sentence, "NCCL here would fall back")) << no.sentence;
  EXPECT_EQ(no.exitCode, 2);
}

TEST(Preflight, ASettingThatBreaksTheJobLaterIsOneThoughRdmaWouldBeUsed) {
  const JobVerdict v = judgedWith("NCCL_IB_RETRY_CNT", "16");
  EXPECT_EQ(v.job.engaged, Engaged::Yes);
  EXPECT_EQ(v.exitCode, 1);
  EXPECT_EQ(firstMissing(v), "ib-retry-cnt-too-high");
  EXPECT_TRUE(v.causes.empty()) << "it explains no fallback";
}

Finding finding(const std::string& id, FindingKind kind = FindingKind::MissingCondition) {
  Finding f;
  f.ruleId = id;
  f.kind = kind;
  f.what = "Of the spec.";
  f.evidence = {{"A fact.", "pod.yaml:1", Certainty::Told}};
  return f;
}

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& f : findings) out.push_back(f.ruleId);
  return out;
}

TEST(PreflightSpec, AddsItsFindingsOnceItsSentenceAndNotItsTransport) {
  JobVerdict v = judgedWith("NCCL_IB_DISABLE", "1");
  const std::string sentence = v.sentence;
  JobVerdict spec;
  spec.sentence = "It lacks something.";
  spec.exitCode = 1;
  spec.job.missing = {finding("ib-disabled-by-env"), finding("rdma-resource-absent")};
  spec.job.degraded = {finding("slow-nic", FindingKind::DegradedSignal)};
  spec.job.notes = {finding("shm-not-mounted", FindingKind::Note)};
  addSpec(spec, v);
  EXPECT_EQ(ids(v.job.missing),
            (std::vector<std::string>{"ib-disabled-by-env", "rdma-resource-absent"}));
  EXPECT_NE(v.job.missing[0].what, "Of the spec.") << "the node's own comes first";
  EXPECT_EQ(ids(v.job.degraded), std::vector<std::string>{"slow-nic"});
  EXPECT_EQ(v.job.notes.back().ruleId, "shm-not-mounted");
  EXPECT_EQ(v.sentence, sentence + " The spec: It lacks something.");
  EXPECT_EQ(v.job.transport, Transport::Socket);
}

TEST(PreflightSpec, TheWorseExitCodeCounts) {
  // Not engaged is worse than degraded, that than unknown, that than well.
  constexpr std::array kFromBest{0, 3, 1, 2};
  for (std::size_t a = 0; a < kFromBest.size(); ++a)
    for (std::size_t b = 0; b < kFromBest.size(); ++b) {
      JobVerdict node, spec;
      node.exitCode = kFromBest.at(a);
      spec.exitCode = kFromBest.at(b);
      addSpec(spec, node);
      EXPECT_EQ(node.exitCode, kFromBest.at(std::max(a, b))) << a << " " << b;
    }
}

}  // namespace
}  // namespace rdmaguard::engine
