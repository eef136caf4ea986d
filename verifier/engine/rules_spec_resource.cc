// Rules about what gives a pod its RDMA devices: the resource, in which block, on which container,
// and what may stand in its place. Called through the table of rules_spec.h.
#include <algorithm>
#include <utility>

#include "verifier/engine/rules_spec.h"
#include "verifier/engine/rules_spec_look.h"

namespace rdmaguard::engine {
namespace {

constexpr std::string_view kResource = "resources: {requests: {rdma/ib: 1}, limits: {rdma/ib: 1}}";

bool lacks(Provision p) {
  switch (p) {
    case Provision::NetworkMayCarry:
    case Provision::PrivilegedOnly:
    case Provision::WithoutPrivilege:
    case Provision::PolicyNotRdma:
    case Provision::Zero:
    case Provision::Absent:
      return true;
    default:
      return false;
  }
}

std::string lackFact(const RoleView& r) {
  switch (r.provision) {
    case Provision::Zero:
      return cat("The quantity of ", r.what, " is 0, which asks for nothing.");
    case Provision::PolicyNotRdma:
      return cat("The policy behind ", r.what, " does not have isRdma: true.");
    case Provision::WithoutPrivilege:
      return cat("hostPath ", r.what,
                 " shows the files; the container is not privileged and may not open them.");
    case Provision::PrivilegedOnly:
      return "The container is privileged, which on most runtimes shows it the host's devices; no "
             "resource asks for them.";
    case Provision::NetworkMayCarry:
      return cat("Only the network ", r.what,
                 " could bring a device; limits and requests name no RDMA resource.");
    default:
      return r.container().resourcesAt ? "Neither limits nor requests name an RDMA resource."
                                       : "The container has no resources block.";
  }
}

bool limitsName(const RoleView& r) {
  return std::any_of(r.gpu.begin(), r.gpu.end(), [&](const SpecContainer* c) {
    return std::any_of(c->limits.begin(), c->limits.end(), [&](const SpecQuantity& q) {
      return q.key == r.what && !(q.known && q.value <= 0);
    });
  });
}

bool isRdmaKey(std::string_view key) {
  const ResourceKind k = resourceKind(key);
  return k == ResourceKind::Rdma || k == ResourceKind::SiteRdma;
}

std::string containerName(const SpecContainer& c) {
  return c.name.empty() ? std::string("a container") : cat("container ", c.name);
}

bool isNothing(const SpecQuantity& q) {
  return q.known && q.value <= 0;
}

std::string asWritten(const SpecQuantity& q) {
  return cat(q.key, ": ", q.text, ".");
}

// The quantities, of every container under limits or under requests, for which
// `holds(container, quantity)`.
template <typename Holds, typename Fact = std::string (*)(const SpecQuantity&)>
std::vector<SpecSubject> quantities(const SpecFacts& specs, bool limits, const Holds& holds,
                                    const Fact& fact = asWritten) {
  std::vector<SpecSubject> found;
  for (const SpecRole& role : specs.roles)
    for (const SpecContainer& c : role.containers)
      for (const SpecQuantity& q : limits ? c.limits : c.requests)
        if (found.size() < kMaxSpecEvidence && holds(c, q))
          found.push_back({containerName(c), fact(q), q.at});
  return found;
}

std::vector<SpecSubject> ofKind(const SpecFacts& specs, ResourceKind kind) {
  return quantities(specs, true, [kind](const SpecContainer&, const SpecQuantity& q) {
    return resourceKind(q.key) == kind;
  });
}

MaybeFinding withProvision(const Case& c, Provision wanted, std::string_view one,
                           std::string_view many, const std::string& before,
                           const std::string& after) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto found =
      subjectsOf(view.gpuRoles, [&](const RoleView& r) -> std::optional<SpecSubject> {
        if (r.provision != wanted) return std::nullopt;
        return SpecSubject{r.where(), cat(before, r.what, after), r.at};
      });
  return aboutAll(*job, found, one, many, "");
}

}  // namespace

MaybeFinding rdmaResourceAbsent(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto found =
      subjectsOf(view.needing(), [](const RoleView& r) -> std::optional<SpecSubject> {
        if (!lacks(r.provision)) return std::nullopt;
        return SpecSubject{r.where(), lackFact(r), r.at};
      });
  if (found.empty()) return std::nullopt;
  const auto first = std::find_if(view.needing().begin(), view.needing().end(),
                                  [](const RoleView& r) { return lacks(r.provision); });
  const std::string_view container = first->container().name;
  std::string fix =
      first->provision == Provision::WithoutPrivilege
          ? cat("Take the hostPath out and ask for the device in container ", container, ": ",
                kResource, " (`kubectl describe node` shows the key this cluster uses).")
          : cat("Add to container ", container, ": ", kResource,
                " (`kubectl describe node` shows the key this cluster uses).");
  return aboutAll(*job, found, "asks for no RDMA resource: without an RDMA device NCCL takes TCP.",
                  "ask for no RDMA resource: without an RDMA device NCCL takes TCP.",
                  std::move(fix));
}

MaybeFinding rdmaRequestsOnly(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string key, container;
  const auto found =
      subjectsOf(view.gpuRoles, [&](const RoleView& r) -> std::optional<SpecSubject> {
        if (r.provision != Provision::Refused || limitsName(r)) return std::nullopt;
        if (key.empty()) {
          key = r.what;
          container = r.container().name;
        }
        return SpecSubject{r.where(), cat("requests name ", r.what, ", limits do not."), r.at};
      });
  return aboutAll(*job, found,
                  "is refused by the API server: an extended resource in requests needs the same "
                  "in limits.",
                  "are refused by the API server: an extended resource in requests needs the same "
                  "in limits.",
                  cat("Add to container ", container, ": resources: {limits: {", key,
                      ": 1}} with the quantity that stands in requests."));
}

MaybeFinding rdmaRequestsDiffer(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto found =
      subjectsOf(view.gpuRoles, [&](const RoleView& r) -> std::optional<SpecSubject> {
        if (r.provision != Provision::Refused || !limitsName(r)) return std::nullopt;
        return SpecSubject{r.where(), cat("limits and requests name ", r.what, " differently."),
                           r.at};
      });
  return aboutAll(*job, found,
                  "is refused by the API server: limits and requests of an extended resource must "
                  "be equal.",
                  "are refused by the API server: limits and requests of an extended resource must "
                  "be equal.",
                  "Write the same quantity under limits and requests, or leave requests out.");
}

MaybeFinding rdmaWrongContainer(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::string key, container;
  auto found = subjectsOf(view.needing(), [&](const RoleView& r) -> std::optional<SpecSubject> {
    if (r.provision != Provision::OtherContainer) return std::nullopt;
    if (key.empty()) {
      key = r.what;
      container = r.container().name;
    }
    return SpecSubject{r.where(), cat(r.what, " stands here, on a container without GPUs."), r.at};
  });
  // A launcher that has what its workers lack.
  for (const RoleView& r : view.needing()) {
    if (r.provision != Provision::Absent) continue;
    for (const SpecRole* other : view.otherRoles) {
      if (other->document != r.role->document) continue;
      for (const SpecContainer& o : other->containers)
        for (const SpecQuantity& q : o.limits) {
          if (!isRdmaKey(q.key) || (q.known && q.value <= 0)) continue;
          if (key.empty()) {
            key = q.key;
            container = r.container().name;
          }
          found.push_back({r.where(), cat(q.key, " stands on ", other->role, ", not here."), q.at});
        }
    }
  }
  return aboutAll(*job, found,
                  "gets no RDMA device: the resource is on another container, and devices are "
                  "handed to the container that asks.",
                  "get no RDMA device: the resource is on another container, and devices are "
                  "handed to the container that asks.",
                  cat("Move ", key, " to limits and requests of container ", container, "."));
}

MaybeFinding rdmaLimitsOnly(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const auto found = quantities(
      job->specs, true,
      [](const SpecContainer& container, const SpecQuantity& q) {
        const auto same = [&](const SpecQuantity& r) { return r.key == q.key; };
        return isRdmaKey(q.key) && !isNothing(q) &&
               std::none_of(container.requests.begin(), container.requests.end(), same);
      },
      [](const SpecQuantity& q) { return cat(q.key, " stands under limits alone."); });
  return aboutAll(*job, found,
                  "names its RDMA resource under limits alone: valid, Kubernetes copies it to "
                  "requests.",
                  "name their RDMA resource under limits alone: valid, Kubernetes copies it to "
                  "requests.",
                  "");
}

MaybeFinding rdmaQuantityZero(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const auto zero = [](const SpecContainer&, const SpecQuantity& q) {
    return isNothing(q) && (isRdmaKey(q.key) || resourceKind(q.key) == ResourceKind::Efa);
  };
  auto found = quantities(job->specs, true, zero);
  for (SpecSubject& s : quantities(job->specs, false, zero)) found.push_back(std::move(s));
  return aboutAll(*job, found, "asks for 0 of its RDMA resource, which is nothing.",
                  "ask for 0 of their RDMA resource, which is nothing.",
                  "Write 1 under limits and requests.");
}

MaybeFinding rdmaQuantityNotOne(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  // Of a shared device plugin: slots on the node's devices, each slot gives all.
  const auto found = quantities(job->specs, true, [](const SpecContainer&, const SpecQuantity& q) {
    return q.key.starts_with("rdma/") && q.known && q.value > 1;
  });
  return aboutAll(*job, found,
                  "asks for more than one slot of a shared RDMA resource: a slot gives all HCAs of "
                  "the node, and more of them may not be schedulable.",
                  "ask for more than one slot of a shared RDMA resource: a slot gives all HCAs of "
                  "the node, and more of them may not be schedulable.",
                  "Write 1 unless `kubectl describe node` shows that the resource counts devices.");
}

MaybeFinding siteRdmaKey(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  return aboutAll(*job, ofKind(job->specs, ResourceKind::SiteRdma),
                  "asks for RDMA under a name that this cluster's device plugin gave it.",
                  "ask for RDMA under names that this cluster's device plugin gave them.", "");
}

MaybeFinding siteGpuKey(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  return aboutAll(*job, ofKind(job->specs, ResourceKind::SiteGpu),
                  "asks for GPUs under a site's own name: taken for GPUs.",
                  "ask for GPUs under a site's own name: taken for GPUs.", "", Certainty::Inferred);
}

MaybeFinding unknownRdmaKey(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  std::string slip;
  const auto take = [&](const std::string& who, const SpecQuantity& q) {
    if (resourceKind(q.key) != ResourceKind::Unknown || (q.known && q.value <= 0)) return;
    if (looksMistyped(q.key)) slip = q.key;
    const auto same = [&](const SpecSubject& s) { return s.fact.starts_with(cat(q.key, ":")); };
    if (found.size() < kMaxSpecEvidence && std::none_of(found.begin(), found.end(), same))
      found.push_back({who, cat(q.key, ": ", q.text, "."), q.at});
  };
  for (const RoleView& r : view.gpuRoles)
    for (const SpecContainer* container : r.gpu)
      for (const auto* list : {&container->limits, &container->requests})
        for (const SpecQuantity& q : *list)
          // Beside a known one it may be anything; a policy in the input says what it is.
          if (r.provision == Provision::UnknownKey || looksMistyped(q.key)) take(r.where(), q);
  for (const SpecQuantity& q : job->specs.looseQuantities) take("a values file", q);
  return aboutAll(
      *job, found, "asks for a resource whose name does not say whether it is RDMA.",
      "ask for resources whose names do not say whether they are RDMA.",
      slip.empty()
          ? "Run `kubectl describe node` on a GPU node: Allocatable lists the resources, and the "
            "device plugin's configuration (or SriovNetworkNodePolicy, isRdma) says what each is."
          : cat("Write rdma/ where ", slip,
                " was meant to; `kubectl describe node` lists the "
                "resources a node has."),
      Certainty::Inferred);
}

MaybeFinding efaResource(const Case& c) {
  return withProvision(
      c, Provision::Efa,
      "uses EFA: AWS's RDMA, through the plugin aws-ofi-nccl and no rdma/ resource.",
      "use EFA: AWS's RDMA, through the plugin aws-ofi-nccl and no rdma/ resource.", "limits name ",
      ".");
}

MaybeFinding rdmaByClaim(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto found =
      subjectsOf(view.gpuRoles, [&](const RoleView& r) -> std::optional<SpecSubject> {
        if (r.provision == Provision::Claim)
          return SpecSubject{r.where(), cat("The claim ", r.what, " asks for RDMA devices."), r.at};
        if (r.provision == Provision::UnknownClaim)
          return SpecSubject{
              r.where(),
              cat("The claim ", r.what, " stands for devices that this input does not name."),
              r.at};
        return std::nullopt;
      });
  return aboutAll(*job, found,
                  "gets devices by a resource claim (DRA), which takes the place of an extended "
                  "resource.",
                  "get devices by resource claims (DRA), which take the place of an extended "
                  "resource.",
                  "");
}

MaybeFinding rdmaByPlatform(const Case& c) {
  return withProvision(c, Provision::Platform,
                       "gets its RDMA NICs from the platform, by annotation.",
                       "get their RDMA NICs from the platform, by annotation.", "The annotation ",
                       " names RDMA networks.");
}

MaybeFinding hostPathPrivileged(const Case& c) {
  if (MaybeFinding shared = withProvision(
          c, Provision::HostNetwork,
          "is privileged and on the host's network, where runtimes show it all the host's devices: "
          "it gets them without a resource, and the scheduler does not know.",
          "are privileged and on the host's network, where runtimes show them all the host's "
          "devices: they get them without a resource, and the scheduler does not know.",
          "The pod has ", "."))
    return shared;
  return withProvision(
      c, Provision::HostDevices,
      "is privileged and mounts the host's RDMA devices: it gets them without a resource, and "
      "the scheduler does not know.",
      "are privileged and mount the host's RDMA devices: they get them without a resource, and the "
      "scheduler does not know.",
      "hostPath ", ".");
}

MaybeFinding hostPathUnprivileged(const Case& c) {
  return withProvision(c, Provision::WithoutPrivilege,
                       "mounts the host's RDMA devices without privilege: the device cgroup "
                       "refuses to open them.",
                       "mount the host's RDMA devices without privilege: the device cgroup refuses "
                       "to open them.",
                       "hostPath ", ".");
}

MaybeFinding webhookMayInject(const Case& c) {
  return withProvision(
      c, Provision::Webhook,
      "carries an annotation that a webhook may answer with RDMA devices: what the "
      "pod gets is seen on the live pod only.",
      "carry an annotation that a webhook may answer with RDMA devices: what the "
      "pods get is seen on live pods only.",
      "", " is set.");
}

MaybeFinding networkMayCarry(const Case& c) {
  return withProvision(c, Provision::NetworkMayCarry,
                       "has a network whose name says RDMA: a CNI that moves RDMA devices "
                       "(exclusive mode) could bring one in without a resource.",
                       "have a network whose name says RDMA: a CNI that moves RDMA devices "
                       "(exclusive mode) could bring one in without a resource.",
                       "The pod is attached to ", ".");
}

MaybeFinding sriovPolicyRdma(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  for (const SpecResourcePolicy& p : job->specs.policies)
    if (p.isRdma.value_or(false))
      return Finding{.what = cat("The resource ", p.resourceName,
                                 " hands out RDMA devices: its policy says so."),
                     .evidence = {{cat(p.resourceName, " is an RDMA resource."), job->source(p.at),
                                   Certainty::Told}},
                     .certainty = Certainty::Told};
  return std::nullopt;
}

MaybeFinding sriovPolicyNotRdma(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  for (const SpecResourcePolicy& p : job->specs.policies)
    if (p.isRdma && !*p.isRdma)
      return Finding{
          .what = cat("The resource ", p.resourceName,
                      " hands out network functions without their RDMA device: its policy does not "
                      "have isRdma: true."),
          .evidence = {{cat(p.resourceName, " has no isRdma: true."), job->source(p.at),
                        Certainty::Told}},
          .fix = "Set isRdma: true in the policy.",
          .certainty = Certainty::Told};
  return std::nullopt;
}

MaybeFinding rdmaOnSomeRoles(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  const auto& roles = view.needing();
  const auto with = std::find_if(roles.begin(), roles.end(),
                                 [](const RoleView& r) { return gives(r.provision); });
  const auto without = std::find_if(roles.begin(), roles.end(),
                                    [](const RoleView& r) { return givesNone(r.provision); });
  if (with == roles.end() || without == roles.end()) return std::nullopt;
  return Finding{.what = cat(with->where(), " gets RDMA devices and ", without->where(),
                             " gets none: the two would choose different networks."),
                 .evidence = {{cat(with->where(), " has ", with->what, "."), job->source(with->at),
                               Certainty::Told},
                              {cat(without->where(), " has none."), job->source(without->at),
                               Certainty::Told}},
                 .fix = "Give all roles with GPUs the same resources.",
                 .certainty = Certainty::Told};
}

}  // namespace rdmaguard::engine
