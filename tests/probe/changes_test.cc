// Two readings of one node: what grew, what was reset, and what a user is told.
#include <gtest/gtest.h>

#include <chrono>

#include "tree_file.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::test {
namespace {

constexpr const char* kPort = "/sys/class/infiniband/mlx5_3/ports/1/";

engine::NodeFacts twice(TreeFile& tree, const std::string& between) {
  engine::NodeFacts node = tree.read();
  tree.add(between);
  probe::readChanges(tree.options({}), std::chrono::seconds(5), node);
  return node;
}

std::string ids(const engine::NodeFacts& node) {
  engine::Selection before;
  before.nNodes = 2;
  const engine::Verdict v = engine::judge(node, before, {});
  std::string out;
  for (const auto* list : {&v.missing, &v.degraded, &v.notes})
    for (const engine::Finding& f : *list) out += (out.empty() ? "" : " ") + f.ruleId;
  return out;
}

TEST(Watching, AQuietNodeFindsNothing) {
  TreeFile tree("h100");
  const auto node = twice(tree, "");
  EXPECT_EQ(node.watchedSeconds, 5);
  EXPECT_EQ(ids(node), "");
}

TEST(Watching, ALinkThatWentDownIsFoundByItsCounter) {
  TreeFile tree("h100");
  const auto node = twice(tree, std::string(kPort) + "counters/link_downed = 2");
  ASSERT_EQ(node.devices[3].ports[0].changes.size(), 1u);
  EXPECT_EQ(node.devices[3].ports[0].changes[0].before, 1u);
  EXPECT_EQ(node.devices[3].ports[0].changes[0].after, 2u);
  EXPECT_EQ(ids(node), "port-link-downed");
}

TEST(Watching, ALinkThatIsDownNowIsFoundByItsState) {
  TreeFile tree("h100");
  const auto node =
      twice(tree, std::string(kPort) + "state = 1: DOWN\n" + kPort + "phys_state = 2: Polling");
  EXPECT_EQ(ids(node), "port-polling port-link-downed");
}

TEST(Watching, ErrorsAreToldFromCongestion) {
  TreeFile tree("h100");
  EXPECT_EQ(ids(twice(tree, std::string(kPort) + "counters/symbol_error = 7")),
            "port-errors-growing");
  EXPECT_EQ(ids(twice(tree, std::string(kPort) + "counters/port_xmit_wait = 999999")),
            "congestion-seen");
}

TEST(Watching, TrafficIsNoNews) {
  TreeFile tree("h100");
  const auto node = twice(tree, std::string(kPort) + "counters/port_rcv_data = 9999999999999");
  EXPECT_EQ(node.devices[3].ports[0].changes.size(), 1u);
  EXPECT_EQ(ids(node), "");
}

TEST(Watching, ACounterThatWasResetTellsNothing) {
  TreeFile tree("h100");
  tree.add(std::string(kPort) + "counters/symbol_error = 900");
  EXPECT_EQ(ids(twice(tree, std::string(kPort) + "counters/symbol_error = 3")), "");
}

TEST(Watching, ACounterThatVanishedTellsNothing) {
  TreeFile tree("h100");
  engine::NodeFacts node = tree.read();
  tree.remove(std::string(kPort) + "counters");
  probe::readChanges(tree.options({}), std::chrono::seconds(5), node);
  EXPECT_EQ(ids(node), "");
}

}  // namespace
}  // namespace rdmaguard::test
