// See spec_view.h.
#include "verifier/engine/spec_view.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

const SpecDocument* documentOf(const SpecRole& role, const SpecFacts& specs) {
  return role.document < specs.documents.size() ? &specs.documents[role.document] : nullptr;
}

bool isGpu(ResourceKind k) {
  return k == ResourceKind::Gpu || k == ResourceKind::SiteGpu;
}

const SpecClaim* podClaim(const SpecRole& role, std::string_view name) {
  for (const SpecClaim& c : role.claims)
    if (c.name == name) return &c;
  return nullptr;
}

const SpecClaimTemplate* claimTemplate(const SpecFacts& specs, const SpecClaim& claim) {
  for (const SpecClaimTemplate& t : specs.claimTemplates)
    if ((!claim.templateName.empty() && t.name == claim.templateName) ||
        (!claim.claimName.empty() && t.name == claim.claimName))
      return &t;
  return nullptr;
}

// What a container's claim stands for.
enum class ClaimKind : std::uint8_t { Rdma, Gpu, Other, Unknown };

ClaimKind claimKind(const SpecFacts& specs, const SpecRole& role, const SpecName& name) {
  const SpecClaim* claim = podClaim(role, name.name);
  if (!claim) return ClaimKind::Unknown;
  if (std::find(specs.computeDomainClaims.begin(), specs.computeDomainClaims.end(),
                claim->templateName) != specs.computeDomainClaims.end())
    return ClaimKind::Other;
  if (const SpecClaimTemplate* t = claimTemplate(specs, *claim)) {
    bool gpu = false;
    for (const SpecName& word : t->words) {
      // NVIDIA's channels between nodes' GPUs (IMEX) are no NIC.
      if (holdsWord(word.name, "compute-domain") || holdsWord(word.name, "imex"))
        return ClaimKind::Other;
      if (saysRdma(word.name)) return ClaimKind::Rdma;
      gpu = gpu || holdsWord(word.name, "gpu") || holdsWord(word.name, "mig.nvidia.com");
    }
    if (gpu) return ClaimKind::Gpu;
    for (const SpecName& word : t->words)
      for (const std::string_view nic : {"nic", "sriov", "netdev", "dranet", "dra.net"})
        if (holdsWord(word.name, nic)) return ClaimKind::Unknown;
    return ClaimKind::Other;
  }
  for (const std::string* n : {&claim->name, &claim->templateName, &claim->claimName}) {
    if (saysRdma(*n)) return ClaimKind::Rdma;
    for (const std::string_view other : {"imex", "compute-domain", "channel"})
      if (holdsWord(*n, other)) return ClaimKind::Other;
    if (holdsWord(*n, "gpu")) return ClaimKind::Gpu;
  }
  return ClaimKind::Unknown;
}

std::vector<const SpecContainer*> gpuContainers(const SpecFacts& specs, RoleView& view) {
  std::vector<const SpecContainer*> found;
  double most = 0;
  for (const SpecContainer& c : view.role->containers) {
    if (c.kind != ContainerKind::Main) continue;
    double gpus = 0;
    bool any = false;
    for (const auto* list : {&c.limits, &c.requests})
      for (const SpecQuantity& q : *list)
        if (isGpu(resourceKind(q.key)) && (!q.known || q.value > 0)) {
          any = true;
          gpus = std::max(gpus, q.known ? q.value : 0);
        }
    for (const SpecName& claim : c.claims)
      if (claimKind(specs, *view.role, claim) == ClaimKind::Gpu) {
        any = true;
        view.gpuByClaim = true;
      }
    if (!any) continue;
    // A monitor may hold one GPU beside the trainer's eight.
    if (gpus > most) found.clear();
    if (gpus >= most) found.push_back(&c);
    most = std::max(most, gpus);
  }
  view.gpus = most;
  return found;
}

std::string_view resourceName(std::string_view key) {
  const auto slash = key.find('/');
  return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

const SpecResourcePolicy* policyOf(const SpecFacts& specs, std::string_view key) {
  for (const SpecResourcePolicy& p : specs.policies)
    if (p.resourceName == key || p.resourceName == resourceName(key)) return &p;
  return nullptr;
}

bool infinibandPath(std::string_view path) {
  return path == "/dev" || path == "/dev/" || path.starts_with("/dev/infiniband");
}

struct Answer {
  Provision provision = Provision::Absent;
  std::string what;
  Place at;
  std::string plugin;
};

const SpecQuantity* quantity(const std::vector<SpecQuantity>& list, std::string_view key) {
  for (const SpecQuantity& q : list)
    if (q.key == key) return &q;
  return nullptr;
}

bool accepted(const SpecFacts& specs, std::string_view key) {
  if (const SpecResourcePolicy* p = policyOf(specs, key)) return p->isRdma.value_or(false);
  const ResourceKind k = resourceKind(key);
  return k == ResourceKind::Rdma || k == ResourceKind::SiteRdma || k == ResourceKind::Efa;
}

// What the resources block of one container gives it; Absent where it names nothing.
Answer byResources(const SpecFacts& specs, const SpecContainer& c) {
  Answer best;
  const auto better = [&](Provision p, const SpecQuantity& q) {
    if (p < best.provision) best = {p, q.key, q.at, ""};
  };
  for (const SpecQuantity& q : c.limits) {
    if (!accepted(specs, q.key)) continue;
    const SpecQuantity* request = quantity(c.requests, q.key);
    if (!q.known)
      better(Provision::Placeholder, q);
    else if (q.value <= 0)
      better(request && request->known && request->value > 0 ? Provision::Refused : Provision::Zero,
             q);
    else if (request && request->known && request->value != q.value)
      // Extended resources cannot be overcommitted: the API server wants both alike.
      better(Provision::Refused, q);
    else if (resourceKind(q.key) == ResourceKind::Efa)
      better(Provision::Efa, q);
    else
      better(Provision::Resource, q);
  }
  for (const SpecQuantity& q : c.requests) {
    if (!accepted(specs, q.key) || quantity(c.limits, q.key)) continue;
    if (!q.known)
      better(Provision::Placeholder, q);
    else
      better(q.value > 0 ? Provision::Refused : Provision::Zero, q);
  }
  const bool efa = resourceKind(best.what) == ResourceKind::Efa;
  if (efa && (best.provision == Provision::Efa || best.provision == Provision::Placeholder))
    best.plugin = "AWS Libfabric";
  return best;
}

Answer byClaims(const SpecFacts& specs, const SpecRole& role, const SpecContainer& c) {
  Answer best;
  for (const SpecName& claim : c.claims) {
    const ClaimKind kind = claimKind(specs, role, claim);
    if (kind == ClaimKind::Rdma) return {Provision::Claim, claim.name, claim.at, ""};
    if (kind == ClaimKind::Unknown) best = {Provision::UnknownClaim, claim.name, claim.at, ""};
  }
  return best;
}

Answer byHostPath(const SpecRole& role, const SpecContainer& c) {
  for (const SpecVolume& v : role.volumes) {
    if (v.hostPath.empty() || !infinibandPath(v.hostPath)) continue;
    for (const SpecMount& m : c.mounts)
      if (m.volume == v.name)
        return {c.privileged ? Provision::HostDevices : Provision::WithoutPrivilege, v.hostPath,
                v.at, ""};
  }
  return {};
}

// GKE: RDMA networks attached by annotation; GPUDirect-TCPX and -TCPXO by a daemon beside the
// trainer and a plugin of their own.
Answer byPlatform(const SpecRole& role, const SpecContainer& c) {
  for (const SpecContainer& other : role.containers) {
    for (const std::string* name : {&other.name, &other.image}) {
      if (holdsWord(*name, "tcpxo") || holdsWord(*name, "fastrak"))
        return {Provision::Plugin, *name, other.at, "FasTrak"};
      if (holdsWord(*name, "tcpx")) return {Provision::Plugin, *name, other.at, "GPUDirectTCPX"};
    }
  }
  for (const SpecSetting& s : c.env) {
    if (s.name.starts_with("NCCL_FASTRAK_")) return {Provision::Plugin, s.name, s.at, "FasTrak"};
    if (s.name.starts_with("NCCL_GPUDIRECTTCPX_"))
      return {Provision::Plugin, s.name, s.at, "GPUDirectTCPX"};
  }
  for (const SpecAnnotation& a : role.annotations) {
    if (a.key.starts_with("devices.gke.io/container.tcpxo"))
      return {Provision::Plugin, a.key, a.at, "FasTrak"};
    if (a.key == "networking.gke.io/interfaces" && saysRdma(a.value))
      return {Provision::Platform, a.key, a.at, ""};
  }
  return {};
}

Answer bySunk(const SpecFacts& specs, const SpecRole& role) {
  if (role.kind == "NodeSet") return {Provision::Sunk, "NodeSet", role.at, ""};
  for (const SpecAnnotation& a : role.annotations)
    if (holdsWord(a.key, "sunk.")) return {Provision::Sunk, a.key, a.at, ""};
  static_cast<void>(specs);
  return {};
}

Answer byWebhook(const SpecRole& role) {
  for (const SpecAnnotation& a : role.annotations) {
    if (a.key.starts_with("k8s.v1.cni.cncf.io/") || a.key.starts_with("kubectl.kubernetes.io/") ||
        a.key.starts_with("networking.gke.io/"))
      continue;
    const auto slash = a.key.find('/');
    // A label of the application ("app: rdma-test") asks for nothing.
    const bool asks = slash != std::string::npos || holdsWord(a.key, "inject");
    if (asks && saysRdma(a.key) && a.value != "false" && a.value != "disabled")
      return {Provision::Webhook, a.key, a.at, ""};
  }
  return {};
}

Answer byUnknownKey(const SpecFacts& specs, const SpecContainer& c) {
  Answer best;
  for (const auto* list : {&c.limits, &c.requests})
    for (const SpecQuantity& q : *list) {
      if (q.known && q.value <= 0) continue;
      if (const SpecResourcePolicy* p = policyOf(specs, q.key)) {
        if (!p->isRdma.value_or(false) && best.provision == Provision::Absent)
          best = {Provision::PolicyNotRdma, q.key, q.at, ""};
        continue;
      }
      if (resourceKind(q.key) == ResourceKind::Unknown)
        return {Provision::UnknownKey, q.key, q.at, ""};
    }
  return best;
}

Answer byNetworks(const SpecFacts& specs, const SpecRole& role) {
  for (const SpecName& n : role.networks) {
    const std::string_view own = resourceName(n.name);
    for (const SpecNetworkDefinition& d : specs.networkDefinitions) {
      if (d.name != own) continue;
      // A resource named by the definition is put into the pod by the network injector.
      if (!d.resourceName.empty() && accepted(specs, d.resourceName))
        return {Provision::NetworkMayCarry, n.name, n.at, ""};
      if (holdsWord(d.config, "\"rdma\"") || holdsWord(d.config, "ib-sriov"))
        return {Provision::NetworkMayCarry, n.name, n.at, ""};
    }
    if (holdsWord(n.name, "ipoib") || holdsWord(n.name, "macvlan") || holdsWord(n.name, "ipvlan"))
      continue;
    if (saysRdma(n.name)) return {Provision::NetworkMayCarry, n.name, n.at, ""};
  }
  return {};
}

Answer provisionOf(const SpecFacts& specs, const SpecRole& role, const SpecContainer& c) {
  Answer resources = byResources(specs, c);
  if (gives(resources.provision) || resources.provision == Provision::Refused ||
      resources.provision == Provision::Placeholder)
    return resources;
  Answer platform = byPlatform(role, c);
  if (gives(platform.provision)) return platform;
  Answer claims = byClaims(specs, role, c);
  if (gives(claims.provision)) return claims;
  Answer host = byHostPath(role, c);
  if (gives(host.provision)) return host;
  Answer sunk = bySunk(specs, role);
  if (gives(sunk.provision)) return sunk;
  Answer webhook = byWebhook(role);
  if (webhook.provision == Provision::Webhook) return webhook;
  Answer key = byUnknownKey(specs, c);
  if (key.provision == Provision::UnknownKey) return key;
  if (claims.provision == Provision::UnknownClaim) return claims;
  for (const SpecContainer& other : role.containers) {
    if (&other == &c) continue;
    const Answer there = byResources(specs, other);
    if (gives(there.provision) || there.provision == Provision::Placeholder)
      return {Provision::OtherContainer, there.what, there.at, ""};
  }
  const SpecDocument* document = documentOf(role, specs);
  if (document && (document->opaque || document->fragment))
    return {Provision::Unseen, "", document->templateAt ? document->templateAt : role.at, ""};
  if (document && document->broken) return {Provision::Unseen, "", document->problemAt, ""};
  if (key.provision == Provision::PolicyNotRdma) return key;
  Answer network = byNetworks(specs, role);
  if (network.provision == Provision::NetworkMayCarry) return network;
  if (host.provision == Provision::WithoutPrivilege) return host;
  if (c.privileged && role.hostNetwork)
    return {Provision::HostNetwork, "privileged: true, hostNetwork: true", c.at, ""};
  if (c.privileged) return {Provision::PrivilegedOnly, "privileged: true", c.at, ""};
  if (resources.provision == Provision::Zero) return resources;
  return {Provision::Absent, "", c.resourcesAt ? c.resourcesAt : c.at, ""};
}

// A worse answer of one container is the role's.
bool worse(Provision a, Provision b) {
  return a > b;
}

class Settings {
 public:
  explicit Settings(RoleView& view) : view_(view) {}

  void add(const SpecSetting& s, bool known, std::string_view value,
           const SpecEnvSource* through = nullptr) {
    for (SettingView& old : view_.settings)
      if (old.name == s.name) {
        // "-x NAME" without a value hands on what is there.
        if (!known && s.origin == SettingOrigin::Launcher && s.value.empty()) return;
        old = {&s, s.name, std::string(value), known, through};
        return;
      }
    if (view_.settings.size() < kMaxSpecItems)
      view_.settings.push_back({&s, s.name, std::string(value), known, through});
  }
  void unseen(Place at) {
    if (view_.settingsUnseen) return;
    view_.settingsUnseen = true;
    view_.unseenAt = at;
  }

 private:
  RoleView& view_;
};

const SpecConfigMap* configMap(const SpecFacts& specs, std::string_view name) {
  for (const SpecConfigMap& m : specs.configMaps)
    if (m.name == name) return &m;
  return nullptr;
}

void containerSettings(const SpecFacts& specs, const SpecContainer& c, Settings& into) {
  for (const SpecEnvSource& source : c.envFrom) {
    const SpecConfigMap* map = configMap(specs, source.name);
    if (!map) {
      into.unseen(source.at);
      continue;
    }
    if (source.prefix.empty())
      for (const SpecSetting& s : map->data) into.add(s, true, s.value, &source);
  }
  for (const SpecSetting& s : c.env) {
    if (s.origin == SettingOrigin::ValueFrom && !s.configMap.empty()) {
      const SpecConfigMap* map = configMap(specs, s.configMap);
      const SpecSetting* found = nullptr;
      if (map)
        for (const SpecSetting& d : map->data)
          if (d.name == s.key) found = &d;
      into.add(s, found != nullptr, found ? std::string_view(found->value) : std::string_view());
      continue;
    }
    into.add(s, s.valueKnown, s.value);
  }
  for (const SpecSetting& s : c.command.settings) into.add(s, s.valueKnown, s.value);
  if (c.command.sourcesOther) into.unseen(c.command.sourcesOther);
}

// What mpirun hands to the workers: -x, from the launcher's own environment where it names no
// value.
void launcherSettings(const SpecFacts& specs, const SpecRole& launcher, Settings& into) {
  for (const SpecContainer& c : launcher.containers) {
    if (c.kind != ContainerKind::Main) continue;
    RoleView own;
    Settings ownSettings(own);
    containerSettings(specs, c, ownSettings);
    for (const SpecSetting& s : c.command.settings) {
      if (s.origin != SettingOrigin::Launcher) continue;
      const SettingView* seen = own.setting(s.name);
      if (!s.valueKnown && seen)
        into.add(s, seen->known, seen->value);
      else
        into.add(s, s.valueKnown, s.value);
    }
    if (c.command.sourcesOther) into.unseen(c.command.sourcesOther);
  }
}

std::optional<double> numberSetting(const RoleView& role, std::string_view name) {
  const SettingView* s = role.setting(name);
  if (!s || !s->known) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(s->value.c_str(), &end);
  if (end == s->value.c_str() || *end != '\0') return std::nullopt;
  return value;
}

// Nodes by the commands: 0 = not said.
long nodesByCommand(const RoleView& role, Place& at) {
  long nodes = 0;
  for (const SpecContainer* c : role.gpu) {
    if (c->command.standalone && nodes == 0) {
      nodes = 1;
      at = c->command.nodesAt;
    }
    if (c->command.nodes) {
      nodes = std::max(nodes, *c->command.nodes);
      at = c->command.nodesAt;
    }
  }
  for (const std::string_view name : {"NNODES", "PET_NNODES", "NUM_NODES"})
    if (const auto n = numberSetting(role, name)) nodes = std::max(nodes, static_cast<long>(*n));
  if (const auto world = numberSetting(role, "WORLD_SIZE");
      world && role.gpus > 0 && *world > role.gpus)
    nodes = std::max(nodes, 2L);
  return nodes;
}

}  // namespace

const SettingView* RoleView::setting(std::string_view name) const {
  for (const SettingView& s : settings)
    if (s.name == name) return &s;
  return nullptr;
}

std::string RoleView::where() const {
  std::string text = gpu.empty() || gpu.front()->name.empty()
                         ? std::string("the container")
                         : cat("container ", gpu.front()->name);
  if (!role->role.empty()) text += cat(" of ", role->role);
  if (!role->workload.empty())
    text += cat(" (", role->kind.empty() ? "pod" : role->kind, " ", role->workload, ")");
  return text;
}

SpecView::SpecView(const JobFacts& facts) : job(&facts) {
  const SpecFacts& specs = facts.specs;
  for (const BatchScript& s : specs.scripts)
    if (s.slurm) slurm.push_back(&s);
  for (const SpecRole& role : specs.roles) {
    RoleView view;
    view.role = &role;
    view.gpu = gpuContainers(specs, view);
    if (view.gpu.empty()) {
      otherRoles.push_back(&role);
      continue;
    }
    if (role.kind == "MPIJob" && !mpiOperator) {
      mpiOperator = true;
      mpiOperatorAt = role.at;
    }
    view.provision = Provision::Resource;
    bool first = true;
    for (const SpecContainer* c : view.gpu) {
      Answer a = provisionOf(specs, role, *c);
      if (!first && !worse(a.provision, view.provision)) continue;
      view.provision = a.provision;
      view.what = std::move(a.what);
      view.at = a.at;
      view.plugin = std::move(a.plugin);
      first = false;
    }
    gpuRoles.push_back(std::move(view));
  }
  // Settings need all roles: a launcher's reach the workers of its job.
  for (RoleView& view : gpuRoles) {
    Settings settings(view);
    for (const SpecContainer* c : view.gpu) containerSettings(specs, *c, settings);
    for (const SpecRole* other : otherRoles)
      if (other->document == view.role->document) launcherSettings(specs, *other, settings);
    if (const SpecDocument* d = documentOf(*view.role, specs);
        d && (d->opaque || d->fragment || d->broken))
      settings.unseen(d->templateAt ? d->templateAt : view.role->at);
  }

  double pods = 0;
  bool known = true, bare = false;
  long nodes = 0;
  bool everyAlone = !gpuRoles.empty();
  for (const RoleView& view : gpuRoles) {
    if (view.role->pods)
      pods += *view.role->pods;
    else
      known = false;
    bare = bare || view.role->kind == "Pod" || view.role->kind.empty();
    Place at;
    const long n = nodesByCommand(view, at);
    nodes = std::max(nodes, n);
    everyAlone = everyAlone && n == 1;
    if (!singleNodeAt) singleNodeAt = at ? at : view.role->at;
  }
  // A bare Pod is one of several as a rule: someone else counts them.
  singleNode = !gpuRoles.empty() && known && nodes <= 1 && pods <= 1 && (!bare || everyAlone);
  if (everyAlone && gpuRoles.size() == 1) singleNode = true;
  for (const RoleView& view : gpuRoles)
    templated = templated || view.provision == Provision::Placeholder ||
                view.provision == Provision::Unseen;
}

const std::vector<RoleView>& SpecView::needing() const {
  static const std::vector<RoleView> kNone;
  return singleNode ? kNone : gpuRoles;
}

bool isGb300(const RoleView& view) {
  for (const SpecName& w : view.role->nodeWords)
    if (holdsWord(w.name, "gb300")) return true;
  // "ibs0p0-macvlan": a rail of such a node as its cluster names it.
  for (const SpecName& n : view.role->networks) {
    const auto slash = n.name.find('/');
    const std::string_view own =
        std::string_view(n.name).substr(slash == std::string::npos ? 0 : slash + 1);
    if (own.size() >= 14 && own.starts_with("ibs") && own.ends_with("-macvlan")) return true;
  }
  return false;
}

bool setForRoce(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames{"NCCL_IB_ADDR_FAMILY",
                                                          "NCCL_IB_ADDR_RANGE", "NCCL_IB_TC",
                                                          "NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool onGb300Rails(const RoleView& view) {
  if (!isGb300(view)) return false;
  const auto locks = [](const SpecContainer* c) {
    return std::any_of(c->capabilities.begin(), c->capabilities.end(),
                       [](const SpecName& n) { return n.name == "IPC_LOCK"; });
  };
  return !view.role->networks.empty() || std::any_of(view.gpu.begin(), view.gpu.end(), locks) ||
         std::any_of(view.settings.begin(), view.settings.end(),
                     [](const SettingView& s) { return setForRoce(s.name); });
}

bool ofEfa(const std::vector<SpecSetting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const SpecSetting& s) {
    return s.name.starts_with("FI_EFA_") ||
           (s.name == "FI_PROVIDER" && s.valueKnown && holdsWord(s.value, "efa"));
  });
}

bool switchesOff(std::string_view value) {
  return numberValue(value).value_or(0) != 0;
}

const SettingView* offSetting(const RoleView& role) {
  const auto known = [&](std::string_view name) -> const SettingView* {
    const SettingView* s = role.setting(name);
    return s && s->known ? s : nullptr;
  };
  const bool internal = role.plugin.empty();
  if (const SettingView* s = known("NCCL_IB_DISABLE"); s && internal && switchesOff(s->value))
    return s;
  if (const SettingView* s = known("NCCL_NET"); s && sameWord(s->value, "Socket")) return s;
  if (const SettingView* s = known("FI_PROVIDER");
      s && role.provision == Provision::Efa && holdsWord(s->value, "tcp"))
    return s;
  return nullptr;
}

}  // namespace rdmaguard::engine
