// Rules about RoCE rails of GB300 nodes (Multus networks, IPC_LOCK, address family, traffic class)
// and about UCX's settings, which never decide NCCL's network. Called through the table of
// rules_spec.h. Source of the set: CoreWeave's documentation of GB300 RoCE.
#include <algorithm>
#include <array>
#include <set>

#include "verifier/engine/rules_spec.h"
#include "verifier/engine/rules_spec_look.h"

namespace rdmaguard::engine {
namespace {

bool demandsRails(const RoleView& r) {
  return onGb300Rails(r) && r.provision != Provision::Sunk && r.provision != Provision::Unseen &&
         r.provision != Provision::Webhook && r.plugin.empty();
}

std::set<std::string_view> distinctNetworks(const SpecRole& role) {
  std::set<std::string_view> names;
  for (const SpecName& n : role.networks) names.insert(n.name);
  return names;
}

std::string_view ownName(std::string_view network) {
  const auto slash = network.find('/');
  return slash == std::string_view::npos ? network : network.substr(slash + 1);
}

// Rails of a node that the list does not name: ibs0p0 ... ibs3p3.
std::string missingRails(const SpecRole& role) {
  std::vector<std::string> missing;
  for (int nic = 0; nic < 4; ++nic)
    for (int port = 0; port < 4; ++port) {
      const std::string rail =
          cat("ibs", std::to_string(nic), "p", std::to_string(port), "-macvlan");
      const bool there = std::any_of(role.networks.begin(), role.networks.end(),
                                     [&](const SpecName& n) { return ownName(n.name) == rail; });
      if (!there) missing.push_back(rail);
    }
  return missing.empty() ? std::string() : listed(missing, 16);
}

bool locksMemory(const SpecContainer& c) {
  return c.privileged ||
         std::any_of(c.capabilities.begin(), c.capabilities.end(),
                     [](const SpecName& n) { return n.name == "IPC_LOCK" || n.name == "ALL"; });
}

// A setting of GB300 jobs, over roles and scripts. `holds(setting)`: it is as it should not be.
template <typename Holds>
MaybeFinding gb300Setting(const Case& c, std::string_view name, const Holds& holds,
                          std::string_view one, std::string_view many, const std::string& value) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string where;
  const auto fact = [&](const SettingView* s) {
    return s ? cat(name, " is ", s->value, ".") : cat("No ", name, " is set here.");
  };
  auto found = subjectsOf(view.needing(), [&](const RoleView& r) -> std::optional<SpecSubject> {
    if (!onGb300Rails(r) || r.provision == Provision::Unseen || !r.plugin.empty())
      return std::nullopt;
    const SettingView* s = r.setting(name);
    if ((!s && r.settingsUnseen) || (s && !s->known) || !holds(s)) return std::nullopt;
    const SpecContainer& container = r.container();
    if (where.empty())
      where = cat(s ? "Change it in" : "Add to", " env of container ", container.name,
                  ": {name: ", name, ", value: \"", value, "\"}.");
    return SpecSubject{r.where(), fact(s),
                       s ? s->setting->at : (container.envAt ? container.envAt : container.at)};
  });
  if (view.gpuRoles.empty())
    for (const ScriptView& s : scriptsOf(*job)) {
      const SettingView* set = s.setting(name);
      if (!s.gb300 || s.oneNode || (!set && s.script->shell.sourcesOther) || (set && !set->known) ||
          !holds(set))
        continue;
      if (where.empty()) where = cat("Write in the script: export ", name, "=", value);
      found.push_back({"the script", fact(set), set ? set->setting->at : s.script->at});
    }
  return aboutAll(*job, found, one, many, where);
}

std::vector<std::string_view> items(std::string_view list) {
  std::vector<std::string_view> out;
  if (list.starts_with('^')) return out;
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (const std::string_view one = list.substr(0, comma); !one.empty()) out.push_back(one);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return out;
}

bool anyOf(const std::vector<std::string_view>& all, std::initializer_list<std::string_view> some) {
  return std::any_of(all.begin(), all.end(), [&](std::string_view item) {
    return std::find(some.begin(), some.end(), item) != some.end();
  });
}

// UCX's own names: *_verbs and *_v drive a device through plain verbs, *_mlx5 and *_x directly.
bool verbsOnly(std::string_view tls) {
  const auto all = items(tls);
  return anyOf(all, {"rc_verbs", "rc_v", "ud_verbs", "ud_v"}) &&
         !anyOf(all, {"rc_mlx5", "rc_x", "rc", "dc_mlx5", "dc_x", "dc", "ud_mlx5", "ud_x", "ud",
                      "ib", "all"});
}

bool tcpOnly(std::string_view tls) {
  const auto all = items(tls);
  return anyOf(all, {"tcp"}) &&
         !anyOf(all, {"rc_mlx5", "rc_x", "rc", "dc_mlx5", "dc_x", "dc", "ud_mlx5", "ud_x", "ud",
                      "ib", "all", "rc_verbs", "rc_v", "ud_verbs", "ud_v"});
}

}  // namespace

MaybeFinding multusMissing(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string fix;
  const auto found =
      subjectsOf(view.needing(), [&](const RoleView& r) -> std::optional<SpecSubject> {
        if (!demandsRails(r) || r.role->hostNetwork) return std::nullopt;
        const std::size_t have = distinctNetworks(*r.role).size();
        if (have >= kGb300Networks) return std::nullopt;
        const std::string missing = missingRails(*r.role);
        if (fix.empty())
          fix = cat(
              "Add to the annotation k8s.v1.cni.cncf.io/networks of the pod template: ", missing,
              " (each as {\"name\": \"ibs0p0-macvlan\", \"namespace\": \"cw-multus\"}; "
              "`kubectl get network-attachment-definitions -A` shows this cluster's).");
        return SpecSubject{r.where(),
                           have == 0 ? std::string("No Multus network is named.")
                                     : cat(std::to_string(have), " different networks are named; ",
                                           missing, " missing."),
                           r.role->networksAt ? r.role->networksAt : r.role->at};
      });
  return aboutAll(*job, found,
                  "lacks Multus networks: a GB300 node has 16 RoCE rails, and a pod sees those "
                  "that its annotation names.",
                  "lack Multus networks: a GB300 node has 16 RoCE rails, and a pod sees those that "
                  "its annotation names.",
                  std::move(fix));
}

MaybeFinding multusDuplicate(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  for (const RoleView& r : view.gpuRoles) {
    std::set<std::string_view> seen;
    for (const SpecName& n : r.role->networks)
      if (!seen.insert(n.name).second) {
        // One definition over a pool of virtual functions is named once for each of them.
        found.push_back({r.where(), cat(n.name, " is named again."), n.at});
        break;
      }
  }
  return aboutAll(*job, found, "names a Multus network twice: it counts once as a rail.",
                  "name a Multus network twice: it counts once as a rail.",
                  "Name each rail once, unless the network hands out a function of a pool.");
}

MaybeFinding gb300MayBeRoce(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto found =
      subjectsOf(view.needing(), [](const RoleView& r) -> std::optional<SpecSubject> {
        if (!isGb300(r) || onGb300Rails(r) || r.provision != Provision::Resource ||
            r.role->hostNetwork || !r.plugin.empty())
          return std::nullopt;
        return SpecSubject{r.where(), "It asks for GB300 nodes and sets nothing that is RoCE's.",
                           r.role->at};
      });
  constexpr std::string_view kWhat =
      "GB300 nodes, which come with InfiniBand or with RoCE rails, and nothing here says which. "
      "InfiniBand needs nothing more; on RoCE NCCL would find no device.";
  return aboutAll(*job, found, cat("asks for ", kWhat), cat("ask for ", kWhat),
                  "Where the rails are RoCE: name the 16 Multus networks, add IPC_LOCK, set "
                  "NCCL_IB_ADDR_FAMILY=AF_INET6 and NCCL_IB_TC=96.");
}

MaybeFinding ipcLockMissing(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string container;
  const auto found =
      subjectsOf(view.needing(), [&](const RoleView& r) -> std::optional<SpecSubject> {
        if (!demandsRails(r) || locksMemory(r.container())) return std::nullopt;
        if (container.empty()) container = r.container().name;
        return SpecSubject{r.where(), "securityContext adds no IPC_LOCK.", r.container().at};
      });
  return aboutAll(*job, found,
                  "may not lock memory without limit: registration of buffers may fail with "
                  "ENOMEM.",
                  "may not lock memory without limit: registration of buffers may fail with "
                  "ENOMEM.",
                  cat("Add to container ", container,
                      ": securityContext: {capabilities: {add: [\"IPC_LOCK\"]}}"));
}

MaybeFinding ipcLockNotSet(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string container;
  const auto found =
      subjectsOf(view.gpuRoles, [&](const RoleView& r) -> std::optional<SpecSubject> {
        const bool asks = r.provision == Provision::Resource || r.provision == Provision::Claim ||
                          r.provision == Provision::Placeholder ||
                          r.provision == Provision::UnknownKey;
        if (!asks || onGb300Rails(r) || locksMemory(r.container())) return std::nullopt;
        if (container.empty()) container = r.container().name;
        return SpecSubject{r.where(), "securityContext adds no IPC_LOCK.", r.container().at};
      });
  return aboutAll(*job, found,
                  "does not add IPC_LOCK: enough where the node's memlock limit is unlimited, else "
                  "registration fails with ENOMEM.",
                  "do not add IPC_LOCK: enough where the node's memlock limit is unlimited, else "
                  "registration fails with ENOMEM.",
                  cat("Add to container ", container,
                      ": securityContext: {capabilities: {add: [\"IPC_LOCK\"]}}"));
}

MaybeFinding roceFamilyUnset(const Case& c) {
  return gb300Setting(
      c, "NCCL_IB_ADDR_FAMILY", [](const SettingView* s) { return !s; },
      "does not set NCCL_IB_ADDR_FAMILY: NCCL looks for an IPv4 GID, and the rails of GB300 nodes "
      "have IPv6 ones.",
      "do not set NCCL_IB_ADDR_FAMILY: NCCL looks for an IPv4 GID, and the rails of GB300 nodes "
      "have IPv6 ones.",
      "AF_INET6");
}

MaybeFinding roceFamilyWrong(const Case& c) {
  return gb300Setting(
      c, "NCCL_IB_ADDR_FAMILY", [](const SettingView* s) { return s && s->value != "AF_INET6"; },
      "sets another NCCL_IB_ADDR_FAMILY than AF_INET6, which the rails of GB300 nodes need.",
      "set another NCCL_IB_ADDR_FAMILY than AF_INET6, which the rails of GB300 nodes need.",
      "AF_INET6");
}

MaybeFinding roceTrafficClassUnset(const Case& c) {
  return gb300Setting(
      c, "NCCL_IB_TC", [](const SettingView* s) { return !s; },
      "does not set NCCL_IB_TC: traffic goes in the switches' default class, without the lossless "
      "queue.",
      "do not set NCCL_IB_TC: traffic goes in the switches' default class, without the lossless "
      "queue.",
      "96");
}

MaybeFinding ucxTlsWrong(const Case& c) {
  return gb300Setting(
      c, "UCX_TLS", [](const SettingView* s) { return s && verbsOnly(s->value); },
      "lets UCX use plain verbs transports, which the rails of GB300 nodes do not carry as UCX "
      "needs it.",
      "let UCX use plain verbs transports, which the rails of GB300 nodes do not carry as UCX "
      "needs "
      "it.",
      "rc_mlx5,ud_mlx5,cuda_copy");
}

MaybeFinding ucxGidIndexWrong(const Case& c) {
  return gb300Setting(
      c, "UCX_IB_GID_INDEX",
      [](const SettingView* s) {
        return s && s->value != "11" && s->value != "auto" && !s->value.empty();
      },
      "gives UCX another GID index than 11, where the rails of GB300 nodes have their RoCE v2 "
      "address.",
      "give UCX another GID index than 11, where the rails of GB300 nodes have their RoCE v2 "
      "address.",
      "11");
}

MaybeFinding ucxTlsTcp(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  const auto take = [&](const std::string& who, const SettingView* s) {
    if (s && s->known && tcpOnly(s->value) && found.size() < kMaxSpecEvidence)
      found.push_back({who, cat("UCX_TLS is ", s->value, "."), s->setting->at});
  };
  for (const RoleView& r : view.gpuRoles) take(r.where(), r.setting("UCX_TLS"));
  for (const ScriptView& s : scriptsOf(*job)) take("the script", s.setting("UCX_TLS"));
  for (const SpecRole* other : view.otherRoles)
    for (const SpecContainer& container : other->containers)
      for (const auto* list : {&container.env, &container.command.settings})
        for (const SpecSetting& s : *list)
          if (s.name == "UCX_TLS" && s.valueKnown && tcpOnly(s.value) &&
              found.size() < kMaxSpecEvidence)
            found.push_back(
                {cat("container ", container.name), cat("UCX_TLS is ", s.value, "."), s.at});
  return aboutAll(*job, found,
                  "keeps UCX (MPI's own messages) on TCP: that says nothing of NCCL, which has "
                  "connections of its own.",
                  "keep UCX (MPI's own messages) on TCP: that says nothing of NCCL, which has "
                  "connections of its own.",
                  "");
}

}  // namespace rdmaguard::engine
