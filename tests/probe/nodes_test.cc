// The kinds of nodes that users have, each a tree in trees/, read in full and judged: what the
// probe says of each, and what a user would be told.
#include <gtest/gtest.h>

#include <algorithm>

#include "tree_file.h"
#include "verifier/engine/gid.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::test {
namespace {

using engine::NodeFacts;
using engine::PciDistance;

engine::Verdict judged(const NodeFacts& node, int ncclVersion = 0) {
  engine::Selection before;
  before.nNodes = 2;
  before.ncclVersion = ncclVersion;
  return engine::judge(node, before, {});
}

std::string ids(const engine::Verdict& v) {
  std::string out;
  for (const auto* list : {&v.missing, &v.degraded, &v.notes})
    for (const engine::Finding& f : *list) out += (out.empty() ? "" : " ") + f.ruleId;
  return out;
}

const engine::Finding* found(const engine::Verdict& v, std::string_view id) {
  for (const auto* list : {&v.missing, &v.degraded, &v.notes})
    for (const engine::Finding& f : *list)
      if (f.ruleId == id) return &f;
  return nullptr;
}

std::uint64_t counter(const engine::RdmaPort& p, std::string_view name) {
  for (const engine::PortCounter& c : p.counters)
    if (c.name == name) return c.value;
  return ~0ULL;
}

TEST(H100Node, IsReadDownToItsPciSwitches) {
  const TreeFile tree("h100");
  const NodeFacts n = tree.read();
  EXPECT_TRUE(n.notes.empty());
  ASSERT_EQ(n.devices.size(), 8u);
  ASSERT_EQ(n.gpus.size(), 8u);
  EXPECT_EQ(n.gpus[0].pciPath, "0000:1b:00.0");
  EXPECT_EQ(n.gpus[0].driver, "nvidia");
  const engine::RdmaDevice& d = n.devices[2];
  EXPECT_EQ(d.firmware, "28.39.1002");
  EXPECT_EQ(d.board, "MT_0000000838");
  EXPECT_EQ(d.pciPath, "0000:4b:00.0");
  EXPECT_EQ(d.pciBridges,
            (std::vector<std::string>{"0000:48:01.0", "0000:49:00.0", "0000:4a:00.0"}));
  EXPECT_EQ(d.numaNode, 0);
  EXPECT_EQ(d.virtualFunction, false);
  EXPECT_EQ(d.netdevs, std::vector<std::string>{"ibs2"});
  EXPECT_EQ(d.nodeNumber, "231:194");
  EXPECT_FALSE(d.cgroupAllows.has_value()) << "of cgroup v2 nothing can be read";
  EXPECT_EQ(d.iommuType, "identity");
  EXPECT_EQ(d.driverAbi, 1);
  const std::vector<PciDistance> distances{PciDistance::Phb, PciDistance::Phb, PciDistance::Pix,
                                           PciDistance::Phb, PciDistance::Sys, PciDistance::Sys,
                                           PciDistance::Sys, PciDistance::Sys};
  EXPECT_EQ(d.toGpu, distances);
  ASSERT_EQ(d.acs.size(), 2u);
  EXPECT_TRUE(d.acs[0].redirects) << "the root port";
  EXPECT_FALSE(d.acs[1].redirects);
}

TEST(H100Node, PortsShowTheirFabricAndTheirCounters) {
  const TreeFile tree("h100");
  const engine::RdmaPort p = tree.read().devices[7].ports[0];
  EXPECT_EQ(p.lid, 0x28u);
  EXPECT_EQ(p.smLid, 1u);
  EXPECT_EQ(p.lanes, 4);
  EXPECT_EQ(p.laneSpeed, "NDR");
  EXPECT_EQ(p.gidTableLength, 8);
  ASSERT_EQ(p.gids.size(), 1u) << "seven slots are empty";
  EXPECT_EQ(engine::gidText(p.gids[0]), "fe80::a088:c203:10:a07");
  EXPECT_EQ(counter(p, "link_downed"), 1u);
  EXPECT_EQ(counter(p, "port_rcv_data"), 9133456711234u);
  EXPECT_EQ(counter(p, "lifespan"), ~0ULL) << "it counts nothing";
  EXPECT_TRUE(p.changes.empty());
}

TEST(H100Node, KnowsTheReleasesOfItsLibraries) {
  const TreeFile tree("h100");
  const NodeFacts n = tree.read();
  EXPECT_EQ(n.loader.file, "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.39.0");
  EXPECT_EQ(n.loader.rdmaCore, "39.0");
  const auto& versions = n.loader.symbolVersions;
  EXPECT_EQ(versions.front(), "IBVERBS_1.0");
  EXPECT_NE(std::find(versions.begin(), versions.end(), "IBVERBS_1.12"), versions.end());
  ASSERT_EQ(n.loader.providers.size(), 1u);
  EXPECT_EQ(n.loader.providers[0].rdmaCore, "39.0");
}

TEST(H100Node, HasNothingToComplainOf) {
  const TreeFile tree("h100");
  const NodeFacts n = tree.read();
  EXPECT_EQ(n.shm.sizeBytes, 2113461060ULL * 1024 / 2) << "half of the memory";
  EXPECT_EQ(n.iommu.kernelOptions, "iommu=pt intel_iommu=on");
  EXPECT_EQ(ids(judged(n)), "");
}

TEST(H100Node, WhoseSwitchesRedirectIsToldWhichPorts) {
  TreeFile tree("h100");
  tree.add("/sys/devices/pci0000:48/0000:48:01.0/0000:49:00.0/0000:4a:00.0/config acs 1d");
  const auto v = judged(tree.read());
  ASSERT_EQ(ids(v), "acs-redirects-gdr");
  EXPECT_NE(v.degraded[0].evidence[0].fact.find("0000:4a:00.0 above mlx5_2"), std::string::npos);
}

TEST(H100Node, AsAnOrdinaryUserSaysNothingOfAcs) {
  TreeFile tree("h100");
  // Who is not root reads the first 64 bytes.
  tree.add("/sys/devices/pci0000:48/0000:48:01.0/0000:49:00.0/0000:4a:00.0/config = short");
  const NodeFacts n = tree.read();
  EXPECT_EQ(n.devices[2].acs.size(), 1u);
  EXPECT_EQ(ids(judged(n)), "");
}

TEST(H100Node, UnderATranslatingIommuIsToldOfPassthrough) {
  TreeFile tree("h100");
  tree.add("/sys/kernel/iommu_groups/{0..7}/type = DMA-FQ");
  const auto v = judged(tree.read());
  ASSERT_EQ(ids(v), "iommu-translates");
  EXPECT_NE(v.notes[0].what.find("DMA-FQ"), std::string::npos);
}

TEST(H100Node, WithoutPeermemAndOpenModulesWillStageThroughTheHost) {
  TreeFile tree("h100");
  tree.remove("/sys/module/nvidia_peermem");
  EXPECT_EQ(ids(judged(tree.read())), "") << "the open modules export DMA-BUF";
  tree.add(
      "/proc/driver/nvidia/version = NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  x");
  EXPECT_EQ(ids(judged(tree.read())), "gdr-no-peermem-or-dmabuf");
}

TEST(H100Node, WithALibibverbsOlderThanDmabufWillStageThroughTheHost) {
  TreeFile tree("h100");
  tree.remove("/sys/module/nvidia_peermem");
  tree.add(
      "/sys/module/nvidia/version = 570.86.15\n"
      "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.39.0 elf IBVERBS_1.1 IBVERBS_1.8 | "
      "lib%s-rdmav34.so /usr/lib/x86_64-linux-gnu/libibverbs/lib%s-rdmav34.so /etc/libibverbs.d");
  const auto v = judged(tree.read());
  ASSERT_EQ(ids(v), "gdr-no-peermem-or-dmabuf");
  EXPECT_NE(v.degraded[0].fix.find("rdma-core 34"), std::string::npos);
}

TEST(Gb300Node, HasSixteenInterfacesAndFourGpus) {
  const TreeFile tree("gb300");
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 16u);
  ASSERT_EQ(n.gpus.size(), 4u);
  EXPECT_EQ(n.container, "kubernetes");
  for (std::size_t i = 0; i < 16; ++i) {
    const engine::RdmaDevice& d = n.devices[i];
    EXPECT_EQ(d.netdevs, std::vector<std::string>{"rdma" + std::to_string(i)});
    EXPECT_EQ(d.ports[0].netdev, "rdma" + std::to_string(i));
    EXPECT_EQ(d.ports[0].gidTableLength, 255);
    ASSERT_EQ(d.ports[0].gids.size(), 4u);
    EXPECT_EQ(d.ports[0].gids[3].type, "RoCE v2");
    for (std::size_t g = 0; g < 4; ++g)
      EXPECT_EQ(d.toGpu[g], g == i / 4               ? PciDistance::Pix
                            : (g < 2) == (i / 4 < 2) ? PciDistance::Phb
                                                     : PciDistance::Sys)
          << d.name << " to GPU " << g;
  }
}

TEST(Gb300Node, OnAnIpv6FabricNeedsTheAddressFamily) {
  const TreeFile tree("gb300");
  const auto without = judged(tree.read());
  ASSERT_TRUE(found(without, "roce-gid-v1")) << ids(without);
  EXPECT_NE(found(without, "roce-gid-v1")->fix.find("NCCL_IB_ADDR_FAMILY=AF_INET6"),
            std::string::npos);
  EXPECT_EQ(found(without, "roce-gid-v1")->evidence.size(), 16u);
  EXPECT_FALSE(found(judged(tree.read({"NCCL_IB_ADDR_FAMILY=AF_INET6"})), "roce-gid-v1"));
}

TEST(Gb300Node, WithAllSetLacksTheLockedMemoryThatItsPodWasNotGiven) {
  TreeFile tree("gb300");
  const std::vector<std::string> set{"NCCL_IB_ADDR_FAMILY=AF_INET6"};
  // The capabilities of the tree have IPC_LOCK (bit 14); without it the limit of 8 MiB binds.
  EXPECT_EQ(ids(judged(tree.read(set))), "");
  tree.add("/proc/self/status = Name:\\tpython3\\nCapEff:\\t00000000a80425fb");
  EXPECT_EQ(ids(judged(tree.read(set))), "memlock-limited");
}

TEST(Gb300Node, GidIndexOfASettingIsHeldAgainstEveryTable) {
  const TreeFile tree("gb300");
  const auto with = [&tree](const std::string& index) {
    return ids(judged(tree.read({"NCCL_IB_GID_INDEX=" + index})));
  };
  EXPECT_EQ(with("3"), "");
  EXPECT_EQ(with("2"), "roce-gid-v1");
  EXPECT_EQ(with("1"), "roce-gid-link-local");
  EXPECT_EQ(with("7"), "roce-gid-empty");
  EXPECT_EQ(with("255"), "roce-gid-out-of-range");
}

TEST(Gb300Node, IsReadInFarLessThanTwoSeconds) {
  const TreeFile tree("gb300");
  const auto begun = std::chrono::steady_clock::now();
  const NodeFacts n = tree.read();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(n.devices.size(), 16u);
  EXPECT_LT(took.count(), 1.0);
}

TEST(VfPod, IsToldThatSysfsShowsMoreThanItWasGiven) {
  const TreeFile tree("vf_pod");
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 10u);
  EXPECT_EQ(n.devices[0].virtualFunction, false);
  EXPECT_EQ(n.devices[5].virtualFunction, true);
  EXPECT_EQ(n.devices[5].physicalFunction, "0000:3b:00.0");
  EXPECT_EQ(n.devices[5].netdevs, std::vector<std::string>{"net1"});
  EXPECT_EQ(n.devices[5].cgroupAllows, true);
  EXPECT_EQ(n.devices[4].cgroupAllows, false);
  EXPECT_EQ(n.cgroupDevices, "/sys/fs/cgroup/devices/devices.list");
  const auto v = judged(n);
  EXPECT_EQ(ids(v), "shm-too-small devices-not-passed-in");
  EXPECT_NE(v.notes[0].what.find("mlx5_5 of the 10 RDMA devices"), std::string::npos)
      << v.notes[0].what;
  EXPECT_NE(v.degraded[0].what.find("64 MiB"), std::string::npos);
  EXPECT_NE(v.degraded[0].fix.find("emptyDir"), std::string::npos);
}

TEST(VfPod, WithoutTheInterfaceOfItsFunctionCannotConnect) {
  TreeFile tree("vf_pod");
  tree.add("/sys/class/infiniband/mlx5_5/ports/1/gid_attrs/types/{0..3} !");
  const auto v = judged(tree.read());
  ASSERT_TRUE(found(v, "roce-gid-not-in-namespace")) << ids(v);
  EXPECT_NE(found(v, "roce-gid-not-in-namespace")->what.find("On mlx5_5 port 1"),
            std::string::npos);
}

TEST(VfPod, WithoutItsDeviceIsToldToAskForOne) {
  TreeFile tree("vf_pod");
  tree.remove("/dev/infiniband");
  const auto v = judged(tree.read());
  ASSERT_EQ(v.missing.size(), 1u);
  EXPECT_EQ(v.missing[0].ruleId, "uverbs-device-missing");
  EXPECT_NE(v.missing[0].what.find("10 RDMA devices"), std::string::npos);
}

TEST(SoftRoceNode, IsOneDeviceInSoftware) {
  const TreeFile tree("soft_roce");
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 1u);
  EXPECT_TRUE(n.devices[0].software);
  EXPECT_TRUE(n.devices[0].pciBridges.empty());
  EXPECT_FALSE(n.devices[0].virtualFunction.has_value());
  EXPECT_EQ(n.devices[0].ports[0].gids.size(), 2u);
  EXPECT_EQ(engine::gidText(n.devices[0].ports[0].gids[1]), "::ffff:10.0.2.15");
  EXPECT_TRUE(n.gpusKnown);
  EXPECT_TRUE(n.gpus.empty());
  EXPECT_EQ(ids(judged(n)), "software-rdma");
}

TEST(SoftRoceNode, OnAReleaseBefore221IsToldOfTheFirstGid) {
  const TreeFile tree("soft_roce");
  const auto v = judged(tree.read(), 22005);
  ASSERT_TRUE(found(v, "roce-gid-link-local")) << ids(v);
  EXPECT_NE(found(v, "roce-gid-link-local")->fix.find("NCCL_IB_GID_INDEX=1"), std::string::npos);
}

TEST(EfaNode, IsToldOfThePluginAndNotOfGids) {
  const TreeFile tree("efa");
  const NodeFacts n = tree.read();
  ASSERT_EQ(n.devices.size(), 4u);
  EXPECT_EQ(n.devices[0].name, "rdmap16s27");
  EXPECT_EQ(n.devices[0].toGpu.size(), 8u);
  EXPECT_EQ(ids(judged(n)), "efa-needs-plugin");
}

TEST(EfaNode, WithThePluginWhereTheLoaderFindsItIsToldNothing) {
  TreeFile tree("efa");
  tree.add("/usr/lib64/libnccl-net.so = x");
  const NodeFacts n = tree.read();
  EXPECT_EQ(n.defaultNetPlugin, "/usr/lib64/libnccl-net.so");
  EXPECT_EQ(ids(judged(n)), "");
}

TEST(Laptop, HasNothingAndIsToldBoth) {
  const TreeFile tree("laptop");
  const NodeFacts n = tree.read();
  EXPECT_TRUE(n.devices.empty());
  EXPECT_TRUE(n.gpusKnown);
  EXPECT_TRUE(n.gpus.empty()) << "Intel's graphics are no GPU that NCCL drives";
  EXPECT_EQ(ids(judged(n)), "libibverbs-missing no-rdma-device");
}

}  // namespace
}  // namespace rdmaguard::test
