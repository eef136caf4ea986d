// See spec.h.
#include "verifier/readers/spec.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "verifier/readers/kube.h"
#include "verifier/readers/spec_text.h"
#include "verifier/readers/spec_tree.h"

namespace rdmaguard::readers {
namespace {

using engine::SpecDocument;
using engine::SpecRemark;

std::string_view withoutBlanks(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

bool isKeyByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

// The key of "key:" or "key: value", with a list's dash and quotes taken off. Empty: none.
std::string_view keyOf(std::string_view line) {
  line = withoutBlanks(line);
  while (line.starts_with("- ")) line = withoutBlanks(line.substr(2));
  std::size_t n = 0;
  if (!line.empty() && (line[0] == '"' || line[0] == '\'')) {
    const auto end = line.find(line[0], 1);
    if (end == std::string_view::npos || end + 1 >= line.size() || line[end + 1] != ':') return {};
    return line.substr(1, end - 1);
  }
  while (n < line.size() && isKeyByte(line[n])) ++n;
  if (n == 0 || n >= line.size() || line[n] != ':') return {};
  if (n + 1 < line.size() && line[n + 1] != ' ' && line[n + 1] != '\t') return {};
  return line.substr(0, n);
}

// Keys of manifests and of the values files that make them, which no log line begins with.
bool isSpecKey(std::string_view key) {
  static constexpr auto kKeys = std::to_array<std::string_view>({"apiVersion",
                                                                 "kind",
                                                                 "metadata",
                                                                 "spec",
                                                                 "template",
                                                                 "containers",
                                                                 "initContainers",
                                                                 "resources",
                                                                 "limits",
                                                                 "requests",
                                                                 "annotations",
                                                                 "nodeSelector",
                                                                 "volumes",
                                                                 "volumeMounts",
                                                                 "env",
                                                                 "envFrom",
                                                                 "securityContext",
                                                                 "replicas",
                                                                 "items",
                                                                 "image",
                                                                 "extraEnv",
                                                                 "extraAnnotations",
                                                                 "podAnnotations",
                                                                 "tolerations",
                                                                 "affinity",
                                                                 "capabilities",
                                                                 "mpiReplicaSpecs",
                                                                 "pytorchReplicaSpecs",
                                                                 "slotsPerWorker",
                                                                 "resourceClaims",
                                                                 "replicatedJobs",
                                                                 "tasks",
                                                                 "completions",
                                                                 "parallelism",
                                                                 "imagePullSecrets",
                                                                 "nameOverride",
                                                                 "fullnameOverride",
                                                                 "serviceAccount",
                                                                 "worker",
                                                                 "launcher",
                                                                 "workers",
                                                                 "hostNetwork",
                                                                 "nodeset",
                                                                 "compute"});
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool isResourceKey(std::string_view key) {
  return key.starts_with("rdma/") || key.starts_with("nvidia.com/") ||
         key.starts_with("vpc.amazonaws.com/") || key.starts_with("k8s.v1.cni.cncf.io/");
}

// A key at the left edge inside a spec: of a values file it may be any name, of a log line only
// one with a host's or a level's look.
bool plausibleTopKey(std::string_view line) {
  const std::string_view key = keyOf(line);
  if (key.empty()) return false;
  if (isSpecKey(key) || isResourceKey(key) || key == "data" || key == "status" || key == "type" ||
      key == "stringData")
    return true;
  if (!((key[0] >= 'a' && key[0] <= 'z') || key[0] == '_' || key.starts_with("NCCL_") ||
        key.starts_with("UCX_")))
    return false;
  // "node-3: message" and "slurmstepd: error: ...".
  if (key.find('-') != std::string_view::npos || key == "srun" || key == "slurmstepd") return false;
  const std::string_view value = withoutBlanks(line.substr(line.find(':') + 1));
  return value.find(": ") == std::string_view::npos || value.find_first_of("\"'{[") == 0 ||
         value[0] == '#';
}

void readTexts(std::string_view text, Place first, bool cut, JobFacts& out);

SpecDocument describe(const SpecText& text, const Tree& tree, Place first, bool cut) {
  SpecDocument d;
  d.templated = text.templated || text.elided;
  d.opaque = text.opaque || text.elided;
  d.templateAt = first;
  d.templateAt.line += text.templated ? text.templateLine : text.firstLine;
  d.broken = tree.failed || cut;
  d.problem = tree.failed ? tree.problem : "";
  d.problemAt = first;
  d.problemAt.line += text.firstLine + tree.problemLine;
  return d;
}

void remarks(const Tree& tree, const TreePlace& place, engine::SpecFacts& out) {
  for (const Tree::Duplicate& d : tree.duplicates) {
    if (out.remarks.size() >= engine::kMaxSpecItems) return;
    Place at = place.first;
    at.line += d.line;
    out.remarks.push_back({SpecRemark::Kind::DuplicateKey, d.key, at});
  }
  if (tree.full) out.remarks.push_back({SpecRemark::Kind::TooMuch, "nesting or size", place.first});
}

// The line where it broke stands at the left edge: what came before is whole.
bool brokeBetweenBlocks(const SpecText& text, std::uint64_t line) {
  std::size_t at = 0;
  for (; line > 0; --line) {
    at = text.text.find('\n', at);
    if (at == std::string::npos) return false;
    ++at;
  }
  return at < text.text.size() && text.text[at] != ' ' && text.text[at] != '\n';
}

void readDocument(const SpecText& text, Place first, bool cut, JobFacts& out) {
  TreePlace place{first};
  place.first.line += text.firstLine;
  const std::string_view bare = withoutBlanks(text.text);
  std::optional<Tree> json;
  if (bare.starts_with('{') || bare.starts_with('[')) json = readJsonTree(text.text);
  Tree tree = json ? std::move(*json) : readYamlTree(text.text);
  SpecDocument about = describe(text, tree, first, cut && !tree.failed);
  if (tree.failed && tree.problemLine > 0 && brokeBetweenBlocks(text, tree.problemLine))
    about.broken = false;
  remarks(tree, place, out.specs);
  if (!tree.root() ||
      (tree.root()->kind != TreeNode::Kind::Map && tree.root()->kind != TreeNode::Kind::Sequence)) {
    // Nothing could be read: keep what is known of it.
    about.fragment = true;
    about.broken = true;
    about.at = place.first;
    if (out.specs.documents.size() < engine::kMaxSpecDocuments)
      out.specs.documents.push_back(std::move(about));
    return;
  }
  readKubeDocument(tree, place, std::move(about), out.specs);
}

void readTexts(std::string_view text, Place first, bool cut, JobFacts& out) {
  const SpecTexts texts = splitSpec(text);
  out.specs.any = true;
  if (texts.tabs && texts.documents.size() < 4096) {
    Place at = first;
    at.line += texts.tabLine;
    if (withoutBlanks(text).find('{') != 0)
      out.specs.remarks.push_back({SpecRemark::Kind::Tabs, "", at});
  }
  for (std::size_t i = 0; i < texts.documents.size(); ++i) {
    const SpecText& one = texts.documents[i];
    if (one.blank && !one.elided) {
      // Before the first document and behind a last "---" that ends nothing there may be none.
      if (!one.separated || out.specs.remarks.size() >= engine::kMaxSpecItems) continue;
      Place at = first;
      at.line += one.firstLine > 0 ? one.firstLine - 1 : 0;
      out.specs.remarks.push_back({SpecRemark::Kind::EmptyDocument, "", at});
      continue;
    }
    if (one.blank) continue;
    readDocument(one, first, cut && i + 1 == texts.documents.size(), out);
  }
}

}  // namespace

Claim claimSpec(std::string_view line, bool inside) noexcept {
  std::string_view bare = withoutBlanks(line);
  if (!inside && bare.starts_with("--- ")) bare = withoutBlanks(bare.substr(4));
  if (bare.empty()) return inside ? Claim::Continues : Claim::No;
  const bool indented = line.front() == ' ' || line.front() == '\t';
  if (bare.front() == '#') {
    const bool script = bare.starts_with("#!") || bare.starts_with("#SBATCH");
    return inside && (indented || !script) ? Claim::Continues : Claim::No;
  }
  const std::string_view key = keyOf(bare);
  if (inside) {
    if (indented || bare == "---" || bare.starts_with("--- ") || bare == "...")
      return Claim::Continues;
    if (bare.starts_with("- ") || bare == "-") return Claim::Continues;
    if (bare.find_first_not_of("}], ") == std::string_view::npos) return Claim::Continues;
    if (bare.starts_with("{{") || bare.starts_with("{%") || bare.starts_with('{'))
      return Claim::Continues;
    return plausibleTopKey(bare) ? Claim::Continues : Claim::No;
  }
  if (isSpecKey(key) || isResourceKey(key)) return Claim::Starts;
  if (bare.starts_with("{{") && bare.find("}}") != std::string_view::npos) return Claim::Starts;
  if (bare.starts_with("{apiVersion") || bare.starts_with("{kind") ||
      bare.starts_with("{metadata") || bare.starts_with("{\"apiVersion\"") ||
      bare.starts_with("{\"kind\"") || bare.starts_with("{spec"))
    return Claim::Starts;
  // "..." above an excerpt is part of it; alone it says nothing and is read as nothing.
  if (bare == "..." && indented) return Claim::Starts;
  return Claim::No;
}

void readSpec(std::string_view text, Place first, bool cut, JobFacts& out) noexcept {
  try {
    if (withoutBlanks(text).empty()) return;
    bool content = false;
    std::string_view rest = text;
    while (!rest.empty() && !content) {
      const auto end = rest.find('\n');
      const std::string_view bare = withoutBlanks(rest.substr(0, end));
      content = !bare.empty() && bare != "..." && bare.front() != '#';
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (!content) return;
    readTexts(text, first, cut, out);
  } catch (const std::exception&) {
    // Out of memory only: what was read so far stands.
    out.specs.any = true;
  }
}

bool readSpecJson(std::string_view text, Place first, JobFacts& out) noexcept {
  try {
    const auto tree = readJsonTree(text);
    if (!tree || !tree->root()) return false;
    const TreeNode* root = tree->root();
    const TreeNode* object = root;
    if (root->kind == TreeNode::Kind::Sequence && !root->children.empty())
      object = tree->at(root->children[0]);
    const bool kube = tree->find(object, "kind") || tree->find(object, "apiVersion") ||
                      tree->find(object, "items") || tree->find(object, "containers") ||
                      tree->find(object, "spec") || tree->find(object, "template");
    if (!kube) return false;
    out.specs.any = true;
    const TreePlace place{first};
    remarks(*tree, place, out.specs);
    readKubeDocument(*tree, place, SpecDocument{}, out.specs);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace rdmaguard::readers
