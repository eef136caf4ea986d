// Rules about the settings that specs and scripts give a job. NCCL_IB_DISABLE, NCCL_NET and the
// plugins have rows of their own, which judge_findings.h asks for each container. Called through
// the table of rules_spec.h.
#include <algorithm>
#include <array>
#include <map>

#include "verifier/engine/hca_filter.h"
#include "verifier/engine/judge_log.h"
#include "verifier/engine/rules_spec.h"
#include "verifier/engine/rules_spec_look.h"

namespace rdmaguard::engine {
namespace {

// What the role runs on is not NCCL's own IB transport, or its devices are another's to name.
bool setsOwnDevices(const RoleView& r) {
  if (!r.plugin.empty()) return true;
  switch (r.provision) {
    case Provision::Efa:
    case Provision::Plugin:
    case Provision::Platform:
    case Provision::Webhook:
    case Provision::Unseen:
      return true;
    default:
      return false;
  }
}

bool mpiManaged(const RoleView& r) {
  return r.role->kind == "MPIJob";
}

MaybeFinding unset(const Case& c, std::string_view name, std::string_view value,
                   std::string_view why) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string where;
  auto found = subjectsOf(view.needing(), [&](const RoleView& r) -> std::optional<SpecSubject> {
    if (setsOwnDevices(r) || mpiManaged(r) || r.settingsUnseen || r.setting(name))
      return std::nullopt;
    const SpecContainer& container = r.container();
    if (where.empty()) where = cat("to env of container ", container.name);
    return SpecSubject{r.where(), cat("No ", name, " is set here."),
                       container.envAt ? container.envAt : container.at};
  });
  if (view.gpuRoles.empty() && view.otherRoles.empty())
    for (const ScriptView& s : scriptsOf(*job)) {
      if (!s.script->slurm || !s.manyNodes || s.otherFabric || !s.gpus || s.setting(name) ||
          s.script->shell.sourcesOther)
        continue;
      if (where.empty()) where = "to the script, before srun";
      found.push_back({"the batch script", cat("No ", name, " is set in it."), s.script->at});
    }
  const std::string fix = where.starts_with("to the script")
                              ? cat("Add ", where, ": export ", name, "=", value)
                              : cat("Add ", where, ": {name: ", name, ", value: ", value, "}");
  return aboutAll(*job, found, cat("does not set ", name, ": ", why),
                  cat("do not set ", name, ": ", why),
                  cat(fix, " (on CoreWeave; elsewhere the names of this cluster's devices)."));
}

// Names that network interfaces have and RDMA devices do not.
bool namesInterface(std::string_view entry) {
  for (const std::string_view prefix : {"eth", "ens", "eno", "enp", "net", "bond", "lo", "wlan"}) {
    if (!entry.starts_with(prefix)) continue;
    const std::string_view rest = entry.substr(prefix.size());
    return rest.empty() || (rest[0] >= '0' && rest[0] <= '9');
  }
  return false;
}

// Why a value can match no device at all; empty: it may match. Families of device names as
// rdma-core's rename rules and drivers make them.
std::string matchesNothing(std::string_view value) {
  static constexpr std::array<std::string_view, 9> kFamilies{
      "mlx5_", "ibp", "mlx4_", "bnxt_re", "rocep", "irdma", "hfi1_", "erdma_", "ionic_"};
  const NameFilter filter = parseNameFilter(value, kMaxHcaEntries);
  if (filter.entries.empty()) return {};
  if (filter.exclude && !filter.exact) {
    for (const NameFilter::Entry& e : filter.entries) {
      const bool family = std::any_of(kFamilies.begin(), kFamilies.end(), [&](std::string_view f) {
        return !e.prefix.empty() && f.starts_with(e.prefix);
      });
      if (family && e.port < 0)
        return cat("the leading ^ excludes every device whose name begins with ", e.prefix,
                   ", which is all of a node's compute HCAs");
    }
    return {};
  }
  if (filter.exclude) return {};
  const auto hopeless = [&](const NameFilter::Entry& e) {
    if (e.prefix.find_first_of(" \t\"'") != std::string::npos) return true;
    if (namesInterface(e.prefix)) return true;
    // A whole name has a number.
    return filter.exact && !e.prefix.empty() &&
           e.prefix.find_first_of("0123456789") == std::string::npos;
  };
  if (!std::all_of(filter.entries.begin(), filter.entries.end(), hopeless)) return {};
  const std::string& first = filter.entries.front().prefix;
  if (first.find_first_of(" \t\"'") != std::string::npos)
    return "blanks and quotes are part of a name for NCCL, and no device has them";
  if (namesInterface(first)) return cat(first, " is a network interface's name, not an HCA's");
  return cat("= asks for a device whose whole name is ", first);
}

// No device of the listings in this input is taken.
bool takesNoListed(const JobFacts& job, std::string_view value) {
  const NameFilter filter = parseNameFilter(value, kMaxHcaEntries);
  bool any = false;
  for (const PortListing& l : job.ports.listings)
    for (const RdmaDevice& d : l.devices) {
      if (d.name.empty()) continue;
      any = true;
      if (d.ports.empty() && filter.takes(d.name, -1)) return false;
      for (const RdmaPort& p : d.ports)
        if (filter.takes(d.name, p.number)) return false;
    }
  return any;
}

// What to set instead: by the devices listed in this input, where there are any.
std::string hcaFix(const JobFacts& job) {
  std::vector<std::string> names;
  for (const PortListing& l : job.ports.listings)
    for (const RdmaDevice& d : l.devices)
      if (!d.name.empty() && std::find(names.begin(), names.end(), d.name) == names.end())
        names.push_back(d.name);
  if (names.empty())
    return "Set NCCL_IB_HCA=ibp (on CoreWeave; elsewhere a prefix of the names that `ibv_devices` "
           "shows in the container).";
  return cat("Set NCCL_IB_HCA=", hcaSettingFor(names, NodeFacts()),
             ", which takes the devices listed in this input, if those are the container's.");
}

}  // namespace

MaybeFinding hcaUnset(const Case& c) {
  return unset(c, "NCCL_IB_HCA", "ibp",
               "NCCL then takes every HCA it finds, slow and management ones too.");
}

MaybeFinding ifnameUnset(const Case& c) {
  return unset(c, "NCCL_SOCKET_IFNAME", "eth0",
               "NCCL then guesses the interface for its bootstrap, and a wrong guess hangs or "
               "fails the start.");
}

MaybeFinding hcaMatchesNothing(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  // A listing may come from a node where the devices have other names than in the pod.
  const bool works = c.log && c.log->engaged == Engaged::Yes;
  std::string why;
  std::vector<SpecSubject> found;
  const auto take = [&](const std::string& who, const SettingView* s) {
    if (!s || !s->known) return;
    std::string reason = matchesNothing(s->value);
    if (reason.empty() && !works && takesNoListed(*job, s->value))
      reason = "none of the devices listed in this input is taken";
    if (reason.empty()) return;
    if (why.empty()) why = reason;
    found.push_back({who, cat("NCCL_IB_HCA is ", s->value, ": ", reason, "."), s->setting->at});
  };
  for (const RoleView& r : view.needing())
    if (r.plugin.empty()) take(r.where(), r.setting("NCCL_IB_HCA"));
  for (const ScriptView& s : scriptsOf(*job))
    if (!s.oneNode) take("the script", s.setting("NCCL_IB_HCA"));
  return aboutAll(*job, found, cat("sets an NCCL_IB_HCA that leaves no HCA: ", why, "."),
                  cat("set an NCCL_IB_HCA that leaves no HCA: ", why, "."), hcaFix(*job),
                  Certainty::Inferred);
}

MaybeFinding hcaSiteSpecific(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  const auto take = [&](const std::string& who, const SettingView* s) {
    if (!s || !s->known || s->value.empty() || s->value == "ibp" ||
        !matchesNothing(s->value).empty())
      return;
    found.push_back({who, cat("NCCL_IB_HCA is ", s->value, "."), s->setting->at});
  };
  for (const RoleView& r : view.gpuRoles) take(r.where(), r.setting("NCCL_IB_HCA"));
  for (const ScriptView& s : scriptsOf(*job)) take("the script", s.setting("NCCL_IB_HCA"));
  return aboutAll(*job, found,
                  "names its HCAs as one site has them: right only where the devices are called "
                  "so (CoreWeave's are ibp...).",
                  "name their HCAs as one site has them: right only where the devices are called "
                  "so (CoreWeave's are ibp...).",
                  "Compare with `ibv_devices` in the container.");
}

MaybeFinding envFromConfigMap(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  std::vector<SpecSubject> found;
  for (const SpecRole& role : job->specs.roles)
    for (const SpecContainer& container : role.containers) {
      const std::string who = cat("container ", container.name);
      for (const SpecEnvSource& s : container.envFrom)
        if (found.size() < kMaxSpecEvidence)
          found.push_back(
              {who,
               cat("Variables come from the ", s.secret ? "Secret " : "ConfigMap ", s.name, "."),
               s.at});
      for (const SpecSetting& s : container.env)
        if (!s.configMap.empty() && found.size() < kMaxSpecEvidence)
          found.push_back({who, cat(s.name, " comes from the ConfigMap ", s.configMap, "."), s.at});
    }
  return aboutAll(*job, found,
                  "takes variables from another object: what is not in this input is not judged.",
                  "take variables from another object: what is not in this input is not judged.",
                  "Give the ConfigMap too (`kubectl get configmap NAME -o yaml`).");
}

MaybeFinding settingsSourced(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  std::vector<SpecSubject> found;
  for (const SpecRole& role : job->specs.roles)
    for (const SpecContainer& container : role.containers)
      if (container.command.sourcesOther && found.size() < kMaxSpecEvidence)
        found.push_back({cat("container ", container.name), "A file is sourced here.",
                         container.command.sourcesOther});
  for (const BatchScript& s : job->specs.scripts)
    if (s.shell.sourcesOther && found.size() < kMaxSpecEvidence)
      found.push_back({"the script", "A file is sourced here.", s.shell.sourcesOther});
  return aboutAll(*job, found, "sources a file: what it sets is not in this input.",
                  "source files: what they set is not in this input.",
                  "Give the file too, or the output of `env` in the job.");
}

MaybeFinding envDiffersBetweenRoles(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto& roles = view.needing();
  if (roles.size() < 2) return std::nullopt;
  const auto counts = [](const std::string& name) {
    return name.starts_with("NCCL_") && !name.starts_with("NCCL_DEBUG");
  };
  const RoleView& first = roles.front();
  for (std::size_t i = 1; i < roles.size(); ++i) {
    const RoleView& other = roles[i];
    if (first.settingsUnseen || other.settingsUnseen) continue;
    for (const auto& [a, b] : {std::pair(&first, &other), std::pair(&other, &first)})
      for (const SettingView& s : a->settings) {
        if (!counts(s.name)) continue;
        const SettingView* there = b->setting(s.name);
        if (there && (!there->known || !s.known || there->value == s.value)) continue;
        const SpecContainer& container = b->container();
        return Finding{
            .what = cat(s.name, " differs between ", a->where(), " and ", b->where(),
                        ": ranks that are set up differently choose differently."),
            .evidence = {{cat(s.name, " is ", s.value, "."), job->source(s.setting->at),
                          Certainty::Told},
                         {there ? cat(s.name, " is ", there->value, ".")
                                : cat("No ", s.name, " here."),
                          job->source(there ? there->setting->at
                                            : (container.envAt ? container.envAt : container.at)),
                          Certainty::Told}},
            .fix = "Give all roles the same NCCL variables.",
            .certainty = Certainty::Told};
      }
  }
  return std::nullopt;
}

MaybeFinding mpiOperatorManages(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  for (const SpecDocument& d : job->specs.documents)
    if (d.kind == "MPIJob")
      return Finding{
          .what = cat("The MPI Operator sees to NCCL_IB_HCA and NCCL_SOCKET_IFNAME of ",
                      d.name.empty() ? "an MPIJob" : d.name,
                      " where the cluster has it set up so: they are not demanded here."),
          .evidence = {{"The object is an MPIJob.", job->source(d.at), Certainty::Told}},
          .certainty = Certainty::Inferred};
  return std::nullopt;
}

MaybeFinding smallJobSpcx(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  constexpr double kWorthIt = 10000;
  const SpecView view(*job);
  double gpus = 0;
  for (const RoleView& r : view.gpuRoles) gpus += r.gpus * r.role->pods.value_or(1);
  std::vector<SpecSubject> found;
  const auto take = [&](const std::string& who, const SettingView* s) {
    if (s && s->known && holdsWord(s->value, "spcx"))
      found.push_back({who, cat("NCCL_NET_PLUGIN is ", s->value, "."), s->setting->at});
  };
  if (gpus < kWorthIt)
    for (const RoleView& r : view.gpuRoles) take(r.where(), r.setting("NCCL_NET_PLUGIN"));
  if (view.gpuRoles.empty())
    for (const ScriptView& s : scriptsOf(*job)) take("the script", s.setting("NCCL_NET_PLUGIN"));
  return aboutAll(*job, found, "uses the Spectrum-X plugin, which pays from about 10,000 GPUs on.",
                  "use the Spectrum-X plugin, which pays from about 10,000 GPUs on.",
                  "Set NCCL_NET_PLUGIN=none for smaller jobs.");
}

}  // namespace rdmaguard::engine
