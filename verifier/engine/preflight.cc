// See preflight.h.
#include "verifier/engine/preflight.h"

#include <algorithm>

#include "verifier/engine/case.h"
#include "verifier/engine/rules.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::string_view kCost =
    "A job of several nodes would pay the full price of its GPUs for a fraction of the throughput.";

Transport transportOf(const std::vector<const PortView*>& ports) {
  bool ib = false, ethernet = false;
  for (const PortView* p : ports) {
    if (!p->port) continue;
    ib = ib || p->port->linkLayer == LinkLayer::InfiniBand;
    ethernet = ethernet || p->port->linkLayer == LinkLayer::Ethernet;
  }
  if (ib && ethernet) return Transport::Mixed;
  if (ib) return Transport::IB;
  return ethernet ? Transport::RoCE : Transport::Unknown;
}

bool isOn(const Setting* s) {
  return s != nullptr && numberValue(s->value).value_or(0) != 0;
}

/// NCCL_NET_PLUGIN names a plugin; "none" and, for most releases, "" name none.
bool namesPlugin(const Setting* s) {
  return s != nullptr && !s->value.empty() && !sameWord(s->value, "none");
}

std::string netWords(Transport t) {
  switch (t) {
    case Transport::IB:
      return "InfiniBand";
    case Transport::RoCE:
      return "RoCE";
    case Transport::Mixed:
      return "InfiniBand and RoCE ports at once";
    default:
      return std::string(name(t));
  }
}

/// "over InfiniBand (mlx5_0 and mlx5_1)"
std::string overWhat(const Case& c, const Verdict& v) {
  std::vector<std::string> names;
  for (const DeviceInUse& d : c.seen.devices) names.push_back(d.name);
  if (names.empty()) names = deviceNames(c.usablePorts());
  const std::string net = v.transport == Transport::External
                              ? cat("the net plugin ", v.externalName)
                              : netWords(v.transport);
  return names.empty() ? net : cat(net, " (", listed(names), ")");
}

/// The net plugin that NCCL would try before its own transports; empty: none is known of.
std::string pluginInTheWay(const Case& c) {
  const Setting* const named = c.setting("NCCL_NET_PLUGIN");
  if (named == nullptr) return c.node.defaultNetPlugin;
  return namesPlugin(named) ? named->value : std::string();
}

std::string sentenceOf(const Case& c, const Verdict& v) {
  const bool asked = c.seen.certainty == Certainty::Observed;
  const std::string who = asked ? "NCCL here would" : "NCCL should";
  std::string text;
  switch (v.engaged) {
    case Engaged::Yes:
      text = cat(who, " run a job of several nodes over ", overWhat(c, v), ".");
      if (!v.degraded.empty())
        text += cat(" ", counted(v.degraded.size(), "signal"), " of lower speed below.");
      break;
    case Engaged::No:
    case Engaged::Partial:
      text = c.seen.refuses ? cat(asked ? "NCCL here would" : "NCCL would",
                                  " refuse to start a job of several nodes")
                            : cat(asked ? "NCCL here would" : "NCCL would",
                                  " fall back to TCP (NET/Socket) on this node");
      if (v.transport == Transport::External)
        text = cat(who, " use the net plugin ", v.externalName, ", which is not RDMA");
      text += v.missing.empty() ? "." : cat(": ", v.missing.front().what);
      if (!c.seen.refuses) text += cat(" ", kCost);
      break;
    default:
      text = "Whether NCCL would use RDMA on this node cannot be told from its facts.";
      if (const std::string plugin = pluginInTheWay(c); !plugin.empty())
        text += cat(" NCCL tries the net plugin ", plugin, " first.");
      if (!v.missing.empty()) text += cat(" ", v.missing.front().what);
  }
  if (v.requirement == Met::Violated && v.engaged == Engaged::Yes) text += cat(" ", v.violation);
  return text;
}

void addMissing(const std::vector<Finding>& from, std::vector<Finding>& to) {
  for (const Finding& f : from)
    if (std::none_of(to.begin(), to.end(), [&](const Finding& t) { return t.ruleId == f.ruleId; }))
      to.push_back(f);
}

/// Rows of the table that look at a whole input hold for the settings of this node too: misspelt
/// names, values that NCCL does not take as they look.
void addSettings(const NodeFacts& node, const Selection& seen, Verdict& v) {
  JobFacts facts;
  facts.settings = node.settings;
  const Case c(node, seen, &facts);
  addMissing(findings(c, FindingKind::MissingCondition, Scope::Job), v.missing);
  addMissing(findings(c, FindingKind::DegradedSignal, Scope::Job), v.degraded);
  addMissing(findings(c, FindingKind::Note, Scope::Job), v.notes);
}

// The worse of two exit codes: not engaged, degraded, cannot tell, all well.
int worse(int a, int b) {
  const auto rank = [](int code) { return code == 2 ? 3 : code == 1 ? 2 : code == 0 ? 0 : 1; };
  return rank(a) >= rank(b) ? a : b;
}

}  // namespace

Selection foreseen(const NodeFacts& node) {
  Selection s;
  s.planned = true;
  s.nNodes = 2;
  s.transportSource = "the facts of this node, by NCCL's rules";
  const Case c(node, s);
  const Setting* const net = c.setting("NCCL_NET");
  const bool wantsIb = net != nullptr && sameWord(net->value, "IB");
  const bool wantsSocket = net != nullptr && sameWord(net->value, "Socket");
  if (net != nullptr && externalKind(net->value) == ExternalKind::NotRdma) {
    s.transport = Transport::External;
    s.externalName = net->value;
    return s;
  }
  if (net != nullptr && isNoNet(net->value, node)) {
    s.transport = Transport::Socket;
    s.refuses = true;
    return s;
  }
  // NCCL_NET=IB and NCCL_NET=Socket pass over whatever plugin there is.
  const bool ownNet = wantsIb || wantsSocket;
  if (!ownNet && (net != nullptr || !pluginInTheWay(c).empty())) return s;
  const auto usable = c.usablePorts();
  const bool off = wantsSocket || isOn(c.setting("NCCL_IB_DISABLE")) ||
                   node.loader.state == VerbsLoader::State::Missing ||
                   (node.devicesKnown && usable.empty());
  if (off) {
    s.transport = Transport::Socket;
    s.refuses = wantsIb;
  } else if (node.devicesKnown) {
    s.transport = transportOf(usable);
  }
  return s;
}

JobVerdict judgePreflight(const NodeFacts& node, const Selection& seen, const Requirement& wanted) {
  JobVerdict out;
  out.job = judge(node, seen, wanted);
  const Case c(node, seen);
  if (out.job.engaged == Engaged::No) out.causes = out.job.missing;
  addSettings(node, seen, out.job);
  out.exitCode = exitCode(out.job);
  // Engaged with a condition that breaks it later, a retry count that does not fit its field.
  if (out.exitCode == 0 && !out.job.missing.empty()) out.exitCode = 1;
  out.sentence = sentenceOf(c, out.job);
  if (seen.certainty != Certainty::Observed && out.job.engaged != Engaged::No)
    out.gather.emplace_back(
        "Run `rdmaguard preflight --nccl auto` in the job's own container: the real NCCL library "
        "says what it would select.");
  return out;
}

void addSpec(const JobVerdict& spec, JobVerdict& verdict) {
  addMissing(spec.job.missing, verdict.job.missing);
  addMissing(spec.job.degraded, verdict.job.degraded);
  addMissing(spec.job.notes, verdict.job.notes);
  addMissing(spec.causes, verdict.causes);
  verdict.sentence += cat(" The spec: ", spec.sentence);
  verdict.exitCode = worse(verdict.exitCode, spec.exitCode);
}

}  // namespace rdmaguard::engine
