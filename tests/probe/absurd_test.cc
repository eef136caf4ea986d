// Trees that no kernel shows: the probe ends, in little time, and takes nothing for a fact that
// is none.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "tree_file.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::test {
namespace {

namespace fs = std::filesystem;

void judge(const engine::NodeFacts& node) {
  engine::Selection before;
  before.nNodes = 2;
  engine::judge(node, before, {});
}

TEST(AbsurdNode, WithPipesForFilesKeepsNobodyWaiting) {
  TreeFile tree("h100");
  for (const char* path :
       {"/proc/self/mounts", "/proc/self/cgroup", "/proc/cmdline",
        "/sys/class/infiniband/mlx5_0/ports/1/state", "/sys/class/infiniband/mlx5_1/fw_ver",
        "/sys/class/infiniband/mlx5_2/ports/1/gids/0", "/etc/libibverbs.d/mlx5.driver",
        "/sys/class/infiniband/mlx5_3/ports/1/counters/link_downed"}) {
    tree.remove(path);
    ASSERT_EQ(mkfifo(tree.at(path).c_str(), 0600), 0) << path;
  }
  const engine::NodeFacts n = tree.read();
  EXPECT_EQ(n.devices.size(), 8u);
  EXPECT_EQ(n.devices[0].ports[0].state, engine::PortState::Unknown);
  EXPECT_FALSE(n.shm.known);
  EXPECT_TRUE(n.devices[2].ports[0].gids.empty());
}

TEST(AbsurdNode, WhoseLinksTurnInCirclesIsRead) {
  TreeFile tree("h100");
  tree.remove("/sys/class/infiniband/mlx5_0").add("/sys/class/infiniband/mlx5_0 -> mlx5_0");
  tree.add("/sys/class/infiniband/mlx5_1/again -> ..");
  tree.add("/sys/bus/pci/devices/0000:ff:00.0 -> ../../pci");
  const engine::NodeFacts n = tree.read();
  EXPECT_EQ(n.devices.size(), 8u);
  EXPECT_TRUE(n.devices[0].ports.empty());
}

TEST(AbsurdNode, WhoseLinksLeadOutOfTheTreeIsReadBelowItsRoot) {
  TreeFile tree("laptop");
  tree.remove("/proc/sys/kernel/hostname");
  tree.add("/elsewhere/name = inside\n/proc/sys/kernel/hostname -> /elsewhere/name");
  const std::string name = tree.read().hostname;
  if (name.empty()) GTEST_SKIP() << "openat2 cannot be had here";
  EXPECT_EQ(name, "inside");
  tree.remove("/proc/sys/kernel/hostname");
  tree.add("/proc/sys/kernel/hostname -> ../../../../../../../../../proc/sys/kernel/hostname");
  EXPECT_EQ(tree.read().hostname, "") << "a link to itself, once it stays below the root";
}

TEST(AbsurdNode, WithNumbersOutOfAllRangeKnowsNothingOfThem) {
  TreeFile tree("h100");
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.add(port + "lid = 0xfffffffffffffffff\n" + port + "sm_lid = -1\n" + port +
           "rate = 99999999999999 Gb/sec (999999999999X ?)\n" + port +
           "counters/link_downed = 99999999999999999999999\n" + port + "counters/x = -5\n" + port +
           "gids/0 = fe80:0000:0000:0000:zzzz:0000:0000:0000\n" + port + "gids/notanumber = x");
  tree.add(
      "/proc/self/mounts = tmpfs /dev/shm tmpfs rw,size=99999999999999999999k 0 0\n"
      "/proc/meminfo = MemTotal: 99999999999999999999 kB");
  const engine::NodeFacts n = tree.read();
  const engine::RdmaPort& p = n.devices[0].ports[0];
  EXPECT_FALSE(p.lid.has_value());
  EXPECT_FALSE(p.smLid.has_value());
  EXPECT_TRUE(p.gids.empty());
  for (const engine::PortCounter& c : p.counters) {
    EXPECT_NE(c.name, "link_downed");
    EXPECT_NE(c.name, "x");
  }
  EXPECT_FALSE(n.shm.sizeBytes.has_value());
  judge(n);
}

TEST(AbsurdNode, WithAGidTableOfAHundredThousandEntriesIsReadInTime) {
  TreeFile tree("soft_roce");
  const std::string gids = tree.at("/sys/devices/virtual/infiniband/rxe0/ports/1/gids/");
  for (int i = 1024; i < 20000; ++i) std::ofstream(gids + std::to_string(i)) << "x";
  const auto begun = std::chrono::steady_clock::now();
  const engine::NodeFacts n = tree.read();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
  EXPECT_EQ(n.devices[0].ports[0].gids.size(), 2u);
}

// Every file of a node in turn cut, emptied, filled with other bytes, or gone: read and judged.
TEST(AbsurdNode, WithAnyOfItsFilesDamagedIsReadAndJudged) {
  std::mt19937 random(11);
  for (const char* kind : {"vf_pod", "soft_roce", "efa"}) {
    TreeFile tree(kind);
    auto files = tree.files();
    std::sort(files.begin(), files.end());
    std::shuffle(files.begin(), files.end(), random);
    if (files.size() > 150) files.resize(150);
    for (const std::string& file : files) {
      std::string was;
      {
        std::ifstream in(file, std::ios::binary);
        was.assign(std::istreambuf_iterator<char>(in), {});
      }
      std::string is = was;
      switch (random() % 4) {
        case 0:
          is.resize(is.size() / 2);
          break;
        case 1:
          is.clear();
          break;
        case 2:
          for (int i = 0; i < 8 && !is.empty(); ++i)
            is[random() % is.size()] = static_cast<char>(random());
          break;
        default:
          is = std::string(70000, static_cast<char>(random()));
      }
      std::ofstream(file, std::ios::binary) << is;
      const engine::NodeFacts n = tree.read({"NCCL_IB_GID_INDEX=3"});
      judge(n);
      std::ofstream(file, std::ios::binary) << was;
    }
  }
}

TEST(AbsurdNode, WhoseLibibverbsIsAnyBytesHasNoVersions) {
  TreeFile tree("soft_roce");
  const std::string path = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0";
  std::string image;
  {
    std::ifstream in(tree.at(path), std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    std::string damaged = image;
    for (int i = 0; i < 6; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    std::ofstream(tree.at(path), std::ios::binary) << damaged;
    EXPECT_LE(tree.read().loader.symbolVersions.size(), 64u);
  }
}

TEST(NoNode, IsReadAsNothingKnown) {
  probe::ProbeOptions options;
  options.root = "/nonexistent/rdmaguard";
  options.environment.emplace();
  engine::NodeFacts n = probe::readWholeNode(options);
  EXPECT_FALSE(n.devicesKnown);
  EXPECT_FALSE(n.gpusKnown);
  EXPECT_FALSE(n.shm.known);
  EXPECT_FALSE(n.iommu.known);
  EXPECT_TRUE(n.cgroupDevices.empty());
  probe::readChanges(options, std::chrono::seconds(1), n);
  probe::tryRegistration(n, std::chrono::milliseconds(100));
  EXPECT_FALSE(n.registration.tried) << "a tree is no machine to try on";
  judge(n);
}

}  // namespace
}  // namespace rdmaguard::test
