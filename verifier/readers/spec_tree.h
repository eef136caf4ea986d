// YAML and JSON as one light tree with line numbers, for the Kubernetes reader. Bounded: aliases
// stay references and are never copied out, nodes and depth are limited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::readers {

struct TreeNode {
  enum class Kind : std::uint8_t { Null, Scalar, Sequence, Map };
  Kind kind = Kind::Null;
  bool plain = true;   ///< a scalar without quotes and not of a block
  bool block = false;  ///< a scalar written as a block ("|" or ">"): its text starts a line below
  std::uint64_t line = 0;               ///< of its first character, counted from 0
  std::string text;                     ///< of a scalar
  std::vector<std::uint32_t> children;  ///< of a map: key, value, key, value ...
};

inline constexpr std::size_t kMaxTreeNodes = std::size_t{4} << 20;
inline constexpr int kMaxTreeDepth = 128;

/// A tree may share nodes (aliases) and an alias may even stand inside what it names: walks go
/// through Tree's own functions or count their steps.
class Tree {
 public:
  std::vector<TreeNode> nodes;  ///< nodes[0] is the root; empty: nothing was read
  bool full = false;            ///< limits were reached: the rest is missing
  bool failed = false;          ///< the text is broken: what stood before is here
  std::string problem;          ///< the parser's words
  std::uint64_t problemLine = 0;
  struct Duplicate {
    std::string key;
    std::uint64_t line = 0;
  };
  std::vector<Duplicate> duplicates;  ///< keys that a map holds twice, at most 64

  const TreeNode* root() const { return nodes.empty() ? nullptr : nodes.data(); }
  const TreeNode* at(std::uint32_t i) const { return i < nodes.size() ? &nodes[i] : nullptr; }

  /// The value of `key` in a map: the last one where it stands twice, as most parsers have it, and
  /// else that of a "<<" merge. Null where there is none or `map` is no map.
  const TreeNode* find(const TreeNode* map, std::string_view key) const {
    return find(map, key, 0);
  }
  /// find() along a path.
  template <typename... Keys>
  const TreeNode* find(const TreeNode* map, std::string_view first, std::string_view second,
                       Keys... rest) const {
    return find(find(map, first), second, rest...);
  }
  /// The text of a scalar, empty for anything else.
  std::string_view text(const TreeNode* node) const {
    return node && node->kind == TreeNode::Kind::Scalar ? std::string_view(node->text)
                                                        : std::string_view();
  }

 private:
  const TreeNode* find(const TreeNode* map, std::string_view key, int depth) const;
};

/// Reads one YAML document. Never throws for what the text holds.
Tree readYamlTree(const std::string& document);
/// Reads one JSON value from the front of `text`; `used` is what it took. Nothing where the text
/// is no JSON value.
std::optional<Tree> readJsonTree(std::string_view text, std::size_t* used = nullptr);

}  // namespace rdmaguard::readers
