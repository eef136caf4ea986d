// What NCCL's network code says at start: networks, device lists, GPUDirect, plugins.
#include <gtest/gtest.h>

#include <string>

#include "tests/readers/log_text.h"

namespace rdmaguard::readers {
namespace {

using engine::NetworkLine;
using engine::PluginFailure;

engine::ProcessLog said(const std::string& message) {
  return test::processOf("n1:10:11 [0] NCCL INFO " + message + "\n");
}

struct NetworkWords {
  const char* message;
  NetworkLine::Form form;
  const char* network;
};

class NetworkForm : public testing::TestWithParam<NetworkWords> {};

TEST_P(NetworkForm, IsKept) {
  const engine::ProcessLog p = said(GetParam().message);
  ASSERT_EQ(p.networks.size(), 1U);
  EXPECT_EQ(p.networks[0].form, GetParam().form);
  EXPECT_EQ(p.networks[0].network, GetParam().network);
  EXPECT_EQ(p.networks[0].at.line, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Releases, NetworkForm,
    testing::Values(
        NetworkWords{"Using network IB", NetworkLine::Form::Using, "IB"},
        NetworkWords{"Using network AWS Libfabric", NetworkLine::Form::Using, "AWS Libfabric"},
        NetworkWords{"Using internal Network Socket", NetworkLine::Form::Using, "Socket"},
        NetworkWords{"Assigned NET plugin IB to comm", NetworkLine::Form::Assigned, "IB"},
        NetworkWords{"Initialized NET plugin IB", NetworkLine::Form::Initialized, "IB"},
        NetworkWords{"NET/Plugin: Loaded net plugin FastSocket (v7)", NetworkLine::Form::Loaded,
                     "FastSocket"},
        NetworkWords{"NET/Plugin: Loaded net plugin NCCL RDMA Plugin (v5)",
                     NetworkLine::Form::Loaded, "NCCL RDMA Plugin"},
        NetworkWords{"P2P plugin IBext_v8", NetworkLine::Form::Loaded, "IBext_v8"},
        NetworkWords{"P2P plugin v8 IBext_v8", NetworkLine::Form::Loaded, "IBext_v8"},
        NetworkWords{"Error: network IB not found.", NetworkLine::Form::NotFound, "IB"},
        NetworkWords{"Comm config Net name set to Socket", NetworkLine::Form::ConfigName,
                     "Socket"}));

TEST(NetworkLines, OthersThatBeginLikeThemNameNone) {
  for (const char* message :
       {"Using non-device net plugin version 0", "Using NCCL Low-latency algorithm for sizes below",
        "Using netw", "Using network", "NET/Plugin: Using internal network plugin.",
        "Loaded coll plugin SHARP (v5)", "NET/Plugin: Loaded collnet plugin SHARP (v8)",
        "Assigned GIN plugin GIN_IB to comm", "Assigned NET plugin I"})
    EXPECT_TRUE(said(message).networks.empty()) << message;
}

std::string names(const engine::ProcessLog& p) {
  std::string all;
  for (const engine::ListedDevice& d : p.devices)
    all += std::to_string(d.index) + "=" + d.name + ":" + std::to_string(d.port) + "/" +
           d.linkLayerText + (d.merged ? "+ " : " ");
  return all;
}

struct List {
  const char* message;
  const char* devices;
  bool cut = false;
};

class DeviceLists : public testing::TestWithParam<List> {};

TEST_P(DeviceLists, AreReadWhole) {
  const engine::ProcessLog p = said(GetParam().message);
  EXPECT_TRUE(p.deviceListSeen);
  EXPECT_EQ(names(p), GetParam().devices);
  EXPECT_EQ(p.deviceListCut, GetParam().cut);
}

INSTANTIATE_TEST_SUITE_P(
    Releases, DeviceLists,
    testing::Values(
        List{"NET/IB: [0] mlx4_1:1/IB ", "0=mlx4_1:1/IB "},
        List{"NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:192.0.2.1<0>", "0=mlx5_0:1/IB "},
        List{"NET/IB : Using [0]mlx5_22:1/RoCE [1]mlx5_6:2/RoCE ; OOB :",
             "0=mlx5_22:1/RoCE 1=mlx5_6:2/RoCE "},
        List{"NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB eth0:192.0.2.1<0>", "0=mlx5_0:1/IB "},
        List{"NET/IB : Using [0]={[0] mlx5_4:1/RoCE, [1] mlx5_5:1/RoCE} [1]={[2] mlx5_0:1/RoCE, "
             "[3] mlx5_1:1/RoCE} [RO]; OOB bond1.310:192.0.2.17<0>",
             "0=mlx5_4:1/RoCE+ 0=mlx5_5:1/RoCE+ 1=mlx5_0:1/RoCE+ 1=mlx5_1:1/RoCE+ "},
        List{"NET/IB : Using [0]rocep177s0f0v3:1/RoCE [1]mlx5_bond_0:1/RoCE [RO]; OOB net1",
             "0=rocep177s0f0v3:1/RoCE 1=mlx5_bond_0:1/RoCE "},
        // 2.30.7: rail, and plane behind it.
        List{"NET/IB : Using [0]mlx5_0:1:3/RoCE [1]mlx5_1:1:3:1/RoCE [2]mlx5_2:1::1/IB [RO]; OOB "
             "eth0:192.0.2.1<0>",
             "0=mlx5_0:1/RoCE 1=mlx5_1:1/RoCE 2=mlx5_2:1/IB "},
        List{"NET/IB : Using [0]efa_0:1/Unspecified [RO]; OOB eth0:192.0.2.1<0>",
             "0=efa_0:1/Unspecified "},
        List{"NET/IB : Using [RO]; OOB eth0:192.0.2.1<0>", ""},
        // NCCL's line buffer ends a long list early.
        List{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]ml", "0=mlx5_0:1/IB 1=mlx5_1:1/IB ",
             true}));

TEST(DeviceList, LinkLayersAreToldApart) {
  const engine::ProcessLog p =
      said("NET/IB : Using [0]a:1/IB [1]b:1/RoCE [2]c:1/Other [RO]; OOB eth0:192.0.2.1<0>");
  ASSERT_EQ(p.devices.size(), 3U);
  EXPECT_EQ(p.devices[0].linkLayer, LinkLayer::InfiniBand);
  EXPECT_EQ(p.devices[1].linkLayer, LinkLayer::Ethernet);
  EXPECT_EQ(p.devices[2].linkLayer, LinkLayer::Unknown);
  EXPECT_EQ(p.oobInterface, "eth0");
  EXPECT_EQ(p.address, "192.0.2.1");
}

TEST(DeviceList, OneWhoseBeginningIsLostIsKeptAsSuch) {
  const engine::LogFacts log = test::logOf(
      "lx5_3:1/RoCE [4]mlx5_4:1/RoCE [RO]; OOB eth0:192.0.2.11<0>     n1:10:11 [5] NCCL INFO Using "
      "network IB\n");
  bool found = false;
  for (const engine::ProcessLog& p : log.processes) {
    if (p.devices.empty()) continue;
    found = true;
    EXPECT_TRUE(p.deviceListCut);
    EXPECT_EQ(p.devices.back().name, "mlx5_4");
  }
  EXPECT_TRUE(found);
}

TEST(DeviceList, NothingElseIsOne) {
  for (const char* message :
       {"NET/IB : Using interface eth2 for sideband communication",
        "NET/Socket : Using [0]eth0:192.0.2.1<0> [1]ib0:192.0.2.2<0>",
        "NET/FastSocket : Using [0]ens4:192.0.2.1<0>", "NET/Socket: Using 2 threads and 8 sockets",
        "Bootstrap : Using [0]eth0:192.0.2.1<0>", "NET/IB : No device found."}) {
    const engine::ProcessLog p = said(message);
    EXPECT_FALSE(p.deviceListSeen) << message;
    EXPECT_TRUE(p.devices.empty()) << message;
  }
}

TEST(DeviceList, NicsThatAreMergedLaterHaveANumberOfTheirOwn) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO NET/IB : Using [0]a:1/IB [1]b:1/IB [RO]; OOB eth0:192.0.2.1<0>\n"
      "n:1:2 [0] NCCL INFO NET/IB : Made virtual device [2] name=a+b speed=800000 ndevs=2\n");
  EXPECT_EQ(names(p), "0=a:1/IB 1=b:1/IB 2=a:1/IB+ 2=b:1/IB+ ");
}

TEST(NetworkStart, ProbesThatFindNothingAreKept) {
  EXPECT_TRUE(said("NET/IB : No device found.").noDevice);
  EXPECT_TRUE(said("RCCL: Detected 0 IB devices, primary type: 0 (count: 0)").noDevice);
  EXPECT_FALSE(said("RCCL: Detected 8 IB devices, primary type: 0 (count: 8)").noDevice);
  EXPECT_TRUE(said("Failed to open libibverbs.so[.1]").libibverbsFailed);
  EXPECT_TRUE(said("Could not open libibverbs.so").libibverbsFailed);
  EXPECT_FALSE(said("Failed to open libnvidia-ml.so.1").libibverbsFailed);
  const engine::ProcessLog p =
      said("NET/Socket : Using [0]eth0:192.0.2.11<0> [1]ib0:fe80::1%ib0<0>");
  EXPECT_TRUE(p.socketUsing);
  EXPECT_EQ(p.address, "192.0.2.11");
  EXPECT_EQ(said("NET/OFI Selected Provider is tcp;ofi_rxm").ofiProvider, "tcp;ofi_rxm");
  EXPECT_EQ(
      said("NET/OFI Selected provider is efa, fabric is efa-direct (found 8 nics)").ofiProvider,
      "efa");
  EXPECT_EQ(said("NET/OFI Selected Provider is efa (found 16 nics)").ofiProvider, "efa");
  EXPECT_EQ(said("Bootstrap: Using eth0:192.0.2.9<0>").bootstrapInterface, "eth0");
  EXPECT_EQ(said("Bootstrap : Using [0]bond0.3:192.0.2.9<0>").bootstrapInterface, "bond0.3");
  EXPECT_EQ(said("Bootstrap : Using eth0:fe80::1c2b:7ff:fe3d:9911%eth0<0>").address,
            "fe80::1c2b:7ff:fe3d:9911");
}

TEST(NetworkStart, TheSlowestNetworkOfTheTopologyIsKept) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO             + NET[25.0] - NET/0 (0/1/25.000000)\n"
      "n:1:2 [0] NCCL INFO             + NET[1.2] - NET/1 (0/1/1.250000)\n"
      "n:1:2 [0] NCCL INFO             + NVL[300.0] - NVS/0\n");
  EXPECT_DOUBLE_EQ(p.slowestGbps, 1.2);
  EXPECT_EQ(p.slowestAt.line, 2U);
}

struct Hca {
  const char* message;
  const char* hca;
  bool enabled;
  const char* how;
  const char* net = "IB";
};

class HcaGdrLine : public testing::TestWithParam<Hca> {};

TEST_P(HcaGdrLine, NamesTheHcaAndTheOutcome) {
  const engine::ProcessLog p = said(GetParam().message);
  ASSERT_EQ(p.hcaGdr.size(), 1U);
  EXPECT_EQ(p.hcaGdr[0].hca, GetParam().hca);
  EXPECT_EQ(p.hcaGdr[0].enabled, GetParam().enabled);
  EXPECT_EQ(p.hcaGdr[0].how, GetParam().how);
  EXPECT_EQ(p.hcaGdr[0].net, GetParam().net);
}

INSTANTIATE_TEST_SUITE_P(
    Releases, HcaGdrLine,
    testing::Values(Hca{"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)",
                        "mlx5_0", false, "no module"},
                    Hca{"NET/IB : GPU Direct RDMA Enabled for HCA 3 'mlx5_3'", "mlx5_3", true, ""},
                    Hca{"NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 'rocep1s0f0",
                        "rocep1s0f0", true, "DMABUF"},
                    Hca{"NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'", "eth0", false, "",
                        "Socket"}));

struct Pair {
  const char* message;
  const char* gpu;
  const char* hca;
  bool enabled;
  int distance, limit;
};

class PairGdrLine : public testing::TestWithParam<Pair> {};

TEST_P(PairGdrLine, NamesBothEndsAndTheDistance) {
  const engine::ProcessLog p = said(GetParam().message);
  ASSERT_EQ(p.pairGdr.size(), 1U);
  EXPECT_EQ(p.pairGdr[0].gpu, GetParam().gpu);
  EXPECT_EQ(p.pairGdr[0].hca, GetParam().hca);
  EXPECT_EQ(p.pairGdr[0].enabled, GetParam().enabled);
  EXPECT_EQ(p.pairGdr[0].distance, GetParam().distance);
  EXPECT_EQ(p.pairGdr[0].limit, GetParam().limit);
}

INSTANTIATE_TEST_SUITE_P(
    Releases, PairGdrLine,
    testing::Values(
        Pair{"GPU Direct RDMA Disabled for GPU 87000 / HCA 0 (distance 7 > 4)", "87000", "0", false,
             7, 4},
        Pair{"GPU Direct RDMA Enabled for GPU 86000 / HCA 0 (distance 4 < 5), read 0", "86000", "0",
             true, 4, 5},
        Pair{"GPU Direct RDMA Enabled for GPU 4 / HCA 2a0de (distance 3 <= 5), read 1", "4",
             "2a0de", true, 3, 5},
        Pair{"GPU Direct RDMA Enabled for GPU 4 / HCA 2a0de (distance 3 <= 5), read 1 mode Default",
             "4", "2a0de", true, 3, 5},
        Pair{"GPU Direct RDMA Disabled for GPU/0-b8000 (rank 3) / NET/0-1 (distance 8 > 5)",
             "0-b8000", "0-1", false, 8, 5}));

TEST(GdrLines, EveryRankPrintsThoseOfItsNodeAndTheyAreCountedOnce) {
  const engine::ProcessLog p = test::processOf(
      "n:1:2 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 4 / HCA 0 (distance 3 <= 5), read 1\n"
      "n:1:2 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 4 / HCA 0 (distance 3 <= 5), read 1\n"
      "n:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 4 / HCA 0 (distance 8 > 5)\n");
  ASSERT_EQ(p.pairGdr.size(), 2U);
  EXPECT_EQ(p.pairGdr[0].count, 2U);
}

struct Plugin {
  const char* message;
  PluginFailure::Kind kind;
  const char* plugin;
};

class PluginLine : public testing::TestWithParam<Plugin> {};

TEST_P(PluginLine, TellsWhyThePluginDidNotCome) {
  const engine::ProcessLog p = said(GetParam().message);
  ASSERT_EQ(p.pluginFailures.size(), 1U);
  EXPECT_EQ(p.pluginFailures[0].kind, GetParam().kind);
  EXPECT_EQ(p.pluginFailures[0].plugin, GetParam().plugin);
}

constexpr const char* kLib = "libnccl-net.so";

INSTANTIATE_TEST_SUITE_P(
    Releases, PluginLine,
    testing::Values(
        Plugin{"NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
               PluginFailure::Kind::NotThere, kLib},
        Plugin{"NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file "
               "or directory No plugin found (libnccl-net.so), using internal implementation",
               PluginFailure::Kind::NotThere, kLib},
        Plugin{"NET/Plugin : dlerror=libfabric.so.1: cannot open shared object file: No such file "
               "or directory No plugin found (libnccl-net.so), using internal implementation",
               PluginFailure::Kind::DlopenFailed, kLib},
        Plugin{"NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open "
               "shared object file: No such file or directory",
               PluginFailure::Kind::NotThere, kLib},
        Plugin{"NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object "
               "file: No such file or directory : when loading libnccl-net.so",
               PluginFailure::Kind::NotThere, kLib},
        Plugin{"NET/Plugin: Plugin load returned 0 : /opt/x.so: undefined symbol: fi_open : when "
               "loading libnccl-net.so",
               PluginFailure::Kind::DlopenFailed, kLib},
        Plugin{"NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
               PluginFailure::Kind::NotThere, kLib},
        Plugin{"NET/Plugin: Could not find: libnccl-net.so", PluginFailure::Kind::NotThere, kLib},
        Plugin{"NET/Plugin: libnccl-net.so: /usr/lib/libm.so.6: version `GLIBC_2.39' not found "
               "(required by /opt/ofi/lib/libnccl-net.so)",
               PluginFailure::Kind::DlopenFailed, kLib},
        Plugin{"NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 "
               "and lower are not supported.",
               PluginFailure::Kind::NoSymbol, ""},
        Plugin{"External network plugin libnccl-net-x.so is unsupported",
               PluginFailure::Kind::NoSymbol, "libnccl-net-x.so"},
        Plugin{"Failed to initialize NET plugin IB", PluginFailure::Kind::InitFailed, "IB"}));

TEST(PluginLines, OtherPluginsAreNoneOfTheNetworks) {
  for (const char* message :
       {"PROFILER/Plugin: Could not find: libnccl-profiler.so",
        "TUNER/Plugin: Failed to find "
        "ncclTunerPlugin_v4 symbol.",
        "Failed to initialize any GIN plugin", "GIN/Plugin: Could not find: libnccl-gin.so",
        "NET/Plugin: Using internal network plugin.",
        "NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.",
        "ncclOsDlopen(libnccl-env.so) failed: libnccl-env.so: cannot open shared object file: No "
        "such file or directory"})
    EXPECT_TRUE(said(message).pluginFailures.empty()) << message;
}

TEST(PluginLines, AnOldSymbolThatIsMissingIsNoFailureWhereANewerOneLoads) {
  const auto p = test::processOf(
      "n:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.\n"
      "n:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin FastSocket (v4)\n"
      "n:1:2 [0] NCCL INFO Using network FastSocket\n");
  EXPECT_TRUE(p.pluginFailures.empty());
  const auto q = test::processOf(
      "n:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v7 symbol.\n"
      "n:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.\n"
      "n:1:2 [0] NCCL INFO Using network Socket\n");
  ASSERT_EQ(q.pluginFailures.size(), 1U);
  EXPECT_EQ(q.pluginFailures[0].kind, PluginFailure::Kind::NoSymbol);
}

}  // namespace
}  // namespace rdmaguard::readers
