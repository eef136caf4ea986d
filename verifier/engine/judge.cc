// The rule table applied: explainFallback and judge. See rules.h.
#include <algorithm>
#include <exception>

#include "verifier/engine/case.h"
#include "verifier/engine/rules.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
std::vector<Finding> findings(const Case& c, FindingKind kind, Scope scope) {
  std::vector<Finding> out;
  for (const Rule& rule : rules()) {
    if (rule.kind != kind || rule.scope != scope) continue;
    if (auto f = rule.applies(c)) {
      f->ruleId = rule.id;
      f->kind = rule.kind;
      if (f->fix.empty()) f->fix = rule.fix;
      out.push_back(std::move(*f));
    }
  }
  return out;
}

namespace {

// Said when NCCL is off RDMA and no rule explains it: what was looked at, and what to run.
Finding unknownCause(const Case& c) {
  Finding f{
      .ruleId = "unknown-cause",
      .kind = FindingKind::MissingCondition,
      .what = "NCCL did not take RDMA, and nothing that could be checked from here explains it.",
      .fix =
          "Run once with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV and read the NET/IB "
          "lines (`rdmaguard verify` reads the log); run `ibv_devinfo` in the job's own "
          "container."};
  const auto checked = [&f](std::string fact, std::string source, Certainty certainty) {
    f.evidence.push_back({std::move(fact), std::move(source), certainty});
  };
  if (c.seen.ibDevices == kIbDevicesUninitialised)
    checked(
        "NCCL's IB transport was never initialised: it was switched off, not wanted (a program "
        "can ask for another by ncclConfig_t.netName), or NCCL could not load libibverbs.",
        "devices() of NCCL's IB transport", Certainty::Observed);
  if (c.seen.ibDevices == 0)
    checked("NCCL's IB transport started and found no device it could use.",
            "devices() of NCCL's IB transport", Certainty::Observed);
  if (const auto usable = c.usablePorts(); !usable.empty() && c.node.devicesKnown)
    checked(cat("Seen from here NCCL could use ", listed(deviceNames(usable)), "."),
            "/sys/class/infiniband, /dev/infiniband", Certainty::Inferred);
  checked("Neither NCCL_NET nor NCCL_IB_DISABLE nor NCCL_IB_HCA is in the way.",
          "environment and conf files", Certainty::Told);
  if (!c.node.devicesKnown)
    checked("Whether there are RDMA devices is not known.", "/sys/class/infiniband",
            Certainty::Inferred);
  if (c.node.loader.state == VerbsLoader::State::NotTried)
    checked("Whether libibverbs can be loaded was not tried.", "the loader", Certainty::Inferred);
  if (const Setting* env = c.setting("NCCL_ENV_PLUGIN"))
    checked(
        cat("An environment plugin (", env->value, ") may give NCCL other settings than these."),
        env->source, Certainty::Told);
  for (const Evidence& note : c.node.notes) f.evidence.push_back(note);
  return f;
}

std::vector<Finding> missingConditions(const Case& c) {
  if (!c.mayBeOff()) {
    // FI_PROVIDER may put a plugin of no known kind on TCP.
    if (c.oneNode() || c.seen.transport != Transport::External) return {};
    return findings(c, FindingKind::MissingCondition);
  }
  std::vector<Finding> missing = findings(c, FindingKind::MissingCondition);
  if (missing.empty() && c.seen.transport != Transport::Unknown) missing.push_back(unknownCause(c));
  return missing;
}

// The communicator is known to need the network: NCCL 2.23 to 2.26 do not tell a profiler how
// many nodes there are, and a job on one node must not be called off RDMA.
bool needsNetwork(const Selection& s) {
  const auto connected = [](const DeviceInUse& d) { return d.connected; };
  return s.nNodes > 1 || s.socketUsed || s.ibUsed || s.ranksOffRdma > 0 ||
         std::any_of(s.devices.begin(), s.devices.end(), connected);
}

Engaged offRdma(const Selection& s) {
  return needsNetwork(s) ? Engaged::No : Engaged::Unknown;
}

Engaged engagedOf(const Case& c, const std::vector<Finding>& missing) {
  if (c.oneNode()) return Engaged::NotNeeded;
  const Selection& s = c.seen;
  const bool mixedRanks = s.ranksOffRdma > 0 && s.ranksOffRdma < s.ranksSeen;
  switch (s.transport) {
    case Transport::IB:
    case Transport::RoCE:
    case Transport::Mixed:
      return s.ranksOffRdma > 0 ? Engaged::Partial : Engaged::Yes;
    case Transport::Socket:
      return mixedRanks ? Engaged::Partial : offRdma(s);
    case Transport::External:
      if (!missing.empty()) return offRdma(s);
      switch (externalKind(s.externalName)) {
        case ExternalKind::Rdma:
          return Engaged::Yes;
        case ExternalKind::NotRdma:
          return offRdma(s);
        case ExternalKind::Unknown:
          break;
      }
      return Engaged::Unknown;
    case Transport::None:
    case Transport::Unknown:
      break;
  }
  return Engaged::Unknown;
}

// The link layer under a transport: an external plugin's by its devices, if it shows them.
Transport netOf(const Selection& s) {
  if (s.transport != Transport::External) return s.transport;
  bool ib = false, ethernet = false;
  for (const DeviceInUse& d : s.devices) {
    ib = ib || d.linkLayer == LinkLayer::InfiniBand;
    ethernet = ethernet || d.linkLayer == LinkLayer::Ethernet;
  }
  if (ib && ethernet) return Transport::Mixed;
  if (ib) return Transport::IB;
  return ethernet ? Transport::RoCE : Transport::External;
}

std::string transportWords(const Verdict& v) {
  if (v.transport == Transport::External) return cat("the net plugin ", v.externalName);
  if (v.transport == Transport::Mixed) return "InfiniBand and RoCE ports at once";
  return std::string(name(v.transport));
}

void judgeRequirement(const Case& c, const Requirement& wanted, Verdict& v) {
  const auto violate = [&v](std::string_view sentence) {
    v.requirement = Met::Violated;
    if (!v.violation.empty()) v.violation += ' ';
    v.violation += sentence;
  };
  switch (v.engaged) {
    case Engaged::NotNeeded:
      v.requirement = Met::Yes;
      return;
    case Engaged::Unknown:
      return;
    case Engaged::No:
      return violate(cat("RDMA is required and the traffic goes over ", transportWords(v), "."));
    case Engaged::Partial:
      return violate(cat("RDMA is required and ", std::to_string(c.seen.ranksOffRdma), " of ",
                         counted(static_cast<std::size_t>(c.seen.ranksSeen), "rank"),
                         " are not on it."));
    case Engaged::Yes:
      break;
  }
  bool known = true;
  if (wanted.net != Requirement::Net::Rdma) {
    const Transport want = wanted.net == Requirement::Net::IB ? Transport::IB : Transport::RoCE;
    const Transport have = netOf(c.seen);
    if (have == Transport::External)
      known = false;
    else if (have != want)
      violate(cat(name(want), " is required and NCCL uses ", transportWords(v), "."));
  }
  if (wanted.gdr && v.gdr == Gdr::None)
    violate("GPUDirect RDMA is required and GPU memory is staged through the host.");
  if (wanted.gdr && v.gdr == Gdr::Unknown) known = false;
  if (v.requirement != Met::Violated && known) v.requirement = Met::Yes;
}

void addEvidence(const Case& c, Verdict& v) {
  const Selection& s = c.seen;
  if (s.nNodes == 1 || s.nRanks == 1)
    v.evidence.push_back(
        {s.nRanks == 1 ? "The communicator has one rank." : "All ranks are on one node.",
         "communicator init", Certainty::Told});
  if (s.transport != Transport::Unknown && !s.transportSource.empty())
    v.evidence.push_back(
        {cat(s.planned ? "NCCL would choose " : "NCCL chose ",
             s.transport == Transport::External ? s.externalName : std::string(name(s.transport)),
             "."),
         s.transportSource, s.certainty});
  if (s.ibDevices > 0)
    v.evidence.push_back({cat("NCCL's IB transport has ",
                              counted(static_cast<std::size_t>(s.ibDevices), "device"), "."),
                          "devices() of NCCL's IB transport", Certainty::Observed});
  else if (s.ibDevices == 0)
    v.evidence.push_back({"NCCL's IB transport found no device.",
                          "devices() of NCCL's IB transport", Certainty::Observed});
  else if (s.ibDevices == kIbDevicesUninitialised)
    v.evidence.push_back({"NCCL's IB transport is not initialised.",
                          "devices() of NCCL's IB transport", Certainty::Observed});
  if (s.ibUsed)
    v.evidence.push_back({"A connection was made through NCCL's IB transport.",
                          "listen/connect of NCCL's IB transport", Certainty::Observed});
  if (s.socketUsed)
    v.evidence.push_back({"A connection was made through NCCL's Socket transport.",
                          "listen/connect of NCCL's Socket transport", Certainty::Observed});
  if (s.gdr == Gdr::DmaBuf || s.gdr == Gdr::Peermem)
    v.evidence.push_back({cat("GPU memory is registered with the HCA through ", name(s.gdr), "."),
                          "regMr of NCCL's IB transport", Certainty::Observed});
}

}  // namespace

std::vector<Finding> explainFallback(const NodeFacts& node, const Selection& seen) noexcept {
  try {
    return missingConditions(Case(node, seen));
  } catch (const std::exception&) {
    return {};
  }
}

Verdict judge(const NodeFacts& node, const Selection& seen, const Requirement& wanted) noexcept {
  Verdict v;
  try {
    const Case c(node, seen);
    v.missing = missingConditions(c);
    v.engaged = engagedOf(c, v.missing);
    v.transport = v.engaged == Engaged::NotNeeded ? Transport::None : seen.transport;
    v.externalName = seen.externalName;
    v.gdr = seen.gdr;
    const bool carriesNothing = v.engaged == Engaged::NotNeeded || v.engaged == Engaged::No;
    v.gdrState = carriesNothing ? GdrState::NotApplicable : stateOf(seen.gdr);
    if (v.engaged != Engaged::NotNeeded) {
      v.degraded = findings(c, FindingKind::DegradedSignal);
      v.notes = findings(c, FindingKind::Note);
    }
    judgeRequirement(c, wanted, v);
    addEvidence(c, v);
  } catch (const std::exception&) {
    // Out of memory: what was established so far stands.
  }
  return v;
}

}  // namespace rdmaguard::engine
