// A case and a near miss for every rule, and the healthy situations they are made from. For
// rules_test.cc.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

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

/// mlx5_<index>, ACTIVE at 400 Gb/s, all in place.
RdmaDevice hca(int index, LinkLayer layer);

/// Two healthy HCAs and a communicator of two nodes: on Socket, on IB with peermem, on IB with
/// host memory only, not decided yet, on an external plugin.
Situation socket();
Situation ib();
Situation ibWithoutGdr();
Situation preflight();
Situation external(std::string plugin);

template <typename Change>
Situation with(Situation s, Change change) {
  change(s);
  return s;
}

struct RuleCase {
  Situation fires;
  Situation nearMiss;
};

/// What each rule is tried on. The near miss differs in the one thing the rule looks at.
const std::map<std::string, RuleCase>& cases();
/// The part of them for the rows of rules_node.h.
std::map<std::string, RuleCase> wholeNodeCases();

}  // namespace rdmaguard::engine
