// Every rule of the table: facts that make it hold, and near ones that must not. A rule
// without its two cases fails the last test here.
#include "verifier/engine/rules.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <set>

namespace rdmaguard::engine {
namespace {

struct Situation {
  NodeFacts node;
  Selection seen;

  void set(std::string name, std::string value, std::string source = "environment") {
    node.settings.push_back({std::move(name), std::move(value), std::move(source)});
  }
  RdmaPort& port(int device) { return node.devices[static_cast<std::size_t>(device)].ports[0]; }
  void everyDevice(const std::function<void(RdmaDevice&)>& change) {
    for (RdmaDevice& d : node.devices) change(d);
  }
};

RdmaDevice hca(int index, LinkLayer layer) {
  RdmaDevice d;
  d.name = "mlx5_" + std::to_string(index);
  d.kernelDriver = "mlx5_core";
  d.provider = "mlx5";
  d.uverbsKnown = true;
  d.uverbs = "uverbs" + std::to_string(index);
  d.nodePath = "/dev/infiniband/" + d.uverbs;
  d.openTried = true;
  d.source = "/sys/class/infiniband/" + d.name;
  RdmaPort p;
  p.state = PortState::Active;
  p.physState = PhysState::LinkUp;
  p.linkLayer = layer;
  p.linkLayerText = name(layer);
  p.rateGbps = 400;
  p.source = d.source + "/ports/1";
  d.ports.push_back(p);
  return d;
}

// Two healthy HCAs, one of either link layer in `layers`, a communicator of two nodes on
// `transport`.
Situation node(Transport transport, LinkLayer first = LinkLayer::InfiniBand,
               LinkLayer second = LinkLayer::InfiniBand) {
  Situation s;
  s.node.devicesKnown = true;
  s.node.devices = {hca(0, first), hca(1, second)};
  s.node.devInfinibandKnown = s.node.devInfiniband = true;
  s.node.interfacesKnown = true;
  s.node.interfaces = {{"eth0", true, true, 100000, true, {"192.0.2.1"}, "/sys/class/net/eth0"}};
  s.node.loader.state = VerbsLoader::State::Found;
  s.node.loader.opened = true;
  s.node.loader.configDir = "/etc/libibverbs.d";
  s.node.loader.providersKnown = true;
  s.node.loader.providers = {{"mlx5", "/etc/libibverbs.d/mlx5.driver", "/lib/libmlx5-rdmav34.so",
                              "/lib/libmlx5-rdmav34.so"}};
  s.node.memlock.known = true;
  s.node.memlock.ipcLock = false;
  s.node.memlock.source = "/proc/self/limits";
  s.node.gdr.known = true;
  s.node.gdr.gpus = 8;
  s.seen.transport = transport;
  s.seen.certainty = Certainty::Observed;
  s.seen.transportSource = "first connect";
  s.seen.nNodes = 2;
  s.seen.nRanks = 16;
  return s;
}

Situation socket() {
  return node(Transport::Socket);
}
Situation ib() {
  Situation s = node(Transport::IB);
  s.seen.ibDevices = 2;
  s.seen.devices = {{"mlx5_0", 1, 400, LinkLayer::InfiniBand, 3, true},
                    {"mlx5_1", 1, 400, LinkLayer::InfiniBand, 3, true}};
  s.seen.gdr = Gdr::Peermem;
  return s;
}
Situation ibWithoutGdr() {
  Situation s = ib();
  s.seen.gdr = Gdr::None;
  return s;
}
Situation preflight() {
  return node(Transport::Unknown);
}
Situation external(std::string plugin) {
  Situation s = node(Transport::External);
  s.seen.externalName = std::move(plugin);
  return s;
}

template <typename Change>
Situation with(Situation s, Change change) {
  change(s);
  return s;
}

struct RuleCase {
  Situation fires;
  Situation nearMiss;
};

// What each rule is tried on. The near miss differs in the one thing the rule looks at.
const std::map<std::string, RuleCase>& cases() {
  static const std::map<std::string, RuleCase> table{
      {"net-forced-socket",
       {with(socket(), [](auto& s) { s.set("NCCL_NET", "socket"); }),
        with(socket(), [](auto& s) { s.set("NCCL_NET", "IB"); })}},
      {"net-forced-other",
       {with(preflight(), [](auto& s) { s.set("NCCL_NET", "RoCE"); }),
        with(preflight(), [](auto& s) { s.set("NCCL_NET", "AWS Libfabric"); })}},
      {"net-chosen-by-program",
       {with(socket(), [](auto& s) { s.seen.ibDevices = 2; }),
        with(socket(), [](auto& s) { s.seen.ibDevices = 0; })}},
      {"ib-disabled-by-env",
       {with(socket(), [](auto& s) { s.set("NCCL_IB_DISABLE", "0x1"); }),
        with(socket(), [](auto& s) { s.set("NCCL_IB_DISABLE", "0"); })}},
      {"tcp-plugin", {external("FastSocket"), external("IBext_v8")}},
      {"provider-is-tcp",
       {with(external("AWS Libfabric"), [](auto& s) { s.set("FI_PROVIDER", "tcp;ofi_rxm"); }),
        with(external("AWS Libfabric"), [](auto& s) { s.set("FI_PROVIDER", "efa"); })}},
      {"libibverbs-missing",
       {with(socket(), [](auto& s) { s.node.loader.state = VerbsLoader::State::Missing; }),
        // NCCL's IB transport started, so NCCL had the library whatever we find.
        with(socket(),
             [](auto& s) {
               s.node.loader.state = VerbsLoader::State::Missing;
               s.seen.ibDevices = 0;
             })}},
      {"no-rdma-device",
       {with(socket(), [](auto& s) { s.node.devices.clear(); }), with(socket(),
                                                                      [](auto& s) {
                                                                        s.node.devices.clear();
                                                                        s.node.devicesKnown = false;
                                                                      })}},
      {"verbs-module-missing",
       {with(socket(), [](auto& s) { s.everyDevice([](auto& d) { d.uverbs.clear(); }); }),
        with(socket(), [](auto& s) { s.node.devices[0].uverbs.clear(); })}},
      {"uverbs-device-missing",
       {with(socket(), [](auto& s) { s.everyDevice([](auto& d) { d.nodePresent = false; }); }),
        with(socket(), [](auto& s) { s.node.devices[0].nodePresent = false; })}},
      {"device-open-failed",
       {with(socket(), [](auto& s) { s.everyDevice([](auto& d) { d.openErrno = EPERM; }); }),
        with(socket(), [](auto& s) { s.node.devices[1].openErrno = EPERM; })}},
      {"verbs-provider-missing",
       {with(socket(), [](auto& s) { s.node.loader.providers[0].library.clear(); }),
        with(socket(),
             [](auto& s) {
               s.node.loader.providers.clear();
               s.node.loader.providersKnown = false;
             })}},
      {"efa-needs-plugin",
       {with(socket(),
             [](auto& s) {
               s.everyDevice([](auto& d) {
                 d.provider = "efa";
                 d.ports[0].linkLayer = LinkLayer::Unknown;
                 d.ports[0].linkLayerText = "Unspecified";
               });
               s.node.loader.providers.push_back({"efa", "f", "l", "l"});
             }),
        external("AWS Libfabric")}},
      {"link-layer-unsupported",
       {with(socket(),
             [](auto& s) {
               s.everyDevice([](auto& d) {
                 d.ports[0].linkLayer = LinkLayer::Unknown;
                 d.ports[0].linkLayerText = "Unspecified";
               });
             }),
        with(socket(),
             [](auto& s) {  // not known is not "neither"
               s.everyDevice([](auto& d) {
                 d.ports[0].linkLayer = LinkLayer::Unknown;
                 d.ports[0].linkLayerText.clear();
               });
             })}},
      {"port-not-active",
       {with(socket(),
             [](auto& s) { s.everyDevice([](auto& d) { d.ports[0].state = PortState::Init; }); }),
        with(socket(), [](auto& s) { s.port(0).state = PortState::Down; })}},
      {"hca-filter-matches-nothing",
       {with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", "ibp"); }),
        with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", "mlx5_1"); })}},
      {"hca-filter-port-not-active",
       {with(socket(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "=mlx5_1");
               s.port(1).state = PortState::Down;
             }),
        with(socket(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "=mlx5_0");
               s.port(1).state = PortState::Down;
             })}},
      {"plugin-failed-fell-back",
       {with(socket(), [](auto& s) { s.set("NCCL_NET_PLUGIN", "ofi"); }),
        with(socket(),
             [](auto& s) {
               s.set("NCCL_NET_PLUGIN", "ofi");
               s.seen.netPlugins = {"/opt/lib/libnccl-net-ofi.so"};
             })}},
      {"socket-ifname-matches-nothing",
       {with(preflight(), [](auto& s) { s.set("NCCL_SOCKET_IFNAME", "bond0"); }),
        with(preflight(), [](auto& s) { s.set("NCCL_SOCKET_IFNAME", "eth"); })}},
      {"memlock-limited",
       {with(preflight(), [](auto& s) { s.node.memlock.softBytes = 8 << 20; }),
        with(preflight(),
             [](auto& s) {
               s.node.memlock.softBytes = 8 << 20;
               s.node.memlock.ipcLock = true;
             })}},
      {"port-disabled",
       {with(ib(),
             [](auto& s) {
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Disabled;
             }),
        with(ib(),
             [](auto& s) {
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Polling;
             })}},
      {"port-polling",
       {with(ib(),
             [](auto& s) {
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Polling;
             }),
        with(ib(),
             [](auto& s) {  // a device the container was not given is no concern of it
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Polling;
               s.node.devices[1].nodePresent = false;
             })}},
      {"port-down", {with(ib(), [](auto& s) { s.port(1).state = PortState::Down; }), ib()}},
      {"port-initializing",
       {with(ib(), [](auto& s) { s.port(1).state = PortState::Init; }),
        with(ib(), [](auto& s) { s.port(1).state = PortState::Down; })}},
      {"fewer-hcas",
       {with(ib(), [](auto& s) { s.seen.devices.pop_back(); }),
        with(ib(),
             [](auto& s) {  // a slow NIC left out is as it should be
               s.seen.devices.pop_back();
               s.port(1).rateGbps = 25;
             })}},
      {"mixed-link-layers",
       {with(ib(), [](auto& s) { s.seen.devices[1].linkLayer = LinkLayer::Ethernet; }),
        with(ib(),
             [](auto& s) {  // listed, and carries nothing
               s.seen.devices[1].linkLayer = LinkLayer::Ethernet;
               s.seen.devices[1].connected = false;
             })}},
      {"slow-nic-chosen",
       {with(ib(), [](auto& s) { s.seen.devices[1].speedGbps = 25; }),
        with(ib(), [](auto& s) { s.seen.devices[1].speedGbps = 200; })}},
      {"software-rdma",
       {with(ib(), [](auto& s) { s.everyDevice([](auto& d) { d.software = true; }); }),
        with(ib(), [](auto& s) { s.node.devices[0].software = true; })}},
      {"gdr-disabled-by-env",
       {with(ibWithoutGdr(), [](auto& s) { s.set("NCCL_NET_GDR_LEVEL", "LOC"); }),
        with(ibWithoutGdr(), [](auto& s) { s.set("NCCL_NET_GDR_LEVEL", "PHB"); })}},
      {"gdr-no-peermem-or-dmabuf",
       {with(ibWithoutGdr(),
             [](auto& s) {
               for (auto& d : s.seen.devices) d.ptrSupport = 1;
             }),
        with(ibWithoutGdr(),
             [](auto& s) {
               for (auto& d : s.seen.devices) d.ptrSupport = 5;
             })}},
      {"gdr-disabled",
       {ibWithoutGdr(), with(ibWithoutGdr(), [](auto& s) { s.node.gdr.gpus = 0; })}},
      {"hca-prefix-matches-more",
       {with(ib(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "mlx5_0,mlx5_1");
               s.node.devices.push_back(hca(10, LinkLayer::InfiniBand));
             }),
        with(ib(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "=mlx5_0,mlx5_1");
               s.node.devices.push_back(hca(10, LinkLayer::InfiniBand));
             })}},
      {"ib-disable-not-a-number",
       {with(ib(), [](auto& s) { s.set("NCCL_IB_DISABLE", "true"); }),
        with(ib(), [](auto& s) { s.set("NCCL_IB_DISABLE", "0"); })}},
  };
  return table;
}

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

INSTANTIATE_TEST_SUITE_P(Table, EachRule, testing::ValuesIn(rules().begin(), rules().end()),
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
