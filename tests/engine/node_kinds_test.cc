// Whole nodes as directory trees, read by the probe and explained by the rules: what a user
// would be told on each.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "node_tree.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::test {
namespace {

using engine::Finding;
using engine::NodeFacts;
using engine::Selection;

Selection onSocket() {
  Selection s;
  s.transport = Transport::Socket;
  s.certainty = Certainty::Observed;
  s.transportSource = "first connect";
  s.nNodes = 2;
  return s;
}

std::vector<Finding> whySocket(const NodeFacts& node) {
  return engine::explainFallback(node, onSocket());
}

std::string ids(const std::vector<Finding>& all) {
  std::string out;
  for (const Finding& f : all) out += (out.empty() ? "" : " ") + f.ruleId;
  return out;
}

const std::vector<std::string> kPod{"KUBERNETES_SERVICE_HOST=10.0.0.1"};

TEST(InfinibandNode, IsReadInFull) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.file("/sys/module/nvidia_peermem/version", "580.82.07\n");
  tree.file("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\n");
  for (int i = 0; i < 8; ++i)
    tree.folder("/proc/driver/nvidia/gpus/0000:0" + std::to_string(i) + ":00.0");
  const NodeFacts n = tree.read();
  EXPECT_EQ(n.hostname, "node-a");
  EXPECT_EQ(n.kernelRelease, "6.1.0-18-amd64");
  EXPECT_EQ(n.kernelVerbsAbi, 6);
  ASSERT_EQ(n.devices.size(), 8u);
  const engine::RdmaDevice& d = n.devices[3];
  EXPECT_EQ(d.name, "mlx5_3");
  EXPECT_EQ(d.kernelDriver, "mlx5_core");
  EXPECT_EQ(d.provider, "mlx5");
  EXPECT_EQ(d.uverbs, "uverbs3");
  EXPECT_EQ(d.pciPath, "0000:13:00.0");
  EXPECT_EQ(d.numaNode, 1);
  EXPECT_FALSE(d.software);
  EXPECT_TRUE(d.openTried);
  EXPECT_EQ(d.openErrno, 0);
  ASSERT_EQ(d.ports.size(), 1u);
  EXPECT_EQ(d.ports[0].state, engine::PortState::Active);
  EXPECT_EQ(d.ports[0].physState, engine::PhysState::LinkUp);
  EXPECT_EQ(d.ports[0].linkLayer, LinkLayer::InfiniBand);
  EXPECT_EQ(d.ports[0].rateGbps, 400);
  EXPECT_EQ(n.loader.state, engine::VerbsLoader::State::Found);
  EXPECT_EQ(n.loader.providerSuffix, "-rdmav34.so");
  EXPECT_EQ(n.loader.configDir, "/etc/libibverbs.d");
  EXPECT_EQ(n.loader.providers.size(), 3u);
  EXPECT_EQ(n.gdr.peermem.size(), 1u);
  EXPECT_EQ(n.gdr.nvidiaDriver, "580.82.07");
  EXPECT_EQ(n.gdr.openModules, true);
  EXPECT_EQ(n.gdr.gpus, 8);
  EXPECT_EQ(n.memlock.softBytes, engine::MemLock::kUnlimited);
  EXPECT_EQ(n.memlock.ipcLock, false);
  EXPECT_TRUE(n.notes.empty());
  EXPECT_EQ(ids(whySocket(n)), "unknown-cause");
}

TEST(InfinibandNode, DevicesAreInNaturalOrder) {
  NodeTree tree;
  for (int i : {10, 2, 0, 1}) {
    const std::string name = "mlx5_" + std::to_string(i);
    tree.hca(name, "mlx5_core", "0000:" + std::to_string(20 + i) + ":00.0");
  }
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 4u);
  EXPECT_EQ(n.devices[2].name, "mlx5_2");
  EXPECT_EQ(n.devices[3].name, "mlx5_10");
}

TEST(InfinibandNode, WithoutSubnetManagerIsToldSo) {
  NodeTree tree;
  tree.libibverbs({"mlx5"}).hca("mlx5_0", "mlx5_core", "0000:10:00.0");
  tree.port("mlx5_0", 1, "2: INIT", "5: LinkUp", "InfiniBand", "400 Gb/sec (4X NDR)");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "port-not-active");
  EXPECT_NE(why[0].what.find("no subnet manager"), std::string::npos) << why[0].what;
}

TEST(InfinibandNode, WithEveryCableOutNamesEveryPort) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  for (int i = 0; i < 8; ++i)
    tree.port("mlx5_" + std::to_string(i), 1, "1: DOWN", "2: Polling", "InfiniBand",
              "10 Gb/sec (4X SDR)");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "port-not-active");
  EXPECT_EQ(why[0].evidence.size(), 8u);
  EXPECT_NE(why[0].what.find("None of the 8 RDMA ports is ACTIVE"), std::string::npos);
}

TEST(RoceNode, TiesEachPortToItsInterface) {
  NodeTree tree;
  eightRoceHcas(tree);
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 8u);
  EXPECT_EQ(n.devices[2].ports[0].netdev, "eth3");
  EXPECT_EQ(n.devices[2].ports[0].linkLayer, LinkLayer::Ethernet);
  EXPECT_EQ(ids(whySocket(n)), "unknown-cause");
}

TEST(RoceNode, WithItsInterfaceDownSaysWhichCommandBringsItUp) {
  NodeTree tree;
  tree.libibverbs({"mlx5"}).hca("mlx5_0", "mlx5_core", "0000:10:00.0").netdev("ens1", false, false);
  tree.port("mlx5_0", 1, "1: DOWN", "3: Disabled", "Ethernet", "400 Gb/sec (4X NDR)");
  tree.file("/sys/devices/pci0000:00/0000:10:00.0/net/ens1/dev_port", "0\n");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "port-not-active");
  EXPECT_EQ(why[0].fix, "Bring the interface up: ip link set dev ens1 up.");
  EXPECT_EQ(why[0].evidence[1].fact, "Its interface ens1 is administratively down.");
}

TEST(SoftRoceNode, IsKnownBySysfsAndNotByItsName) {
  NodeTree tree;
  tree.libibverbs({"rxe"}).rxe("roceP1", "eth0").netdev("eth0", true, true);
  tree.port("roceP1", 1, "4: ACTIVE", "5: LinkUp", "Ethernet", "2.5 Gb/sec (1X SDR)");
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 1u);
  EXPECT_TRUE(n.devices[0].software);
  EXPECT_EQ(n.devices[0].provider, "rxe");
  EXPECT_EQ(n.devices[0].ports[0].netdev, "eth0");
  EXPECT_EQ(n.devices[0].ports[0].rateGbps, 2.5);
  Selection on;
  on.transport = Transport::RoCE;
  on.nNodes = 2;
  EXPECT_EQ(ids(engine::judge(n, on, {}).degraded), "software-rdma");
}

TEST(EfaNode, NeedsThePlugin) {
  NodeTree tree;
  tree.libibverbs({"efa"}).hca("rdmap16s27", "efa", "0000:10:1b.0");
  tree.port("rdmap16s27", 1, "4: ACTIVE", "5: LinkUp", "Unspecified", "100 Gb/sec (4X EDR)");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "efa-needs-plugin");
  EXPECT_NE(why[0].fix.find("aws-ofi-nccl"), std::string::npos);
}

TEST(Pod, WithoutTheDeviceSeesTheHostsHcasInSysfsAndIsToldTheDifference) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.remove("/dev/infiniband");
  const auto why = whySocket(tree.read(kPod));
  ASSERT_EQ(ids(why), "uverbs-device-missing");
  EXPECT_NE(why[0].what.find("8 RDMA devices"), std::string::npos) << why[0].what;
  EXPECT_NE(
      why[0].what.find("this container was not given any of them: /dev/infiniband does not exist"),
      std::string::npos)
      << why[0].what;
  EXPECT_NE(why[0].fix.find("rdma/ib: 1"), std::string::npos);
}

TEST(Pod, GivenOneOfEightHcasIsNotBlamedForTheOtherSeven) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  for (int i = 0; i < 8; ++i)
    if (i != 5) tree.remove("/dev/infiniband/uverbs" + std::to_string(i));
  EXPECT_EQ(ids(whySocket(tree.read(kPod))), "unknown-cause");
  std::vector<std::string> environment = kPod;
  environment.push_back("NCCL_IB_HCA=mlx5_0");
  const auto why = whySocket(tree.read(environment));
  ASSERT_EQ(ids(why), "hca-filter-matches-nothing");
  EXPECT_NE(why[0].fix.find("NCCL_IB_HCA==mlx5_5"), std::string::npos) << why[0].fix;
  EXPECT_NE(why[0].evidence.back().fact.find("mlx5_0, which this process cannot use"),
            std::string::npos);
}

TEST(Pod, WhoseDevicesGoneStaleSaysSo) {
  NodeTree tree;
  tree.libibverbs({"mlx5"}).hca("mlx5_0", "mlx5_core", "0000:10:00.0");
  tree.port("mlx5_0", 1, "4: ACTIVE", "5: LinkUp", "InfiniBand", "400 Gb/sec (4X NDR)");
  tree.remove("/dev/infiniband/uverbs0");
  // Opening a socket file fails with ENXIO, as a node without its device does, for any user.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = tree.root() + "/dev/infiniband/uverbs0";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  const auto why = whySocket(tree.read(kPod));
  ASSERT_EQ(ids(why), "device-open-failed");
  EXPECT_NE(why[0].what.find("ENXIO"), std::string::npos);
}

TEST(SlimContainer, WithoutLibibverbsIsToldWhatToInstall) {
  NodeTree tree;
  tree.hca("mlx5_0", "mlx5_core", "0000:10:00.0");
  tree.port("mlx5_0", 1, "4: ACTIVE", "5: LinkUp", "InfiniBand", "400 Gb/sec (4X NDR)");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "libibverbs-missing");
  EXPECT_NE(why[0].fix.find("apt-get install libibverbs1 ibverbs-providers"), std::string::npos);
  EXPECT_EQ(why[0].certainty, Certainty::Inferred) << "searched for, not opened";
}

TEST(SlimContainer, WithLibibverbsAloneLacksTheProvider) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.remove("/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "verbs-provider-missing");
  EXPECT_EQ(why[0].evidence[0].fact,
            "/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so does not exist, though a "
            "driver file names mlx5.");
}

TEST(SlimContainer, WithoutDriverFilesLacksTheProvider) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.remove("/etc/libibverbs.d/mlx5.driver");
  const auto why = whySocket(tree.read());
  ASSERT_EQ(ids(why), "verbs-provider-missing");
  EXPECT_EQ(why[0].evidence[0].fact, "No *.driver file names mlx5.");
}

TEST(SlimContainer, AProviderOfAnotherRdmaCoreReleaseIsNoProvider) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  const std::string folder = "/usr/lib/x86_64-linux-gnu/libibverbs/";
  tree.remove(folder + "libmlx5-rdmav34.so").file(folder + "libmlx5-rdmav25.so");
  EXPECT_EQ(ids(whySocket(tree.read())), "verbs-provider-missing");
}

TEST(SlimContainer, AProviderOnTheLibraryPathIsFound) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.remove("/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so");
  tree.file("/opt/ofed/lib/libmlx5-rdmav34.so");
  EXPECT_EQ(ids(whySocket(tree.read({"LD_LIBRARY_PATH=/opt/ofed/lib"}))), "unknown-cause");
}

TEST(Libibverbs, ThatSaysNothingOfProvidersIsNotBlamed) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.file("/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "all providers linked in");
  tree.remove("/etc/libibverbs.d/mlx5.driver");
  EXPECT_EQ(ids(whySocket(tree.read())), "unknown-cause");
}

TEST(Laptop, HasNoDevice) {
  NodeTree tree;
  tree.libibverbs({"mlx5"}).netdev("wlan0", true, true);
  EXPECT_EQ(ids(whySocket(tree.read())), "no-rdma-device");
}

TEST(EmptyTree, IsUnknownAndNotAbsent) {
  NodeTree tree;
  tree.remove("/sys").libibverbs({"mlx5"});
  const NodeFacts n = tree.read();
  EXPECT_FALSE(n.devicesKnown);
  EXPECT_EQ(n.notes.size(), 1u);
  const auto why = whySocket(n);
  ASSERT_EQ(ids(why), "unknown-cause");
  EXPECT_NE(why[0].evidence.back().fact.find("could not be read"), std::string::npos);
}

TEST(CopyOfSysfs, WithoutDevSaysNothingOfTheNodes) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.remove("/dev");
  const NodeFacts n = tree.read();
  EXPECT_FALSE(n.devInfinibandKnown);
  EXPECT_FALSE(n.devices[0].openTried);
  EXPECT_EQ(ids(whySocket(n)), "unknown-cause");
}

TEST(KernelWithoutUverbs, IsToldToLoadTheModule) {
  NodeTree tree;
  tree.libibverbs({"mlx5"}).hca("mlx5_0", "mlx5_core", "0000:10:00.0");
  tree.port("mlx5_0", 1, "4: ACTIVE", "5: LinkUp", "InfiniBand", "400 Gb/sec (4X NDR)");
  tree.remove("/sys/class/infiniband_verbs").remove("/dev/infiniband");
  EXPECT_EQ(ids(whySocket(tree.read())), "verbs-module-missing");
}

TEST(ConfFiles, OfTheTreeAreFoundByTheRulesOfTheRelease) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  tree.file("/etc/nccl.conf", "NCCL_IB_DISABLE=1\n");
  tree.file("/root2/.nccl.conf", "NCCL_IB_HCA=ibp\n");
  tree.file("/opt/site.conf", "NCCL_NET=Socket\n");
  const std::vector<std::string> environment{"HOME=/root2", "NCCL_CONF_FILE=/opt/site.conf",
                                             "SECRET_TOKEN=x"};
  const NodeFacts now = tree.read(environment);
  EXPECT_EQ(ids(whySocket(now)), "net-forced-socket ib-disabled-by-env");
  EXPECT_EQ(whySocket(now)[0].fix.substr(0, 44), "Remove NCCL_NET from /opt/site.conf:1. (NCCL");
  EXPECT_EQ(ids(whySocket(tree.read(environment, 22203))),
            "ib-disabled-by-env hca-filter-matches-nothing");
  for (const engine::Setting& s : now.settings) EXPECT_NE(s.name, "SECRET_TOKEN");
}

TEST(Memlock, OfEightMebibytesIsASignalUnlessTheCapabilityIsHeld) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  Selection undecided;
  undecided.nNodes = 2;
  tree.memlock("8388608", false);
  const auto signals = engine::judge(tree.read(kPod), undecided, {}).degraded;
  ASSERT_EQ(ids(signals), "memlock-limited");
  EXPECT_NE(signals[0].what.find("8 MiB"), std::string::npos);
  EXPECT_NE(signals[0].fix.find("IPC_LOCK"), std::string::npos);
  tree.memlock("8388608", true);
  EXPECT_TRUE(engine::judge(tree.read(kPod), undecided, {}).degraded.empty());
}

TEST(Interfaces, ThatAreDownDoNotServeBootstrap) {
  NodeTree tree;
  tree.netdev("eth0", true, true).netdev("bond0", true, false);
  Selection undecided;
  const auto judged = [&](const std::string& value) {
    return ids(engine::judge(tree.read({"NCCL_SOCKET_IFNAME=" + value}), undecided, {}).degraded);
  };
  EXPECT_EQ(judged("bond"), "socket-ifname-matches-nothing");
  EXPECT_EQ(judged("=eth"), "socket-ifname-matches-nothing");
  EXPECT_EQ(judged("eth"), "");
  EXPECT_EQ(judged("^bond"), "");
}

}  // namespace
}  // namespace rdmaguard::test
