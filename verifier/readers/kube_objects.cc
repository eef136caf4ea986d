// Objects that pods refer to, and Multus' annotation: see kube.h.
#include <algorithm>

#include "verifier/readers/kube.h"

namespace rdmaguard::readers {
namespace {

using engine::kMaxSpecItems;
using engine::kMaxSpecText;
using engine::SpecName;

constexpr int kMaxWalkDepth = 32;

std::string limited(std::string_view text) {
  return std::string(text.substr(0, kMaxSpecText));
}

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

// All scalars below a node; `steps` bounds what aliases could multiply.
void words(const Tree& tree, const TreeNode* node, const TreePlace& place, int depth,
           std::size_t& steps, std::vector<SpecName>& into) {
  if (!node || depth > kMaxWalkDepth || steps == 0 || into.size() >= kMaxSpecItems) return;
  --steps;
  if (node->kind == TreeNode::Kind::Scalar) {
    into.push_back({limited(node->text), place.of(node)});
    return;
  }
  for (const std::uint32_t child : node->children)
    words(tree, tree.at(child), place, depth + 1, steps, into);
}

// "resourceName"/"isRdma" pairs in a device plugin's configuration, which is JSON in a string.
void policiesIn(std::string_view json, const TreeNode* node, const TreePlace& place,
                engine::SpecFacts& out) {
  if (json.find("resourceName") == std::string_view::npos) return;
  const auto tree = readJsonTree(json);
  if (!tree) return;
  std::size_t steps = 100000;
  const auto visit = [&](const auto& self, const TreeNode* n, int depth) -> void {
    if (!n || depth > kMaxWalkDepth || steps == 0 || out.policies.size() >= kMaxSpecItems) return;
    --steps;
    if (const TreeNode* name = tree->find(n, "resourceName")) {
      engine::SpecResourcePolicy p;
      p.resourceName = limited(tree->text(name));
      const TreeNode* rdma = tree->find(n, "isRdma");
      if (!rdma) rdma = tree->find(n, "selectors", "isRdma");
      // The shared RDMA plugin hands out nothing else.
      if (tree->find(n, "rdmaHcaMax"))
        p.isRdma = true;
      else
        p.isRdma = rdma && tree->text(rdma) == "true";
      p.at = place.of(node);
      if (node->block) p.at.line += 1 + name->line;
      out.policies.push_back(std::move(p));
    }
    for (const std::uint32_t child : n->children) self(self, tree->at(child), depth + 1);
  };
  visit(visit, tree->root(), 0);
}

void readConfigMap(const Tree& tree, const TreeNode* object, const TreePlace& place,
                   engine::SpecFacts& out) {
  if (out.configMaps.size() >= kMaxSpecItems) return;
  engine::SpecConfigMap map;
  map.name = limited(tree.text(tree.find(object, "metadata", "name")));
  map.at = place.of(object);
  for (const std::string_view block : {"data", "stringData"}) {
    const TreeNode* data = tree.find(object, block);
    if (!data || data->kind != TreeNode::Kind::Map) continue;
    for (std::size_t i = 0; i + 1 < data->children.size() && map.data.size() < kMaxSpecItems;
         i += 2) {
      const TreeNode* key = tree.at(data->children[i]);
      const TreeNode* value = tree.at(data->children[i + 1]);
      engine::SpecSetting s;
      s.name = limited(tree.text(key));
      s.value = limited(tree.text(value));
      s.at = place.of(key);
      policiesIn(tree.text(value), value, place, out);
      map.data.push_back(std::move(s));
    }
  }
  out.configMaps.push_back(std::move(map));
}

}  // namespace

bool readKubeObject(const Tree& tree, const TreeNode* object, std::string_view kind,
                    const TreePlace& place, engine::SpecFacts& out) {
  const std::string name = limited(tree.text(tree.find(object, "metadata", "name")));
  if (kind == "ConfigMap" || kind == "Secret") {
    readConfigMap(tree, object, place, out);
    return true;
  }
  if (kind == "ResourceClaimTemplate" || kind == "ResourceClaim") {
    if (out.claimTemplates.size() >= kMaxSpecItems) return true;
    engine::SpecClaimTemplate t;
    t.name = name;
    t.at = place.of(object);
    std::size_t steps = 10000;
    words(tree, tree.find(object, "spec"), place, 0, steps, t.words);
    out.claimTemplates.push_back(std::move(t));
    return true;
  }
  if (kind == "ComputeDomain") {
    if (!out.computeDomain) out.computeDomain = place.of(object);
    const TreeNode* made = tree.find(object, "spec", "channel", "resourceClaimTemplate", "name");
    if (made && out.computeDomainClaims.size() < kMaxSpecItems)
      out.computeDomainClaims.push_back(limited(tree.text(made)));
    return true;
  }
  if (kind == "SriovNetworkNodePolicy" || kind == "SriovNetworkPoolConfig") {
    const TreeNode* resource = tree.find(object, "spec", "resourceName");
    if (!resource || out.policies.size() >= kMaxSpecItems) return true;
    engine::SpecResourcePolicy p;
    p.resourceName = limited(tree.text(resource));
    // Absent means false: the operator's default.
    p.isRdma = tree.text(tree.find(object, "spec", "isRdma")) == "true";
    p.at = place.of(resource);
    out.policies.push_back(std::move(p));
    return true;
  }
  if (kind == "NicClusterPolicy") {
    std::size_t steps = 10000;
    std::vector<SpecName> all;
    words(tree, tree.find(object, "spec"), place, 0, steps, all);
    for (const SpecName& w : all)
      if (w.name.find("resourceName") != std::string::npos) {
        TreeNode node;
        node.line = w.at.line - place.first.line;
        policiesIn(w.name, &node, place, out);
      }
    return true;
  }
  if (kind == "NetworkAttachmentDefinition" || kind == "SriovNetwork" || kind == "SriovIBNetwork" ||
      kind == "HostDeviceNetwork" || kind == "MacvlanNetwork" || kind == "IPoIBNetwork") {
    if (out.networkDefinitions.size() >= kMaxSpecItems) return true;
    engine::SpecNetworkDefinition n;
    n.name = name;
    n.at = place.of(object);
    n.resourceName = limited(
        tree.text(tree.find(object, "metadata", "annotations", "k8s.v1.cni.cncf.io/resourceName")));
    if (n.resourceName.empty())
      n.resourceName = limited(tree.text(tree.find(object, "spec", "resourceName")));
    n.config = limited(tree.text(tree.find(object, "spec", "config")));
    if (n.config.empty()) n.config = kind;
    out.networkDefinitions.push_back(std::move(n));
    return true;
  }
  return false;
}

std::vector<SpecName> readMultusNetworks(std::string_view value, const TreeNode* node,
                                         const TreePlace& place) {
  std::vector<SpecName> networks;
  const std::string_view text = trimmed(value);
  engine::Place at = place.of(node);
  if (text.starts_with('[')) {
    // The one format is JSON; a trailing comma or a single quote makes it no JSON but still YAML.
    auto tree = readJsonTree(text);
    if (!tree) tree = readYamlTree(std::string(text));
    const TreeNode* list = tree->root();
    if (list && list->kind == TreeNode::Kind::Sequence)
      for (const std::uint32_t child : list->children) {
        if (networks.size() >= kMaxSpecItems) break;
        const TreeNode* item = tree->at(child);
        std::string name(tree->text(item));
        if (const TreeNode* n = tree->find(item, "name")) name = tree->text(n);
        const std::string_view ns = tree->text(tree->find(item, "namespace"));
        if (name.empty()) continue;
        if (!ns.empty()) name.insert(0, "/").insert(0, ns);
        engine::Place here = at;
        if (node && node->block && item) here.line += 1 + item->line;
        networks.push_back({limited(name), here});
      }
    return networks;
  }
  std::string_view rest = text;
  while (!rest.empty() && networks.size() < kMaxSpecItems) {
    const auto comma = rest.find_first_of(",\n");
    std::string_view one = trimmed(rest.substr(0, comma));
    one = one.substr(0, one.find('@'));
    if (!one.empty()) networks.push_back({limited(one), at});
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return networks;
}

}  // namespace rdmaguard::readers
