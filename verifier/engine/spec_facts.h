// What pod specs and batch scripts ask for: filled by verifier/readers (spec, batch), judged by
// the rows of rules_spec.h. Values only. Bounded: the readers stop at the limits below and say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/place.h"

namespace rdmaguard::engine {

/// Where a variable of a container or a script gets its value from.
enum class SettingOrigin : std::uint8_t {
  Env,        ///< `env` with a `value`
  ValueFrom,  ///< `env` with `valueFrom`: from a ConfigMap or Secret, or not to be seen here
  Command,    ///< export or NAME=VALUE in a command, an argument or a script
  Launcher,   ///< mpirun -x, -genv
  Option,     ///< --export of sbatch or srun
};

/// One variable.
struct SpecSetting {
  std::string name;
  std::string value;
  bool valueKnown = true;  ///< false: an expansion, a template, a reference to something else
  SettingOrigin origin = SettingOrigin::Env;
  std::string configMap;  ///< for ValueFrom: the ConfigMap's name, else empty
  std::string key;        ///< for ValueFrom: the key in it
  Place at;
};

/// `envFrom` of a container.
struct SpecEnvSource {
  std::string name;
  bool secret = false;
  std::string prefix;
  Place at;
};

/// One line of a limits or requests block.
struct SpecQuantity {
  std::string key;   ///< "rdma/ib"
  std::string text;  ///< as written
  double value = 0;
  bool known = true;  ///< false: `text` is no Kubernetes quantity (a placeholder)
  Place at;
};

/// A name and where it stands.
struct SpecName {
  std::string name;
  Place at;
};

struct SpecMount {
  std::string volume, path;
  Place at;
};

/// What a command line or a script says, as far as a shell's rules go without running it.
struct ShellFacts {
  std::vector<SpecSetting> settings;  ///< in order; a later one of a name wins
  std::optional<long> nodes;          ///< --nnodes, --nodes, -N of a launcher in it
  bool standalone = false;            ///< torchrun --standalone
  Place nodesAt;
  Place sourcesOther;     ///< `source FILE`: what it sets is not seen; line 0: none
  Place heredoc;          ///< the first; line 0: none
  Place installsVerbs;    ///< installs libibverbs or rdma-core at run time; line 0: no
  bool launches = false;  ///< starts a program with mpirun, srun, torchrun, python, ...
  Place launchAt;
};

enum class ContainerKind : std::uint8_t { Main, Init, NativeSidecar };

struct SpecContainer {
  std::string name, image;
  ContainerKind kind = ContainerKind::Main;
  std::vector<SpecQuantity> limits, requests;
  std::vector<SpecName> claims;  ///< resources.claims: names of the pod's resourceClaims
  std::vector<SpecSetting> env;
  std::vector<SpecEnvSource> envFrom;
  ShellFacts command;  ///< of command, args and life-cycle hooks
  std::vector<SpecName> capabilities;
  bool privileged = false;
  std::vector<SpecMount> mounts;
  Place at;
  Place resourcesAt;  ///< line 0: no such block
  Place envAt;        ///< line 0: no such block
};

struct SpecVolume {
  std::string name;
  std::string hostPath;  ///< empty: of another type
  bool memory = false;   ///< emptyDir with medium Memory
  Place at;
};

/// A pod's entry of `resourceClaims`.
struct SpecClaim {
  std::string name, templateName, claimName;
  Place at;
};

struct SpecAnnotation {
  std::string key, value;
  Place at;
};

/// One pod or pod template and how many pods are made of it.
struct SpecRole {
  std::size_t document = 0;  ///< index in SpecFacts::documents
  std::string kind;          ///< of the document or the list's item: "MPIJob"; empty: a fragment
  std::string apiVersion;
  std::string workload;        ///< metadata.name
  std::string role;            ///< "Worker", "leader", a task's name; empty: the only one
  std::optional<double> pods;  ///< how many pods this template makes; not set: not to be told
  std::vector<SpecContainer> containers;
  std::vector<SpecVolume> volumes;
  std::vector<SpecClaim> claims;
  std::vector<SpecAnnotation> annotations;  ///< of the pod template (and of the Pod itself)
  std::vector<SpecName> networks;           ///< Multus, "namespace/name" or "name", in order
  Place networksAt;                         ///< line 0: no such annotation
  std::vector<SpecName> nodeWords;  ///< values and keys of nodeSelector, affinity, tolerations
  bool antiAffinity = false;
  bool hostNetwork = false;
  std::string schedulerName;
  Place at;
};

/// One YAML document, JSON value or item of a List.
struct SpecDocument {
  std::string kind, apiVersion, name;
  bool fragment = false;   ///< no kind: values, an excerpt
  bool templated = false;  ///< holds {{ }}, {% %} or placeholders that a tool replaces
  bool opaque = false;     ///< whole lines of it are a template's: blocks may be added or left out
  bool broken = false;     ///< could not be parsed to its end
  bool holdsPod = false;
  std::string problem;  ///< the parser's words, where it is broken
  Place at;
  Place templateAt;  ///< first sign of a template
  Place problemAt;
};

struct SpecConfigMap {
  std::string name;
  std::vector<SpecSetting> data;
  Place at;
};

/// ResourceClaimTemplate or ResourceClaim: the words of its device requests.
struct SpecClaimTemplate {
  std::string name;
  std::vector<SpecName> words;  ///< device classes, drivers, selectors
  Place at;
};

/// What a policy or a device plugin's configuration says of a resource.
struct SpecResourcePolicy {
  std::string resourceName;
  std::optional<bool> isRdma;
  Place at;
};

/// NetworkAttachmentDefinition and the like.
struct SpecNetworkDefinition {
  std::string name;
  std::string resourceName;  ///< the resource its annotation names; empty: none
  std::string config;        ///< the CNI configuration as written
  Place at;
};

/// An option of #SBATCH lines or of sbatch and srun.
struct BatchOption {
  std::string name, value;  ///< long names: "nodes", "gpus-per-node"
  Place at;
};

struct BatchScript {
  bool slurm = false;
  std::vector<BatchOption> options;  ///< of #SBATCH lines, in order
  ShellFacts shell;
  Place at;
};

/// What a reader noticed about the text itself.
struct SpecRemark {
  enum class Kind : std::uint8_t {
    DuplicateKey,
    EmptyDocument,
    Tabs,        ///< tabs as indentation, which YAML forbids
    TooMuch,     ///< the reader's limits were reached
    EnvInPlain,  ///< variables of a values file
  };
  Kind kind = Kind::DuplicateKey;
  std::string text;  ///< the key, ...
  Place at;
};

/// All specs of the input.
struct SpecFacts {
  bool any = false;  ///< the input held a spec, a batch script or what was meant as one
  std::vector<SpecDocument> documents;
  std::vector<SpecRole> roles;
  std::vector<SpecConfigMap> configMaps;
  std::vector<SpecClaimTemplate> claimTemplates;
  std::vector<std::string> computeDomainClaims;  ///< claim templates that a ComputeDomain makes
  Place computeDomain;                           ///< line 0: none
  std::vector<SpecResourcePolicy> policies;
  std::vector<SpecNetworkDefinition> networkDefinitions;
  std::vector<SpecQuantity> looseQuantities;  ///< limits and requests outside any pod (values)
  std::vector<SpecSetting> looseSettings;     ///< NCCL and UCX variables outside any pod
  std::vector<BatchScript> scripts;
  std::vector<SpecRemark> remarks;
  Place sunk;  ///< a Slurm NodeSet of SUNK; line 0: none
};

inline constexpr std::size_t kMaxSpecRoles = 4096;
inline constexpr std::size_t kMaxSpecItems = 1024;  ///< of any list of one object
inline constexpr std::size_t kMaxSpecDocuments = 4096;
inline constexpr std::size_t kMaxSpecText = 16384;  ///< bytes kept of one value

}  // namespace rdmaguard::engine
