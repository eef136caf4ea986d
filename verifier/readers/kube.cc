// See kube.h. A pod is found by what it looks like (a map with a list of containers), so that a
// kind this reader never heard of is read too; the path to it names its role and its number.
#include "verifier/readers/kube.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rdmaguard::readers {
namespace {

using engine::kMaxSpecItems;
using engine::kMaxSpecRoles;
using engine::kMaxSpecText;
using engine::SpecDocument;
using engine::SpecFacts;
using engine::SpecRole;

constexpr int kMaxWalkDepth = 64;
constexpr std::size_t kMaxSteps = std::size_t{8} << 20;
constexpr std::size_t kMaxContainers = 256;
constexpr std::size_t kMaxWeight = std::size_t{64} << 20;
constexpr std::string_view kMultus = "k8s.v1.cni.cncf.io/networks";

std::string limited(std::string_view text) {
  return std::string(text.substr(0, kMaxSpecText));
}

bool oneOf(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Walks one object from its root to the pods in it.
class Object {
 public:
  /// What all objects of a document share.
  struct Budget {
    std::size_t steps = kMaxSteps;
    std::size_t weight = 0;
    bool said = false;
  };

  Object(const Tree& tree, const TreePlace& place, SpecFacts& out, Budget& budget)
      : tree_(tree),
        place_(place),
        out_(out),
        steps_(budget.steps),
        weight_(budget.weight),
        saidTooMuch_(budget.said) {}

  void read(const TreeNode* root, SpecDocument about) {
    about.kind = limited(tree_.text(tree_.find(root, "kind")));
    about.apiVersion = limited(tree_.text(tree_.find(root, "apiVersion")));
    about.name = limited(tree_.text(tree_.find(root, "metadata", "name")));
    about.fragment = about.kind.empty();
    about.at = place_.of(root);
    document_ = out_.documents.size();
    if (document_ < engine::kMaxSpecDocuments)
      out_.documents.push_back(about);
    else
      document_ = engine::kMaxSpecDocuments - 1;
    about_ = std::move(about);
    if (about_.kind == "NodeSet" && !out_.sunk) out_.sunk = place_.of(root);
    if (readKubeObject(tree_, root, about_.kind, place_, out_)) return;
    Path path;
    walk(root, path, 0);
    if (out_.documents.size() > document_) out_.documents[document_].holdsPod = found_;
    if (!found_) loose(root, 0);
  }

 private:
  struct Step {
    std::string_view key;  // of the map above; empty: an item of a list
    const TreeNode* node;
  };
  using Path = std::vector<Step>;

  void walk(const TreeNode* node, Path& path, int depth) {
    if (!node || depth > kMaxWalkDepth || steps_ == 0) return;
    --steps_;
    if (node->kind == TreeNode::Kind::Map) {
      path.push_back({path.empty() ? std::string_view() : nextKey_, node});
      if (isPod(node)) {
        pod(node, path);
      } else {
        for (std::size_t i = 0; i + 1 < node->children.size(); i += 2) {
          const std::string_view key = tree_.text(tree_.at(node->children[i]));
          // What a server adds says nothing of what is asked for.
          if (path.size() == 1 && oneOf(key, {"status", "metadata"})) continue;
          nextKey_ = key;
          const TreeNode* child = tree_.at(node->children[i + 1]);
          // Of a key that stands twice the last counts. (Large maps are data: not worth the
          // search.)
          if (node->children.size() > 256 || tree_.find(node, key) == child)
            walk(child, path, depth + 1);
        }
      }
      path.pop_back();
    } else if (node->kind == TreeNode::Kind::Sequence) {
      const std::string_view key = nextKey_;
      path.push_back({key, node});
      for (const std::uint32_t child : node->children) {
        nextKey_ = {};
        walk(tree_.at(child), path, depth + 1);
      }
      path.pop_back();
    }
  }

  bool isPod(const TreeNode* node) const {
    const TreeNode* list = tree_.find(node, "containers");
    if (list && list->kind == TreeNode::Kind::Sequence && !list->children.empty()) {
      const TreeNode* first = tree_.at(list->children[0]);
      return first && first->kind == TreeNode::Kind::Map;
    }
    // Argo's templates have one container.
    const TreeNode* one = tree_.find(node, "container");
    return one && one->kind == TreeNode::Kind::Map && tree_.find(one, "image");
  }

  void containers(const TreeNode* list, engine::ContainerKind kind, SpecRole& role) {
    if (!list) return;
    if (list->kind == TreeNode::Kind::Map) container(list, kind, role);
    if (list->kind != TreeNode::Kind::Sequence) return;
    for (const std::uint32_t child : list->children) {
      const TreeNode* node = tree_.at(child);
      if (node && node->kind == TreeNode::Kind::Map) container(node, kind, role);
    }
  }

  // Aliases can name one large container many times: what is copied is weighed.
  void container(const TreeNode* node, engine::ContainerKind kind, SpecRole& role) {
    if (role.containers.size() >= kMaxContainers || weight_ >= kMaxWeight) {
      tooMuch("containers", node);
      return;
    }
    role.containers.push_back(readKubeContainer(tree_, node, kind, place_));
    const engine::SpecContainer& c = role.containers.back();
    weight_ += sizeof c;
    for (const auto* list : {&c.env, &c.command.settings})
      for (const engine::SpecSetting& s : *list) weight_ += sizeof s + s.value.size();
    for (const auto* list : {&c.limits, &c.requests}) weight_ += list->size() * 128;
    weight_ += (c.mounts.size() + c.envFrom.size() + c.claims.size()) * 128;
  }

  void tooMuch(std::string_view what, const TreeNode* node) {
    if (std::exchange(saidTooMuch_, true)) return;
    out_.remarks.push_back({engine::SpecRemark::Kind::TooMuch, std::string(what), place_.of(node)});
  }

  void pod(const TreeNode* spec, const Path& path) {
    found_ = true;
    if (out_.roles.size() >= kMaxSpecRoles) {
      tooMuch("pods", spec);
      return;
    }
    SpecRole role;
    role.document = document_;
    role.kind = about_.kind;
    role.apiVersion = about_.apiVersion;
    role.workload = about_.name;
    role.at = place_.of(spec);
    containers(tree_.find(spec, "initContainers"), engine::ContainerKind::Init, role);
    const TreeNode* main = tree_.find(spec, "containers");
    containers(main ? main : tree_.find(spec, "container"), engine::ContainerKind::Main, role);
    volumes(tree_.find(spec, "volumes"), role);
    claims(tree_.find(spec, "resourceClaims"), role);
    role.hostNetwork = tree_.text(tree_.find(spec, "hostNetwork")) == "true";
    role.schedulerName = limited(tree_.text(tree_.find(spec, "schedulerName")));
    role.antiAffinity = tree_.find(spec, "affinity", "podAntiAffinity") != nullptr ||
                        tree_.find(spec, "topologySpreadConstraints") != nullptr;
    for (const std::string_view key : {"nodeSelector", "affinity", "tolerations"})
      words(tree_.find(spec, key), role.nodeWords, 0);
    // The template's metadata stands beside its spec; a Pod's is the object's own.
    if (path.size() >= 2) annotations(tree_.find(path[path.size() - 2].node, "metadata"), role);
    nameAndNumber(path, role);
    out_.roles.push_back(std::move(role));
  }

  void volumes(const TreeNode* list, SpecRole& role) {
    if (!list) return;
    for (const std::uint32_t child : list->children) {
      const TreeNode* item = tree_.at(child);
      if (role.volumes.size() >= kMaxSpecItems) break;
      engine::SpecVolume v;
      v.name = limited(tree_.text(tree_.find(item, "name")));
      if (v.name.empty()) continue;
      v.hostPath = limited(tree_.text(tree_.find(item, "hostPath", "path")));
      v.memory = tree_.text(tree_.find(item, "emptyDir", "medium")) == "Memory";
      v.at = place_.of(item);
      role.volumes.push_back(std::move(v));
    }
  }

  void claims(const TreeNode* list, SpecRole& role) {
    if (!list) return;
    for (const std::uint32_t child : list->children) {
      const TreeNode* item = tree_.at(child);
      if (role.claims.size() >= kMaxSpecItems) break;
      engine::SpecClaim c;
      c.name = limited(tree_.text(tree_.find(item, "name")));
      if (c.name.empty()) continue;
      c.templateName = limited(tree_.text(tree_.find(item, "resourceClaimTemplateName")));
      if (c.templateName.empty())
        c.templateName =
            limited(tree_.text(tree_.find(item, "source", "resourceClaimTemplateName")));
      c.claimName = limited(tree_.text(tree_.find(item, "resourceClaimName")));
      c.at = place_.of(item);
      role.claims.push_back(std::move(c));
    }
  }

  void annotations(const TreeNode* metadata, SpecRole& role) {
    for (const std::string_view block : {"annotations", "labels"}) {
      const TreeNode* map = tree_.find(metadata, block);
      if (!map || map->kind != TreeNode::Kind::Map) continue;
      for (std::size_t i = 0; i + 1 < map->children.size(); i += 2) {
        const TreeNode* key = tree_.at(map->children[i]);
        const TreeNode* value = tree_.at(map->children[i + 1]);
        if (role.annotations.size() >= kMaxSpecItems) break;
        if (tree_.text(key) == kMultus) {
          role.networks = readMultusNetworks(tree_.text(value), value, place_);
          role.networksAt = place_.of(key);
        }
        role.annotations.push_back(
            {limited(tree_.text(key)), limited(tree_.text(value)), place_.of(key)});
      }
    }
  }

  void words(const TreeNode* node, std::vector<engine::SpecName>& into, int depth) {
    if (!node || depth > kMaxWalkDepth || steps_ == 0 || into.size() >= kMaxSpecItems) return;
    --steps_;
    if (node->kind == TreeNode::Kind::Scalar) {
      into.push_back({limited(node->text), place_.of(node)});
      return;
    }
    for (const std::uint32_t child : node->children) words(tree_.at(child), into, depth + 1);
  }

  // Walks down the path: each level may multiply the number of pods and name the role.
  void nameAndNumber(const Path& path, SpecRole& role) {
    double pods = 1;
    bool known = true;
    const auto times = [&](const TreeNode* n) {
      if (!n || n->kind != TreeNode::Kind::Scalar) return;
      const auto value = kubeQuantity(n->text);
      if (value)
        pods *= *value;
      else
        known = false;
    };
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Step& step = path[i];
      if (step.node->kind != TreeNode::Kind::Map) continue;
      const bool item = i > 0 && path[i - 1].node->kind == TreeNode::Kind::Sequence;
      if (item && i >= 1 && step.node != path.back().node) {
        // A task, a replicated job, a group of workers.
        for (const std::string_view key : {"name", "groupName"})
          if (const TreeNode* name = tree_.find(step.node, key); name && role.role.empty())
            role.role = limited(tree_.text(name));
      }
      if (step.key.ends_with("Template") && step.key != "podTemplate" && step.key != "jobTemplate")
        role.role = limited(step.key.substr(0, step.key.size() - 8));
      if (step.key == "headGroupSpec") role.role = "head";
      if (i > 0 && path[i - 1].key.ends_with("ReplicaSpecs")) role.role = limited(step.key);
      if (step.node == path.back().node && i > 0) continue;
      const TreeNode* replicas = tree_.find(step.node, "replicas");
      if (replicas) times(replicas);
      // Completions at once: as many pods as run beside each other.
      const TreeNode* parallelism = tree_.find(step.node, "parallelism");
      const TreeNode* completions = tree_.find(step.node, "completions");
      if (parallelism)
        times(parallelism);
      else if (completions)
        times(completions);
      if (const TreeNode* size = tree_.find(step.node, "size");
          size && step.key == "leaderWorkerTemplate" && kubeQuantity(tree_.text(size))) {
        const double n = *kubeQuantity(tree_.text(size));
        const bool leader = i + 1 < path.size() && path[i + 1].key == "leaderTemplate";
        const bool hasLeader = tree_.find(step.node, "leaderTemplate") != nullptr;
        if (!leader) pods *= hasLeader ? std::max(0.0, n - 1) : n;
      }
      if (const TreeNode* slices = tree_.find(step.node, "numNodes"); slices && i > 0)
        times(slices);
    }
    if (known) role.pods = pods;
  }

  // Values files, excerpts: limits and requests and variables wherever they stand.
  void loose(const TreeNode* node, int depth) {
    if (!node || depth > kMaxWalkDepth || steps_ == 0) return;
    --steps_;
    if (node->kind == TreeNode::Kind::Map) {
      for (std::size_t i = 0; i + 1 < node->children.size(); i += 2) {
        const TreeNode* key = tree_.at(node->children[i]);
        const TreeNode* value = tree_.at(node->children[i + 1]);
        const std::string_view name = tree_.text(key);
        if (oneOf(name, {"limits", "requests"}) && out_.looseQuantities.size() < kMaxSpecItems)
          readKubeQuantities(tree_, value, place_, out_.looseQuantities);
        else if ((name.starts_with("NCCL_") || name.starts_with("UCX_")) &&
                 out_.looseSettings.size() < kMaxSpecItems)
          out_.looseSettings.push_back({limited(name), limited(tree_.text(value)), true,
                                        engine::SettingOrigin::Env, "", "", place_.of(key)});
        loose(value, depth + 1);
      }
      return;
    }
    for (const std::uint32_t child : node->children) loose(tree_.at(child), depth + 1);
  }

  const Tree& tree_;
  const TreePlace& place_;
  SpecFacts& out_;
  std::size_t& steps_;
  std::size_t& weight_;
  bool& saidTooMuch_;
  SpecDocument about_;
  std::size_t document_ = 0;
  std::string_view nextKey_;
  bool found_ = false;
};

}  // namespace

void readKubeDocument(const Tree& tree, const TreePlace& place, SpecDocument about,
                      SpecFacts& out) {
  const TreeNode* root = tree.root();
  if (!root) return;
  Object::Budget budget;
  const TreeNode* items = tree.find(root, "items");
  const std::string_view kind = tree.text(tree.find(root, "kind"));
  const bool list =
      items && items->kind == TreeNode::Kind::Sequence && (kind.ends_with("List") || kind.empty());
  if (list || root->kind == TreeNode::Kind::Sequence) {
    const TreeNode* all = list ? items : root;
    for (const std::uint32_t child : all->children) {
      const TreeNode* item = tree.at(child);
      if (item && item->kind == TreeNode::Kind::Map && item != root)
        Object(tree, place, out, budget).read(item, about);
    }
  } else {
    Object(tree, place, out, budget).read(root, std::move(about));
  }
  if (budget.steps == 0)
    out.remarks.push_back(
        {engine::SpecRemark::Kind::TooMuch, "aliases or objects", place.of(root)});
}

}  // namespace rdmaguard::readers
