// See spec_tree.h. yaml-cpp's event interface instead of its nodes: those copy nothing either, but
// cost ten times the memory, hide duplicate keys and follow aliases.
#include "verifier/readers/spec_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxDuplicates = 64;
constexpr int kMaxMergeDepth = 8;

// Puts events together; both formats feed it.
class Builder {
 public:
  explicit Builder(Tree& tree) : tree_(tree) {}

  // The number of the new node, or -1 where the limits are reached.
  std::int64_t add(TreeNode::Kind kind, std::uint64_t line) {
    if (tree_.nodes.size() >= kMaxTreeNodes || open_.size() > kMaxTreeDepth) {
      tree_.full = true;
      return -1;
    }
    const auto index = static_cast<std::uint32_t>(tree_.nodes.size());
    TreeNode& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.line = line;
    attach(index);
    return index;
  }

  void refer(std::uint32_t index) { attach(index); }

  void open(std::int64_t index) { open_.push_back(index); }

  void close() {
    if (open_.empty()) return;
    const std::int64_t index = open_.back();
    open_.pop_back();
    if (index >= 0) findDuplicates(tree_.nodes[static_cast<std::size_t>(index)]);
  }

 private:
  void attach(std::uint32_t index) {
    if (open_.empty() || open_.back() < 0) return;
    tree_.nodes[static_cast<std::size_t>(open_.back())].children.push_back(index);
  }

  void findDuplicates(const TreeNode& map) {
    if (map.kind != TreeNode::Kind::Map) return;
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const TreeNode& key = tree_.nodes[map.children[i]];
      if (key.kind != TreeNode::Kind::Scalar || key.text == "<<") continue;
      if (!seen.insert(key.text).second && tree_.duplicates.size() < kMaxDuplicates)
        tree_.duplicates.push_back({key.text, key.line});
    }
  }

  Tree& tree_;
  std::vector<std::int64_t> open_;  // -1: a node that the limits kept out
};

class YamlEvents final : public YAML::EventHandler {
 public:
  YamlEvents(Tree& tree, std::string_view document)
      : tree_(tree), builder_(tree), document_(document) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    name(anchor, builder_.add(TreeNode::Kind::Null, lineOf(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known != anchors_.end())
      builder_.refer(known->second);
    else
      builder_.add(TreeNode::Kind::Null, lineOf(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const std::int64_t index = builder_.add(TreeNode::Kind::Scalar, lineOf(mark));
    if (index >= 0) {
      TreeNode& node = tree_.nodes[static_cast<std::size_t>(index)];
      node.text = value;
      node.plain = tag != "!";
      node.block = !node.plain && isBlock(mark);
    }
    name(anchor, index);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(TreeNode::Kind::Sequence, mark, anchor);
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(TreeNode::Kind::Map, mark, anchor);
  }
  void OnMapEnd() override { builder_.close(); }

 private:
  static std::uint64_t lineOf(const YAML::Mark& mark) {
    return mark.line > 0 ? static_cast<std::uint64_t>(mark.line) : 0;
  }
  bool isBlock(const YAML::Mark& mark) const {
    const auto at = static_cast<std::size_t>(mark.pos);
    return mark.pos >= 0 && at < document_.size() && (document_[at] == '|' || document_[at] == '>');
  }
  void start(TreeNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const std::int64_t index = builder_.add(kind, lineOf(mark));
    name(anchor, index);
    builder_.open(index);
  }
  void name(YAML::anchor_t anchor, std::int64_t index) {
    if (anchor != YAML::NullAnchor && index >= 0)
      anchors_[anchor] = static_cast<std::uint32_t>(index);
  }

  Tree& tree_;
  Builder builder_;
  std::string_view document_;
  std::unordered_map<YAML::anchor_t, std::uint32_t> anchors_;
};

// Characters of a JSON text; counts the lines up to the last one taken.
class CountingIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  struct Count {
    const char* last = nullptr;  // the character taken last
    std::uint64_t lines = 0;     // line ends before it
  };

  CountingIterator() = default;
  CountingIterator(const char* at, Count* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (count_) {
      if (count_->last && *count_->last == '\n') ++count_->lines;
      count_->last = at_;
    }
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_ = nullptr;
  Count* count_ = nullptr;
};

class JsonEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonEvents(Tree& tree, const CountingIterator::Count& count)
      : tree_(tree), builder_(tree), count_(count) {}

  bool null() override { return builder_.add(TreeNode::Kind::Null, count_.lines) >= 0; }
  bool boolean(bool value) override { return scalar(value ? "true" : "false", true); }
  bool number_integer(number_integer_t value) override {
    return scalar(std::to_string(value), true);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(std::to_string(value), true);
  }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text, true); }
  bool string(string_t& value) override { return scalar(value, false); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override { return scalar(value, false); }
  bool start_object(std::size_t) override { return start(TreeNode::Kind::Map); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return start(TreeNode::Kind::Sequence); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    tree_.failed = true;
    tree_.problem = e.what();
    tree_.problemLine = count_.lines;
    return false;
  }

 private:
  bool scalar(const std::string& value, bool plain) {
    const std::int64_t index = builder_.add(TreeNode::Kind::Scalar, count_.lines);
    if (index < 0) return false;
    TreeNode& node = tree_.nodes[static_cast<std::size_t>(index)];
    node.text = value;
    node.plain = plain;
    return true;
  }
  bool start(TreeNode::Kind kind) {
    const std::int64_t index = builder_.add(kind, count_.lines);
    builder_.open(index);
    return index >= 0;
  }
  bool end() {
    builder_.close();
    return true;
  }

  Tree& tree_;
  Builder builder_;
  const CountingIterator::Count& count_;
};

}  // namespace

const TreeNode* Tree::find(const TreeNode* map, std::string_view key, int depth) const {
  if (!map || map->kind != TreeNode::Kind::Map) return nullptr;
  for (std::size_t i = map->children.size() / 2; i-- > 0;) {
    const TreeNode& k = nodes[map->children[2 * i]];
    if (k.kind == TreeNode::Kind::Scalar && k.text == key) return &nodes[map->children[2 * i + 1]];
  }
  if (depth >= kMaxMergeDepth) return nullptr;
  for (std::size_t i = map->children.size() / 2; i-- > 0;) {
    if (nodes[map->children[2 * i]].text != "<<") continue;
    const TreeNode& merged = nodes[map->children[2 * i + 1]];
    if (const TreeNode* found = find(&merged, key, depth + 1)) return found;
    if (merged.kind != TreeNode::Kind::Sequence) continue;
    // A short list only: each entry may branch again.
    for (std::size_t c = 0; c < std::min<std::size_t>(merged.children.size(), 4); ++c)
      if (const TreeNode* found = find(&nodes[merged.children[c]], key, depth + 1)) return found;
  }
  return nullptr;
}

Tree readYamlTree(const std::string& document) {
  Tree tree;
  try {
    std::istringstream stream(document);
    YAML::Parser parser(stream);
    YamlEvents events(tree, document);
    parser.HandleNextDocument(events);
  } catch (const YAML::Exception& e) {
    tree.failed = true;
    tree.problem = e.msg;
    tree.problemLine = e.mark.line > 0 ? static_cast<std::uint64_t>(e.mark.line) : 0;
  }
  // What an error left open: a map with a key and no value.
  for (TreeNode& node : tree.nodes)
    if (node.kind == TreeNode::Kind::Map && node.children.size() % 2 != 0) node.children.pop_back();
  return tree;
}

std::optional<Tree> readJsonTree(std::string_view text, std::size_t* used) {
  Tree tree;
  CountingIterator::Count count;
  JsonEvents events(tree, count);
  const CountingIterator begin(text.data(), &count);
  const CountingIterator end(text.data() + text.size(), nullptr);
  const bool read = nlohmann::json::sax_parse(
      begin, end, &events, nlohmann::json::input_format_t::json, used == nullptr);
  if (used) *used = count.last ? static_cast<std::size_t>(count.last - text.data()) + 1 : 0;
  if (!read && !tree.full) return std::nullopt;
  if (tree.nodes.empty()) return std::nullopt;
  for (TreeNode& node : tree.nodes)
    if (node.kind == TreeNode::Kind::Map && node.children.size() % 2 != 0) node.children.pop_back();
  return tree;
}

}  // namespace rdmaguard::readers
