// See rules_spec.h. The rows' predicates are in rules_spec_*.cc; here is what specs alone come to.
#include "verifier/engine/rules_spec.h"

#include <algorithm>

#include "verifier/engine/judge_job.h"
#include "verifier/engine/rules_spec_look.h"
#include "verifier/engine/settings.h"

namespace rdmaguard::engine {
namespace {

constexpr int kGood = 0;
constexpr int kConditionMissing = 1;
constexpr int kNotEngaged = 2;

/// What one role's processes would end up with.
enum class Standing : std::uint8_t { Ready, CannotTell, Off, Refused };

Standing standingOf(const RoleView& r, const SpecFacts& specs) {
  if (r.provision == Provision::Refused) return Standing::Refused;
  if (offSetting(r)) return Standing::Off;
  switch (r.provision) {
    case Provision::OtherContainer:
    case Provision::WithoutPrivilege:
    case Provision::PolicyNotRdma:
    case Provision::Zero:
    case Provision::Absent:
      return Standing::Off;
    case Provision::UnknownKey:
    case Provision::Placeholder:
    case Provision::UnknownClaim:
    case Provision::Webhook:
    case Provision::NetworkMayCarry:
    case Provision::PrivilegedOnly:
    case Provision::Unseen:
      return Standing::CannotTell;
    default:
      break;
  }
  // Rails of GB300 nodes are seen through Multus alone.
  if (r.provision == Provision::Resource && onGb300Rails(r) && r.role->networks.empty() &&
      !r.role->hostNetwork)
    return Standing::Off;
  const SpecDocument* d =
      r.role->document < specs.documents.size() ? &specs.documents[r.role->document] : nullptr;
  return d && (d->opaque || d->fragment) ? Standing::CannotTell : Standing::Ready;
}

bool conditionMissing(const JobFacts& job) {
  const NodeFacts nothing;
  const Selection unknown;
  const Case c(nothing, unknown, &job);
  return std::any_of(kSpecRules.begin(), kSpecRules.end(), [&](const Rule& rule) {
    return rule.kind == FindingKind::MissingCondition && rule.applies(c).has_value();
  });
}

std::string factOf(const RoleView& r, Standing s) {
  switch (s) {
    case Standing::Ready:
      return cat(r.where(), " gets RDMA devices",
                 r.what.empty() ? std::string() : cat(" by ", r.what), ".");
    case Standing::CannotTell:
      return cat("Whether ", r.where(), " gets RDMA devices cannot be told",
                 r.what.empty() ? std::string() : cat(" (", r.what, ")"), ".");
    case Standing::Off:
      break;
    case Standing::Refused:
      return cat(r.where(), " is refused by the API server.");
  }
  return cat(r.where(), " has no way to RDMA.");
}

Outlook ofRoles(const SpecView& view) {
  const JobFacts& job = *view.job;
  Outlook out;
  if (view.singleNode) {
    out.engaged = Engaged::NotNeeded;
    out.transport = Transport::None;
    out.exitCode = kGood;
    out.evidence.push_back(
        {"One pod is the whole job.", job.source(view.singleNodeAt), Certainty::Told});
    return out;
  }
  std::size_t unknown = 0, off = 0, refused = 0;
  std::string plugin;
  bool samePlugin = true;
  for (const RoleView& r : view.gpuRoles) {
    const Standing s = standingOf(r, job.specs);
    unknown += s == Standing::CannotTell ? 1 : 0;
    off += s == Standing::Off ? 1 : 0;
    refused += s == Standing::Refused ? 1 : 0;
    if (&r == &view.gpuRoles.front()) plugin = r.plugin;
    samePlugin = samePlugin && r.plugin == plugin;
    if (out.evidence.size() < kMaxSpecEvidence)
      out.evidence.push_back({factOf(r, s), job.source(r.at), Certainty::Told});
  }
  if (refused > 0) {
    out.engaged = Engaged::No;
    out.transport = Transport::None;
    out.exitCode = kNotEngaged;
    out.sentence =
        "RDMA cannot engage as this stands: the API server refuses the spec, so the job "
        "does not start.";
    return out;
  }
  if (off == view.gpuRoles.size()) {
    out.engaged = Engaged::No;
    out.transport = Transport::Socket;
    out.exitCode = kNotEngaged;
    return out;
  }
  if (off > 0) {
    out.engaged = Engaged::Partial;
    out.transport = Transport::Mixed;
    out.exitCode = kNotEngaged;
    out.sentence =
        "Some roles of this job would be on RDMA and others on TCP. The whole job hangs, "
        "fails or runs at the pace of its slowest part.";
    return out;
  }
  if (unknown > 0) return out;
  if (samePlugin && !plugin.empty()) {
    out.transport = Transport::External;
    out.externalName = plugin;
  }
  out.exitCode = conditionMissing(job) ? kConditionMissing : kGood;
  return out;
}

bool scriptOff(const ScriptView& s) {
  const auto is = [&](std::string_view name) -> const SettingView* {
    const SettingView* v = s.setting(name);
    return v && v->known ? v : nullptr;
  };
  if (s.otherFabric) return false;
  if (const SettingView* v = is("NCCL_IB_DISABLE"); v && switchesOff(v->value)) return true;
  const SettingView* net = is("NCCL_NET");
  return net && sameWord(net->value, "Socket");
}

Outlook ofScripts(const JobFacts& job, const std::vector<ScriptView>& scripts) {
  Outlook out;
  const auto all = [&](auto holds) { return std::all_of(scripts.begin(), scripts.end(), holds); };
  for (const ScriptView& s : scripts)
    if (out.evidence.size() < kMaxSpecEvidence)
      out.evidence.push_back({s.script->slurm ? "A Slurm job: its nodes bring their devices."
                                              : "A script that starts a job.",
                              job.source(s.script->at), Certainty::Told});
  if (all([](const ScriptView& s) { return s.oneNode; })) {
    out.engaged = Engaged::NotNeeded;
    out.transport = Transport::None;
    out.exitCode = kGood;
    return out;
  }
  if (std::any_of(scripts.begin(), scripts.end(), scriptOff)) {
    out.engaged = Engaged::No;
    out.transport = Transport::Socket;
    out.exitCode = kNotEngaged;
    return out;
  }
  out.exitCode = conditionMissing(job) ? kConditionMissing : kGood;
  return out;
}

}  // namespace

std::optional<Outlook> specOutlook(const JobFacts& job) {
  const SpecFacts& specs = job.specs;
  if (!specs.any) return std::nullopt;
  const SpecView view(job);
  if (!view.gpuRoles.empty()) return ofRoles(view);
  if (!view.otherRoles.empty()) {
    Outlook out;
    out.evidence.push_back(
        {"No container asks for a GPU.", job.source(view.otherRoles.front()->at), Certainty::Told});
    const bool whole = std::none_of(
        specs.documents.begin(), specs.documents.end(),
        [](const SpecDocument& d) { return d.holdsPod && (d.opaque || d.fragment || d.broken); });
    if (!whole) return out;
    out.engaged = Engaged::NotNeeded;
    out.transport = Transport::None;
    out.exitCode = kGood;
    out.sentence = "No network is needed: no container asks for a GPU.";
    return out;
  }
  const std::vector<ScriptView> scripts = scriptsOf(job);
  if (!scripts.empty()) return ofScripts(job, scripts);
  Outlook out;
  if (specs.sunk) out.exitCode = kGood;
  return out;
}

}  // namespace rdmaguard::engine
