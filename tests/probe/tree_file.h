// A node described in a text file (trees/*.tree) and expanded below a temporary directory, which
// goes with the object. For the tests only. A line is one of
//   /path = text      a file with the text and a newline; \n and \t stand for themselves
//   /path !           something that cannot be read, as an empty slot's attributes cannot
//   /path/            a folder
//   /path -> target   a symbolic link
//   /path acs 1d      a bridge's configuration space whose ACS control register is 0x1d
//   /path elf A B | c d   a shared object with the symbol versions A, B and the constants c, d
//   # comment
// {3..255} in a line makes it one line a number. Between "each NAME..." and "end" come rows of
// words, "do", and lines that are repeated for each row with {NAME} replaced.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/probe/probe.h"

namespace rdmaguard::test {

class TreeFile {
 public:
  /// Throws std::runtime_error that names the line of a file that is not of this form.
  explicit TreeFile(std::string_view name);
  ~TreeFile();
  TreeFile(const TreeFile&) = delete;
  TreeFile& operator=(const TreeFile&) = delete;

  /// Adds or replaces what the lines describe.
  TreeFile& add(std::string_view lines);
  TreeFile& remove(std::string_view path);
  std::string at(std::string_view path) const;
  /// Every plain file of the tree.
  std::vector<std::string> files() const;

  probe::ProbeOptions options(std::vector<std::string> environment = {}) const;
  engine::NodeFacts read(std::vector<std::string> environment = {}) const;

 private:
  std::filesystem::path root_;
};

}  // namespace rdmaguard::test
