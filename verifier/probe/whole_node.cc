// The readings that the command makes beside readNode. See probe.h.
#include <exception>

#include "verifier/engine/counters.h"
#include "verifier/probe/probe.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

void noteFailure(engine::NodeFacts& node, const char* what) noexcept {
  try {
    node.notes.push_back({std::string("Reading this node stopped early: ") + what + ".", node.root,
                          Certainty::Observed});
  } catch (const std::exception&) {
    // Out of memory: what was read so far stands.
  }
}

}  // namespace

engine::NodeFacts readWholeNode(const ProbeOptions& options) noexcept {
  engine::NodeFacts node = readNode(options);
  try {
    const Tree tree(options.root);
    readPortDetails(tree, node);
    readPci(tree, node);
    readContainer(tree, node);
    readVerbsFiles(tree, node.loader);
  } catch (const std::exception& e) {
    noteFailure(node, e.what());
  }
  return node;
}

void readChanges(const ProbeOptions& options, std::chrono::duration<double> apart,
                 engine::NodeFacts& node) noexcept {
  try {
    const Tree tree(options.root);
    for (engine::RdmaDevice& d : node.devices) {
      for (engine::RdmaPort& p : d.ports) {
        p.stateBefore = p.state;
        readState(tree, p);
        std::vector<engine::PortCounter> now = readCounters(tree, p, p.countersKnown);
        p.changes = engine::counterChanges(p.counters, now);
        p.counters = std::move(now);
      }
    }
    node.watchedSeconds = apart.count();
  } catch (const std::exception& e) {
    noteFailure(node, e.what());
  }
}

}  // namespace rdmaguard::probe
