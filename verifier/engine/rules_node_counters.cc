// Rules about what grew while the ports were watched (probe::readChanges). One reading says
// nothing: counters count from the driver's start, and link_downed is 1 after a normal boot.
// Called through the table in rules_node.h.
#include <algorithm>
#include <cmath>

#include "verifier/engine/counters.h"
#include "verifier/engine/rules_node.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

struct Growth {
  const PortView* port;
  const CounterChange* change;
};

std::string watched(const Case& c) {
  const auto tenths = std::llround(c.node.watchedSeconds * 10);
  return cat(std::to_string(tenths / 10), ".", std::to_string(tenths % 10), " s");
}

// A port that this process cannot use, or that is off, may count what it likes.
bool counts(const PortView& p) {
  return p.port && p.reaches(Obstacle::LinkLayer) && !p.hit(Obstacle::Filtered);
}

std::vector<Growth> grown(const Case& c, bool (*kind)(CounterKind)) {
  std::vector<Growth> out;
  if (c.oneNode() || c.node.watchedSeconds <= 0) return out;
  for (const PortView& p : c.ports)
    if (counts(p))
      for (const CounterChange& change : p.port->changes)
        if (kind(counterKind(change.name))) out.push_back({&p, &change});
  return out;
}

std::vector<std::string> portsOf(const std::vector<Growth>& all) {
  std::vector<std::string> names;
  for (const Growth& g : all)
    if (std::string name = portName(*g.port); names.empty() || names.back() != name)
      names.push_back(std::move(name));
  return names;
}

void addEvidence(Finding& f, const std::vector<Growth>& all) {
  for (const Growth& g : all)
    f.evidence.push_back(
        {cat(g.change->name, " of ", portName(*g.port), " grew from ",
             std::to_string(g.change->before), " to ", std::to_string(g.change->after), ": ",
             counterMeaning(g.change->name), "."),
         g.change->source, Certainty::Observed});
}

}  // namespace

MaybeFinding linkWentDown(const Case& c) {
  const auto all = grown(c, [](CounterKind k) { return k == CounterKind::LinkDown; });
  std::vector<std::string> names = portsOf(all);
  Finding f{.certainty = Certainty::Observed};
  addEvidence(f, all);
  if (!c.oneNode() && c.node.watchedSeconds > 0) {
    for (const PortView& p : c.ports) {
      if (!counts(p) || p.port->stateBefore != PortState::Active ||
          p.port->state == PortState::Active || p.port->state == PortState::Unknown)
        continue;
      const std::string port = portName(p);
      if (std::find(names.begin(), names.end(), port) == names.end()) names.push_back(port);
      f.evidence.push_back({cat(port, " was ACTIVE and is now ", name(p.port->state), "."),
                            cat(p.port->source, "/state"), Certainty::Observed});
    }
  }
  if (names.empty()) return std::nullopt;
  f.what = cat("Within ", watched(c), " the link of ", listed(names),
               " went down: jobs that use it fail "
               "when it does.");
  f.fix =
      cat("Check the cable, the transceiver and the switch port behind ", names.front(),
          " (`mlxlink -d DEVICE -m -c` shows its signal and its history), and keep the node out "
          "of jobs until it holds.");
  return f;
}

MaybeFinding portErrorsGrow(const Case& c) {
  const auto all =
      grown(c, [](CounterKind k) { return k == CounterKind::Link || k == CounterKind::Transport; });
  if (all.empty()) return std::nullopt;
  const bool link = std::any_of(all.begin(), all.end(), [](const Growth& g) {
    return counterKind(g.change->name) == CounterKind::Link;
  });
  Finding f{.certainty = Certainty::Observed};
  f.what = cat("Within ", watched(c), " error counters of ", listed(portsOf(all)), " grew (",
               all.front().change->name, ": ", counterMeaning(all.front().change->name), ").");
  addEvidence(f, all);
  f.fix = link ? cat("Check the cable and the transceiver of ", portName(*all.front().port),
                     " (`mlxlink -d DEVICE -m -c`): packets are damaged on the wire.")
               : "Packets are lost between the ends: check that flow control (PFC, ECN) is set "
                 "alike on hosts and switches, and watch the other end at the same time.";
  return f;
}

MaybeFinding congestionSeen(const Case& c) {
  const auto all = grown(c, [](CounterKind k) { return k == CounterKind::Congestion; });
  if (all.empty()) return std::nullopt;
  Finding f{.what = cat("Within ", watched(c), " congestion was seen on ", listed(portsOf(all)),
                        ": something else uses these links or those behind them."),
            .fix =
                "Normal under load. On an idle node find who sends, and compare bandwidths with "
                "those of a quiet fabric only.",
            .certainty = Certainty::Observed};
  addEvidence(f, all);
  return f;
}

}  // namespace rdmaguard::engine
