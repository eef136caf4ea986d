// Notes about specs as text and about the shape of a job. Called through the table of
// rules_spec.h.
#include <algorithm>
#include <array>

#include "verifier/engine/rules_spec.h"
#include "verifier/engine/rules_spec_look.h"

namespace rdmaguard::engine {
namespace {

MaybeFinding remark(const Case& c, SpecRemark::Kind kind, std::string_view what,
                    std::string_view fact, std::string_view fix) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  Finding f{.what = std::string(what), .fix = std::string(fix), .certainty = Certainty::Told};
  for (const SpecRemark& r : job->specs.remarks)
    if (r.kind == kind && f.evidence.size() < kMaxSpecEvidence)
      f.evidence.push_back(
          {cat(fact, r.text.empty() ? "" : ": ", r.text, "."), job->source(r.at), Certainty::Told});
  if (f.evidence.empty()) return std::nullopt;
  return f;
}

MaybeFinding note(const JobFacts& job, std::string what, std::string fact, Place at,
                  std::string fix = {}, Certainty certainty = Certainty::Told) {
  return Finding{.what = std::move(what),
                 .evidence = {{std::move(fact), job.source(at), certainty}},
                 .fix = std::move(fix),
                 .certainty = certainty};
}

bool mountsShm(const SpecContainer& c) {
  return std::any_of(c.mounts.begin(), c.mounts.end(), [](const SpecMount& m) {
    return m.path == "/dev/shm" || m.path == "/dev/shm/";
  });
}

// A quantity or a number of pods that a tool was to put in.
const SpecQuantity* placeholder(const SpecRole& role) {
  for (const SpecContainer& c : role.containers)
    for (const auto* list : {&c.limits, &c.requests})
      for (const SpecQuantity& q : *list)
        if (!q.known) return &q;
  return nullptr;
}

}  // namespace

MaybeFinding duplicateKey(const Case& c) {
  return remark(c, SpecRemark::Kind::DuplicateKey,
                "A key stands twice in one block: most parsers keep the last (strict ones refuse), "
                "and what the first one said is lost.",
                "It is set before in the same block", "Write the block once.");
}

MaybeFinding emptyDocument(const Case& c) {
  return remark(c, SpecRemark::Kind::EmptyDocument,
                "A separator is followed by nothing: an empty document, which is skipped.",
                "An empty document", "");
}

MaybeFinding yamlTabs(const Case& c) {
  return remark(c, SpecRemark::Kind::Tabs,
                "Lines are indented with tabs, which YAML does not allow: kubectl refuses the file "
                "as it stands. It was read as if they were blanks.",
                "The first such line", "Indent with blanks.");
}

MaybeFinding specTooLarge(const Case& c) {
  return remark(c, SpecRemark::Kind::TooMuch,
                "A document is larger or deeper than is read: what lies beyond is not judged.",
                "The limit was reached", "Give the objects of the job alone.");
}

MaybeFinding templateUnrendered(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  constexpr std::string_view kFix =
      "Give what the cluster gets: `helm template ...`, `envsubst <FILE`, or the live object "
      "(`kubectl get -o yaml`).";
  for (const SpecDocument& d : job->specs.documents) {
    if (d.templated)
      return note(*job,
                  "The text is a template or an excerpt: parts of it are not what the "
                  "cluster gets.",
                  "A template's marks or an omission.", d.templateAt, std::string(kFix));
    if (d.fragment && d.holdsPod)
      return note(*job, "The text is an excerpt without apiVersion and kind.",
                  "No kind is named here.", d.at, std::string(kFix));
  }
  for (const SpecRole& role : job->specs.roles)
    if (const SpecQuantity* q = placeholder(role))
      return note(*job,
                  "A quantity is a placeholder, which is filled in before the cluster gets "
                  "it (and could become 0).",
                  cat(q->key, ": ", q->text, "."), q->at, std::string(kFix));
  for (const SpecRole& role : job->specs.roles)
    if (!role.pods)
      return note(*job, "The number of pods is a placeholder.",
                  cat("replicas of ", role.workload, " is no number."), role.at, std::string(kFix));
  return std::nullopt;
}

MaybeFinding specNotParsed(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  for (const SpecDocument& d : job->specs.documents)
    if (!d.problem.empty() && !d.templated)
      return note(*job, "The text is no valid YAML or JSON: what stands before the fault was read.",
                  cat("The parser says: ", d.problem, "."), d.problemAt,
                  "Give the file as it is applied, or the live object (`kubectl get -o yaml`).");
  return std::nullopt;
}

MaybeFinding noPodInInput(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job || !job->specs.roles.empty() || job->specs.documents.empty()) return std::nullopt;
  // Jinja and Go templates whose pods cannot be made out have a note of their own.
  const bool readable =
      std::any_of(job->specs.documents.begin(), job->specs.documents.end(),
                  [](const SpecDocument& d) { return !d.templated && d.problem.empty(); });
  if (!readable) return std::nullopt;
  return note(*job, "No pod or pod template is among the objects: what a job asks for is not here.",
              "An object or values without a pod.", job->specs.documents.front().at,
              "Give the rendered manifest (`helm template ...`) or `kubectl get pod -o yaml`.");
}

MaybeFinding noGpuPod(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job || job->specs.roles.empty()) return std::nullopt;
  const SpecView view(*job);
  if (!view.gpuRoles.empty()) return std::nullopt;
  for (const SpecDocument& d : job->specs.documents)
    if (d.holdsPod && (d.opaque || d.fragment || d.broken)) return std::nullopt;
  return note(*job, "No container asks for a GPU: NCCL's conditions do not apply.",
              "No GPU resource is named.", job->specs.roles.front().at);
}

MaybeFinding singleNodeSpec(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  if (view.singleNode)
    return note(*job, "One pod is the whole job: its GPUs need no network.",
                "One pod, and no sign of more nodes.", view.singleNodeAt);
  if (view.gpuRoles.empty() && view.otherRoles.empty())
    for (const ScriptView& s : scriptsOf(*job))
      if (s.oneNode)
        return note(*job, "The script asks for one node: its GPUs need no network.",
                    "One node is asked for.", s.oneNodeAt);
  return std::nullopt;
}

MaybeFinding launcherWithoutRdma(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  for (const SpecRole* other : view.otherRoles) {
    const bool same =
        std::any_of(view.gpuRoles.begin(), view.gpuRoles.end(),
                    [&](const RoleView& r) { return r.role->document == other->document; });
    if (!same || found.size() >= kMaxSpecEvidence) continue;
    found.push_back({other->role.empty() ? other->workload : other->role,
                     "It asks for no GPU and no RDMA device.", other->at});
  }
  return aboutAll(*job, found, "starts the job and takes part in no collective: it needs no RDMA.",
                  "take part in no collective: they need no RDMA.", "", Certainty::Inferred);
}

MaybeFinding workersMayShareNode(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  constexpr double kGpusOfANode = 8;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  for (const RoleView& r : view.needing()) {
    if (!r.role->pods || *r.role->pods < 2 || r.role->antiAffinity || r.gpus <= 0) continue;
    if (r.gpus * *r.role->pods > kGpusOfANode) continue;
    found.push_back({r.where(),
                     cat(std::to_string(static_cast<long>(*r.role->pods)), " pods of ",
                         counted(static_cast<std::size_t>(r.gpus), "GPU"), "."),
                     r.role->at});
  }
  return aboutAll(
      *job, found,
      "asks for so few GPUs that its pods may share a node, where no network is needed.",
      "ask for so few GPUs that their pods may share a node, where no network is needed.", "",
      Certainty::Inferred);
}

MaybeFinding shmNotMounted(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  std::vector<SpecSubject> found;
  std::string container;
  for (const RoleView& r : view.gpuRoles) {
    if (mountsShm(r.container()) || r.provision == Provision::Unseen) continue;
    if (container.empty()) container = r.container().name;
    const auto volume = std::find_if(r.role->volumes.begin(), r.role->volumes.end(),
                                     [](const SpecVolume& v) { return v.memory; });
    if (volume == r.role->volumes.end())
      found.push_back({r.where(), "No volume stands at /dev/shm.", r.container().at});
    else
      found.push_back({r.where(),
                       cat("The volume ", volume->name,
                           " is declared here and not "
                           "mounted at /dev/shm."),
                       volume->at});
  }
  return aboutAll(
      *job, found,
      "has the runtime's 64 MiB of /dev/shm: too little for NCCL between the GPUs of a "
      "node and for data loaders.",
      "have the runtime's 64 MiB of /dev/shm: too little for NCCL between the GPUs of a "
      "node and for data loaders.",
      cat("Declare volumes: [{name: shm, emptyDir: {medium: Memory}}] and add to "
          "container ",
          container, ": volumeMounts: [{name: shm, mountPath: /dev/shm}]"));
}

MaybeFinding sunkManages(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  Place at = job->specs.sunk;
  for (const RoleView& r : view.gpuRoles)
    if (!at && r.provision == Provision::Sunk) at = r.at;
  if (!at && !view.slurm.empty()) at = view.slurm.front()->at;
  if (!at) return std::nullopt;
  return note(*job,
              "A Slurm job gets its devices from the nodes it runs on (on SUNK from the NodeSet, "
              "Multus and the RDMA resource included): nothing of a pod is demanded here.",
              "A Slurm script or NodeSet.", at);
}

MaybeFinding shellHeredoc(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  Finding f{.what =
                "A script holds a here-document: its lines are another file's, and count as "
                "that file would.",
            .certainty = Certainty::Told};
  const auto take = [&](Place at) {
    if (at && f.evidence.size() < kMaxSpecEvidence)
      f.evidence.push_back({"A here-document begins.", job->source(at), Certainty::Told});
  };
  for (const BatchScript& s : job->specs.scripts) take(s.shell.heredoc);
  for (const SpecRole& role : job->specs.roles)
    for (const SpecContainer& container : role.containers) take(container.command.heredoc);
  if (f.evidence.empty()) return std::nullopt;
  return f;
}

MaybeFinding mnnvlPossible(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  constexpr std::string_view kWhat =
      "NVLink may connect GPUs across nodes (ComputeDomain, IMEX): within a rack traffic may need "
      "no network, between racks it does.";
  if (job->specs.computeDomain)
    return note(*job, std::string(kWhat), "A ComputeDomain.", job->specs.computeDomain);
  for (const SpecRole& role : job->specs.roles)
    for (const SpecClaim& claim : role.claims)
      if (holdsWord(claim.name, "imex") || holdsWord(claim.name, "compute-domain") ||
          holdsWord(claim.templateName, "imex") || holdsWord(claim.templateName, "compute-domain"))
        return note(*job, std::string(kWhat), cat("The claim ", claim.name, "."), claim.at);
  return std::nullopt;
}

MaybeFinding installsVerbs(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  constexpr std::string_view kWhat =
      "libibverbs is installed when the job starts: its release is that of the day, and a package "
      "server that does not answer makes a job without RDMA.";
  constexpr std::string_view kFix = "Install it in the image.";
  for (const SpecRole& role : job->specs.roles)
    for (const SpecContainer& container : role.containers)
      if (container.command.installsVerbs)
        return note(*job, std::string(kWhat), "A package manager is run here.",
                    container.command.installsVerbs, std::string(kFix));
  for (const BatchScript& s : job->specs.scripts)
    if (s.shell.installsVerbs)
      return note(*job, std::string(kWhat), "A package manager is run here.", s.shell.installsVerbs,
                  std::string(kFix));
  return std::nullopt;
}

MaybeFinding specExternalPlugin(const Case& c) {
  const JobFacts* job = specJob(c);
  if (!job) return std::nullopt;
  const SpecView view(*job);
  for (const RoleView& r : view.gpuRoles)
    if (r.provision == Provision::Plugin)
      return note(*job,
                  cat("The pod is set up for the net plugin ", r.plugin,
                      ", not for NCCL's own transports: its settings and faults are the plugin's."),
                  cat(r.what, " belongs to it."), r.at);
  return std::nullopt;
}

}  // namespace rdmaguard::engine
