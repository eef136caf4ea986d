// Every rule of the table: facts that make it hold, and near ones that must not. A rule
// without its two cases fails.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <random>
#include <set>

#include "rule_cases.h"

namespace rdmaguard::engine {
namespace {

std::vector<Finding> everything(const Situation& s) {
  const Verdict v = judge(s.node, s.seen, {});
  std::vector<Finding> all = v.missing;
  all.insert(all.end(), v.degraded.begin(), v.degraded.end());
  all.insert(all.end(), v.notes.begin(), v.notes.end());
  return all;
}

const Finding* found(const std::vector<Finding>& all, std::string_view id) {
  for (const Finding& f : all)
    if (f.ruleId == id) return &f;
  return nullptr;
}

std::string idsOf(const std::vector<Finding>& all) {
  std::string ids;
  for (const Finding& f : all) ids += f.ruleId + " ";
  return ids;
}

class EachRule : public testing::TestWithParam<Rule> {};

TEST_P(EachRule, HoldsOnItsCaseWithEvidenceAndAFix) {
  const Rule& rule = GetParam();
  const auto row = cases().find(std::string(rule.id));
  ASSERT_NE(row, cases().end()) << "a rule without a case: " << rule.id;
  const auto all = everything(row->second.fires);
  const Finding* f = found(all, rule.id);
  ASSERT_TRUE(f) << "only: " << idsOf(all);
  EXPECT_EQ(f->kind, rule.kind);
  EXPECT_TRUE(f->what.ends_with('.')) << f->what;
  EXPECT_TRUE(f->fix.ends_with('.') || f->fix.ends_with(')')) << f->fix;
  ASSERT_FALSE(f->evidence.empty());
  for (const Evidence& e : f->evidence) {
    EXPECT_TRUE(e.fact.ends_with('.')) << e.fact;
    EXPECT_FALSE(e.source.empty()) << e.fact;
  }
}

TEST_P(EachRule, KeepsSilentOnItsNearMiss) {
  const auto row = cases().find(std::string(GetParam().id));
  ASSERT_NE(row, cases().end());
  const auto all = everything(row->second.nearMiss);
  EXPECT_FALSE(found(all, GetParam().id)) << found(all, GetParam().id)->what;
}

TEST_P(EachRule, KeepsSilentAboutACommunicatorOfOneNode) {
  auto row = cases().find(std::string(GetParam().id));
  ASSERT_NE(row, cases().end());
  Situation s = row->second.fires;
  s.seen.nNodes = 1;
  EXPECT_EQ(idsOf(everything(s)), "");
}

// Rules that judge a whole input have their cases in tests/verify.
std::vector<Rule> rulesOfOneProcess() {
  std::vector<Rule> out;
  for (const Rule& r : rules())
    if (r.scope == Scope::Process) out.push_back(r);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Table, EachRule, testing::ValuesIn(rulesOfOneProcess()),
                         [](const auto& info) {
                           std::string id(info.param.id);
                           for (char& c : id)
                             if (c == '-') c = '_';
                           return id;
                         });

TEST(RuleTable, HasUniqueIdsAndNoCaseWithoutARule) {
  std::set<std::string_view> ids;
  for (const Rule& r : rules()) {
    EXPECT_TRUE(ids.insert(r.id).second) << r.id;
    EXPECT_FALSE(r.title.empty() || r.fix.empty() || r.source.empty()) << r.id;
  }
  for (const auto& [id, unused] : cases()) EXPECT_TRUE(ids.contains(id)) << id;
}

// --- what the findings say, where the words matter ---------------------------------------

TEST(Fallback, ByAFilterNamesTheDevicesAndASettingThatMatches) {
  const auto all = everything(with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", "ibp"); }));
  EXPECT_EQ(all[0].what,
            "NCCL_IB_HCA=ibp matches none of the RDMA ports that NCCL could use here (mlx5_0 port "
            "1 and mlx5_1 port 1).");
  EXPECT_EQ(all[0].fix,
            "Set NCCL_IB_HCA=mlx5, or unset NCCL_IB_HCA to let NCCL take every active port.");
}

TEST(Fallback, ByAFilterThatExcludesAllSaysSo) {
  const auto all = everything(with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", "^mlx5"); }));
  EXPECT_NE(all[0].what.find("excludes every RDMA port"), std::string::npos) << all[0].what;
}

TEST(Fallback, ByABlankInTheListPointsAtTheBlank) {
  const auto all = everything(with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", " mlx5_0"); }));
  ASSERT_EQ(all[0].ruleId, "hca-filter-matches-nothing");
  EXPECT_NE(all[0].evidence.back().fact.find("blank"), std::string::npos);
}

TEST(Fallback, SettingsOfAConfFileAreFixedInThatFile) {
  const auto all = everything(
      with(socket(), [](auto& s) { s.set("NCCL_IB_DISABLE", "1", "/etc/nccl.conf:3"); }));
  EXPECT_EQ(all[0].fix,
            "Remove NCCL_IB_DISABLE from /etc/nccl.conf:3 (or export NCCL_IB_DISABLE=0, which wins "
            "over a conf file).");
}

TEST(Fallback, WithSeveralCausesStartsWithTheOneNcclMeetsFirst) {
  const auto all = everything(with(socket(), [](auto& s) {
    s.set("NCCL_IB_HCA", "ibp");
    s.set("NCCL_IB_DISABLE", "1");
    s.everyDevice([](auto& d) { d.ports[0].state = PortState::Down; });
  }));
  EXPECT_EQ(idsOf(all), "ib-disabled-by-env port-not-active hca-filter-matches-nothing ");
}

TEST(Fallback, WhereEachDeviceFailsOnItsOwnIsExplainedByTheLastObstacle) {
  // One cannot be opened, the other is down: neither condition alone would have forced Socket.
  const auto all = everything(with(socket(), [](auto& s) {
    s.node.devices[0].openErrno = EACCES;
    s.port(1).state = PortState::Down;
    s.port(1).physState = PhysState::Polling;
  }));
  EXPECT_EQ(idsOf(all), "port-not-active ");
  EXPECT_NE(
      all[0].what.find("The only RDMA port that could be used, mlx5_1 port 1, is DOWN/Polling"),
      std::string::npos)
      << all[0].what;
}

TEST(Fallback, IsNotBlamedOnTheNodeWhenNcclsIbTransportIsReady) {
  const auto all = everything(with(socket(), [](auto& s) {
    s.seen.ibDevices = 2;
    s.set("NCCL_IB_DISABLE", "1");  // set by the program after NCCL had read it
    s.everyDevice([](auto& d) { d.openErrno = EPERM; });
  }));
  EXPECT_EQ(idsOf(all), "net-chosen-by-program ");
  EXPECT_EQ(all[0].certainty, Certainty::Inferred);
}

TEST(Fallback, ThatNothingExplainsSaysWhatWasCheckedAndWhatToRun) {
  const auto all = everything(with(socket(), [](auto& s) { s.seen.ibDevices = 0; }));
  ASSERT_EQ(idsOf(all), "unknown-cause ");
  EXPECT_NE(all[0].fix.find("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV"), std::string::npos);
  EXPECT_NE(all[0].evidence[0].fact.find("found no device it could use"), std::string::npos);
  EXPECT_NE(all[0].evidence[1].fact.find("mlx5_0 and mlx5_1"), std::string::npos);
}

TEST(Fallback, OnANodeOfWhichNothingIsKnownIsUnknownAndNotGuessed) {
  Situation s;
  s.seen.transport = Transport::Socket;
  s.seen.nNodes = 2;
  const auto all = everything(s);
  ASSERT_EQ(idsOf(all), "unknown-cause ");
  EXPECT_NE(all[0].evidence.back().fact.find("was not tried"), std::string::npos);
}

TEST(Fallback, NoneIsExplainedWhereRdmaIsSelectedOrTheNodeLooksReady) {
  EXPECT_TRUE(explainFallback(ib().node, ib().seen).empty());
  EXPECT_TRUE(explainFallback(preflight().node, preflight().seen).empty());
  EXPECT_TRUE(explainFallback(external("IBext").node, external("IBext").seen).empty());
}

// Random obstacles on three devices, against an oracle that only asks whether any device is
// left for NCCL: then nothing is explained, else something always is.
TEST(Fallback, IsExplainedExactlyWhenNoDeviceIsLeft) {
  std::mt19937 random(7);
  const auto chance = [&random](unsigned in) { return random() % in == 0; };
  for (int round = 0; round < 20000; ++round) {
    Situation s = socket();
    s.node.devices.push_back(hca(2, LinkLayer::Ethernet));
    const std::string list = std::array{"", "mlx5", "=mlx5_1", "^mlx5_2", "ibp"}[random() % 5];
    if (!list.empty()) s.set("NCCL_IB_HCA", list);
    bool left = false;
    for (std::size_t i = 0; i < s.node.devices.size(); ++i) {
      RdmaDevice& d = s.node.devices[i];
      bool usable = list.empty() || list == "mlx5" || (list == "=mlx5_1" && i == 1) ||
                    (list == "^mlx5_2" && i != 2);
      const auto hit = [&](unsigned in, auto change) {
        if (!chance(in)) return;
        change();
        usable = false;
      };
      hit(8, [&] { d.uverbs.clear(); });
      hit(3, [&] { d.nodePresent = false; });
      hit(3, [&] { d.openErrno = EPERM; });
      hit(6, [&] { d.provider = "absent"; });
      hit(6, [&] {
        d.ports[0].linkLayer = LinkLayer::Unknown;
        d.ports[0].linkLayerText = "Unspecified";
      });
      hit(3, [&] { d.ports[0].state = PortState::Down; });
      if (d.uverbs.empty()) d.nodePresent = true;
      left = left || usable;
    }
    const auto why = explainFallback(s.node, s.seen);
    ASSERT_FALSE(why.empty());
    ASSERT_EQ(left, why[0].ruleId == "unknown-cause") << "round " << round << ": " << idsOf(why);
    ASSERT_TRUE(!left || why.size() == 1) << idsOf(why);
  }
}

TEST(OpenFailure, TellsTheDeviceCgroupFromTheFileMode) {
  const auto fix = [](int number) {
    return everything(with(
        socket(),
        [number](auto& s) { s.everyDevice([number](auto& d) { d.openErrno = number; }); }))[0]
        .fix;
  };
  EXPECT_NE(fix(EPERM).find("cgroup"), std::string::npos);
  EXPECT_NE(fix(EACCES).find("0666"), std::string::npos);
  EXPECT_NE(fix(ENXIO).find("stale"), std::string::npos);
  EXPECT_NE(fix(ENOSPC).find("ibv_devinfo -d mlx5_0"), std::string::npos);
}

TEST(MissingDevice, IsExplainedInTheWordsOfThePlaceItIsMissingFrom) {
  const auto fix = [](std::string container) {
    return everything(with(socket(),
                           [&](auto& s) {
                             s.node.container = container;
                             s.node.devInfiniband = false;
                             s.everyDevice([](auto& d) { d.nodePresent = false; });
                           }))[0]
        .fix;
  };
  EXPECT_NE(fix("kubernetes").find("limits and requests"), std::string::npos);
  EXPECT_NE(fix("docker").find("--device=/dev/infiniband"), std::string::npos);
  EXPECT_NE(fix("").find("modprobe ib_uverbs"), std::string::npos);
}

TEST(PortState, IsReadAsAFabricEngineerReadsIt) {
  const auto said = [](PortState state, PhysState phys, LinkLayer layer) {
    const auto all = everything(with(socket(), [&](auto& s) {
      s.everyDevice([&](auto& d) {
        d.ports[0].state = state;
        d.ports[0].physState = phys;
        d.ports[0].linkLayer = layer;
      });
    }));
    return all[0].what + all[0].fix;
  };
  EXPECT_NE(said(PortState::Init, PhysState::LinkUp, LinkLayer::InfiniBand).find("subnet manager"),
            std::string::npos);
  EXPECT_NE(said(PortState::Down, PhysState::Polling, LinkLayer::InfiniBand).find("switch port"),
            std::string::npos);
  EXPECT_NE(said(PortState::Down, PhysState::Disabled, LinkLayer::InfiniBand).find("no cable"),
            std::string::npos);
  EXPECT_NE(said(PortState::Down, PhysState::Disabled, LinkLayer::Ethernet).find("ip link set dev"),
            std::string::npos);
}

TEST(Memlock, IsNoSignalOnceConnectionsHaveRegisteredTheirBuffers) {
  EXPECT_EQ(idsOf(everything(with(ib(), [](auto& s) { s.node.memlock.softBytes = 65536; }))), "");
}

TEST(Gdr, PeermemThatThisReleaseDoesNotLookForIsToldFromNone) {
  const auto all = everything(with(ibWithoutGdr(), [](auto& s) {
    s.seen.ncclVersion = 22203;
    s.node.gdr.peermem = {"/sys/module/nvidia_peermem/version"};
    for (auto& d : s.seen.devices) d.ptrSupport = 1;
  }));
  const Finding* f = found(all, "gdr-no-peermem-or-dmabuf");
  ASSERT_TRUE(f) << idsOf(all);
  EXPECT_NE(f->fix.find("NCCL 2.23"), std::string::npos);
}

TEST(MergedNics, CountAsTheDevicesTheyAreMadeOf) {
  const auto all = everything(with(ib(), [](auto& s) {
    s.seen.devices = {{"mlx5_0+mlx5_1", 1, 800, LinkLayer::InfiniBand, 3, true}};
  }));
  EXPECT_EQ(idsOf(all), "");
}

}  // namespace
}  // namespace rdmaguard::engine
