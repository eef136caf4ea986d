// One container of a pod: see kube.h.
#include <algorithm>
#include <array>
#include <charconv>

#include "verifier/readers/batch_shell.h"
#include "verifier/readers/kube.h"

namespace rdmaguard::readers {
namespace {

using engine::kMaxSpecItems;
using engine::kMaxSpecText;
using engine::SettingOrigin;
using engine::SpecContainer;
using engine::SpecSetting;

std::string limited(std::string_view text) {
  return std::string(text.substr(0, kMaxSpecText));
}

// $(NAME) of Kubernetes, and what tools put in before it.
bool expands(std::string_view value) {
  return value.find("$(") != std::string_view::npos || value.find("${") != std::string_view::npos ||
         value.find("{{") != std::string_view::npos || value == "__template__" ||
         (value.size() > 1 && value[0] == '$');
}

void readEnv(const Tree& tree, const TreeNode* list, const TreePlace& place, SpecContainer& c) {
  if (!list) return;
  c.envAt = place.of(list);
  // A values file writes a map.
  if (list->kind == TreeNode::Kind::Map) {
    for (std::size_t i = 0; i + 1 < list->children.size() && c.env.size() < kMaxSpecItems; i += 2) {
      const TreeNode* key = tree.at(list->children[i]);
      const TreeNode* value = tree.at(list->children[i + 1]);
      SpecSetting s;
      s.name = limited(tree.text(key));
      s.value = limited(tree.text(value));
      s.valueKnown = !expands(s.value);
      s.at = place.of(key);
      c.env.push_back(std::move(s));
    }
    return;
  }
  for (const std::uint32_t child : list->children) {
    if (c.env.size() >= kMaxSpecItems) break;
    const TreeNode* item = tree.at(child);
    const TreeNode* name = tree.find(item, "name");
    if (!name) continue;
    SpecSetting s;
    s.name = limited(tree.text(name));
    s.at = place.of(name);
    if (const TreeNode* from = tree.find(item, "valueFrom")) {
      s.origin = SettingOrigin::ValueFrom;
      s.valueKnown = false;
      s.configMap = limited(tree.text(tree.find(from, "configMapKeyRef", "name")));
      s.key = limited(tree.text(tree.find(from, "configMapKeyRef", "key")));
    } else {
      const TreeNode* value = tree.find(item, "value");
      s.value = limited(tree.text(value));
      s.valueKnown = !expands(s.value);
      if (value && value->kind == TreeNode::Kind::Scalar) s.at = place.of(value);
    }
    c.env.push_back(std::move(s));
  }
}

void readEnvFrom(const Tree& tree, const TreeNode* list, const TreePlace& place, SpecContainer& c) {
  if (!list || list->kind != TreeNode::Kind::Sequence) return;
  for (const std::uint32_t child : list->children) {
    if (c.envFrom.size() >= kMaxSpecItems) break;
    const TreeNode* item = tree.at(child);
    const TreeNode* map = tree.find(item, "configMapRef");
    const TreeNode* secret = tree.find(item, "secretRef");
    if (!map && !secret) continue;
    engine::SpecEnvSource source;
    source.secret = map == nullptr;
    source.name = limited(tree.text(tree.find(map ? map : secret, "name")));
    source.prefix = limited(tree.text(tree.find(item, "prefix")));
    source.at = place.of(map ? map : secret);
    c.envFrom.push_back(std::move(source));
  }
}

void addWords(const Tree& tree, const TreeNode* list, const TreePlace& place,
              std::vector<ShellWord>& words) {
  if (!list) return;
  if (list->kind == TreeNode::Kind::Scalar) {
    words.push_back({list->text, place.of(list), list->block});
    return;
  }
  if (list->kind != TreeNode::Kind::Sequence) return;
  for (const std::uint32_t child : list->children) {
    const TreeNode* item = tree.at(child);
    if (words.size() >= kMaxSpecItems) return;
    if (item && item->kind == TreeNode::Kind::Scalar)
      words.push_back({item->text, place.of(item), item->block});
  }
}

void readSecurity(const Tree& tree, const TreeNode* context, const TreePlace& place,
                  SpecContainer& c) {
  if (!context) return;
  c.privileged = tree.text(tree.find(context, "privileged")) == "true";
  const TreeNode* add = tree.find(context, "capabilities", "add");
  if (!add) return;
  for (const std::uint32_t child : add->children) {
    const TreeNode* item = tree.at(child);
    if (c.capabilities.size() >= 64) break;
    std::string name = limited(tree.text(item));
    std::transform(name.begin(), name.end(), name.begin(), [](char ch) {
      return ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 32) : ch;
    });
    if (name.starts_with("CAP_")) name.erase(0, 4);
    c.capabilities.push_back({std::move(name), place.of(item)});
  }
}

}  // namespace

std::optional<double> kubeQuantity(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.empty() || text[0] == 'i' || text[0] == 'n') return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  static constexpr std::array<std::pair<std::string_view, double>, 16> kSuffixes{
      {{"", 1},
       {"n", 1e-9},
       {"u", 1e-6},
       {"m", 1e-3},
       {"k", 1e3},
       {"K", 1e3},
       {"M", 1e6},
       {"G", 1e9},
       {"T", 1e12},
       {"P", 1e15},
       {"E", 1e18},
       {"Ki", 1024.},
       {"Mi", 1048576.},
       {"Gi", 1073741824.},
       {"Ti", 1099511627776.},
       {"Pi", 1125899906842624.}}};
  for (const auto& [name, factor] : kSuffixes)
    if (suffix == name) return value * factor;
  return std::nullopt;
}

void readKubeQuantities(const Tree& tree, const TreeNode* map, const TreePlace& place,
                        std::vector<engine::SpecQuantity>& into) {
  if (!map || map->kind != TreeNode::Kind::Map) return;
  for (std::size_t i = 0; i + 1 < map->children.size() && into.size() < kMaxSpecItems; i += 2) {
    const TreeNode* key = tree.at(map->children[i]);
    const TreeNode* value = tree.at(map->children[i + 1]);
    if (tree.text(key) == "<<") {
      // One level: an anchor for the block that several containers share.
      if (value && value->kind == TreeNode::Kind::Map && value != map)
        for (std::size_t k = 0; k + 1 < value->children.size() && into.size() < kMaxSpecItems;
             k += 2) {
          const TreeNode* inner = tree.at(value->children[k + 1]);
          const auto n = kubeQuantity(tree.text(inner));
          into.push_back({limited(tree.text(tree.at(value->children[k]))),
                          limited(tree.text(inner)), n.value_or(0), n.has_value(),
                          place.of(tree.at(value->children[k]))});
        }
      continue;
    }
    engine::SpecQuantity q;
    q.key = limited(tree.text(key));
    q.text = limited(tree.text(value));
    const auto n = kubeQuantity(q.text);
    q.known = n.has_value();
    q.value = n.value_or(0);
    q.at = place.of(key);
    // The last of a key counts.
    std::erase_if(into, [&](const engine::SpecQuantity& old) { return old.key == q.key; });
    into.push_back(std::move(q));
  }
}

SpecContainer readKubeContainer(const Tree& tree, const TreeNode* node, engine::ContainerKind kind,
                                const TreePlace& place) {
  SpecContainer c;
  c.kind = kind;
  c.at = place.of(node);
  c.name = limited(tree.text(tree.find(node, "name")));
  c.image = limited(tree.text(tree.find(node, "image")));
  if (kind == engine::ContainerKind::Init &&
      tree.text(tree.find(node, "restartPolicy")) == "Always")
    c.kind = engine::ContainerKind::NativeSidecar;
  if (const TreeNode* resources = tree.find(node, "resources")) {
    c.resourcesAt = place.of(resources);
    readKubeQuantities(tree, tree.find(resources, "limits"), place, c.limits);
    readKubeQuantities(tree, tree.find(resources, "requests"), place, c.requests);
    if (const TreeNode* claims = tree.find(resources, "claims"))
      for (const std::uint32_t child : claims->children) {
        if (c.claims.size() >= kMaxSpecItems) break;
        const TreeNode* item = tree.at(child);
        const TreeNode* name = tree.find(item, "name");
        if (name) c.claims.push_back({limited(tree.text(name)), place.of(name)});
      }
  }
  readEnv(tree, tree.find(node, "env"), place, c);
  readEnvFrom(tree, tree.find(node, "envFrom"), place, c);
  std::vector<ShellWord> words;
  addWords(tree, tree.find(node, "command"), place, words);
  addWords(tree, tree.find(node, "args"), place, words);
  readShellWords(words, c.command);
  std::vector<ShellWord> hook;
  addWords(tree, tree.find(node, "lifecycle", "postStart", "exec", "command"), place, hook);
  if (!hook.empty()) readShellWords(hook, c.command);
  readSecurity(tree, tree.find(node, "securityContext"), place, c);
  if (const TreeNode* mounts = tree.find(node, "volumeMounts"))
    for (const std::uint32_t child : mounts->children) {
      if (c.mounts.size() >= kMaxSpecItems) break;
      const TreeNode* item = tree.at(child);
      c.mounts.push_back({limited(tree.text(tree.find(item, "name"))),
                          limited(tree.text(tree.find(item, "mountPath"))), place.of(item)});
    }
  return c;
}

}  // namespace rdmaguard::readers
