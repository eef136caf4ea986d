// The probe on this very machine and on absurd trees: it never throws, leaves nothing behind,
// and says what it could not read.
#include "verifier/probe/probe.h"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "node_tree.h"
#include "verifier/engine/settings.h"

namespace rdmaguard::test {
namespace {

int openDescriptors() {
  int n = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (readdir(dir)) ++n;
  closedir(dir);
  return n;
}

bool mapped(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

TEST(ThisMachine, IsReadAndLeftAsItWas) {
  const int before = openDescriptors();
  const bool verbsBefore = mapped("libibverbs.so.1");
  const engine::NodeFacts n = probe::readNode();
  EXPECT_EQ(openDescriptors(), before);
  EXPECT_EQ(mapped("libibverbs.so.1"), verbsBefore) << "what was opened is closed again";
  EXPECT_FALSE(n.kernelRelease.empty());
  EXPECT_TRUE(n.memlock.known);
  EXPECT_TRUE(n.interfacesKnown);
  EXPECT_NE(n.loader.state, engine::VerbsLoader::State::NotTried);
  EXPECT_TRUE(n.loader.opened);
}

TEST(ThisMachine, HasTheLibibverbsThatTheBuildNeeds) {
  const engine::NodeFacts n = probe::readNode();
  ASSERT_EQ(n.loader.state, engine::VerbsLoader::State::Found) << n.loader.error;
  // The real library tells where its providers are, and the real packages put them there.
  EXPECT_TRUE(n.loader.providerSuffix.starts_with("-rdmav")) << n.loader.path;
  EXPECT_TRUE(n.loader.configDir.ends_with("/libibverbs.d"));
  for (const engine::VerbsProvider& p : n.loader.providers)
    EXPECT_FALSE(p.library.empty()) << p.expected;
  EXPECT_FALSE(n.loader.providers.empty());
}

TEST(ThisMachine, FindsTheSameByOpeningAsBySearching) {
  probe::ProbeOptions search;
  search.tryLoader = false;
  const auto opened = probe::readNode().loader;
  const auto searched = probe::readNode(search).loader;
  EXPECT_EQ(opened.state, searched.state);
  EXPECT_EQ(opened.providerSuffix, searched.providerSuffix);
  EXPECT_EQ(opened.providers.size(), searched.providers.size());
}

TEST(ThisMachine, AttributesToTheConfFileWhatNcclCopiedIntoTheEnvironment) {
  const NodeTree files;
  const std::string conf = files.root() + "/site.conf";
  std::ofstream(conf) << "NCCL_IB_DISABLE=1\nNCCL_NET=IB\n";
  setenv("NCCL_CONF_FILE", conf.c_str(), 1);
  setenv("NCCL_IB_DISABLE", "1", 1);  // as NCCL does after reading the file
  setenv("NCCL_NET", "Socket", 1);    // as a program does before NCCL starts
  const auto settings = probe::readNode().settings;
  for (const char* name : {"NCCL_CONF_FILE", "NCCL_IB_DISABLE", "NCCL_NET"}) unsetenv(name);
  ASSERT_TRUE(engine::find(settings, "NCCL_IB_DISABLE"));
  EXPECT_EQ(engine::find(settings, "NCCL_IB_DISABLE")->source, conf + ":1");
  EXPECT_EQ(engine::find(settings, "NCCL_NET")->source, "environment");
  EXPECT_EQ(engine::find(settings, "NCCL_NET")->value, "Socket");
}

TEST(AbsurdTree, IsReadWithoutAWord) {
  NodeTree tree;
  eightInfinibandHcas(tree);
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.file(port + "state", "").file(port + "phys_state", "999999999999999999999: ?");
  tree.file(port + "rate", "inf Gb/sec").file(port + "link_layer", std::string(100000, 'x'));
  tree.folder("/sys/class/infiniband/mlx5_1/ports/abc");
  tree.file("/sys/class/infiniband/notadir", "x");
  tree.link("/sys/class/infiniband/loop", "loop");
  tree.file("/proc/self/limits", "Max locked memory");
  tree.file("/proc/self/status", "CapEff:\tzz\n");
  tree.file("/etc/libibverbs.d/junk.driver", std::string("\0driver\n driver\ndriver  x y\n#d", 28));
  tree.file("/sys/class/net/bonding_masters", "bond0\n");
  const engine::NodeFacts n = tree.read();
  EXPECT_EQ(n.devices.size(), 10u);
  EXPECT_EQ(n.devices[1].name, "mlx5_0");
  EXPECT_EQ(n.devices[1].ports[0].state, engine::PortState::Unknown);
  EXPECT_EQ(n.devices[1].ports[0].physState, engine::PhysState::Unknown);
  EXPECT_EQ(n.devices[1].ports[0].rateGbps, 0);
  EXPECT_EQ(n.interfaces.size(), 1u);
}

TEST(NoTree, IsReadAsNothingKnown) {
  probe::ProbeOptions options;
  options.root = "/nonexistent/rdmaguard";
  options.environment.emplace();
  const engine::NodeFacts n = probe::readNode(options);
  EXPECT_FALSE(n.devicesKnown);
  EXPECT_FALSE(n.memlock.known);
  EXPECT_FALSE(n.interfacesKnown);
  EXPECT_FALSE(n.gdr.known);
}

}  // namespace
}  // namespace rdmaguard::test
