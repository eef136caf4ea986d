// Files below a root directory, read without side effects: no locale, no exec, every
// descriptor close-on-exec and closed at once. Symbolic links stay below the root (openat2, Linux
// 5.6; older kernels follow them as they are). Only plain files are read, so that a pipe or a
// device in a file's place keeps nobody waiting. For verifier/probe only; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::probe {

class Tree {
 public:
  explicit Tree(std::string root);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// True when the tree is this machine itself.
  bool live() const { return root_.empty(); }

  /// The path on this machine of an absolute path of the tree.
  std::string at(std::string_view path) const;

  bool exists(std::string_view path) const;
  bool readable(std::string_view path) const;
  /// At most `most` bytes; nothing when it cannot be opened or read.
  std::optional<std::string> read(std::string_view path, std::size_t most = 65536) const;
  /// The first line without blanks at its end; empty when it cannot be read.
  std::string line(std::string_view path) const;
  /// Names in a directory in natural order (mlx5_2 before mlx5_10), without dot files, 65536 at
  /// most; nothing when it cannot be listed, and then the errno in `why`.
  std::optional<std::vector<std::string>> list(std::string_view path, int* why = nullptr) const;
  /// The last component of a symbolic link's target; empty when it is none.
  std::string linkName(std::string_view path) const;
  /// The path, in the tree, without symbolic links; empty when it does not exist or leads out.
  std::string realPath(std::string_view path) const;

 private:
  int openBelow(std::string_view path, unsigned flags) const;

  std::string root_;      // without a slash at its end; empty for "/"
  std::string realRoot_;  // the same without symbolic links
  int rootFd_ = -1;       // -1 for "/", and where openat2 cannot be had
};

/// Order of names in which numbers count as numbers.
bool naturalLess(std::string_view a, std::string_view b) noexcept;

}  // namespace rdmaguard::probe
