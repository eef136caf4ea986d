// See tree_file.h.
#include "tree_file.h"

#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "elf_file.h"

namespace rdmaguard::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words wordsOf(const std::string& line) {
  std::istringstream in(line);
  Words out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
  }
  return out;
}

std::string configSpace(unsigned acsControl) {
  std::string out(4096, '\0');
  out[0x100] = 0x0d;  // Access Control Services, version 1, the last capability
  out[0x102] = 0x01;
  out[0x106] = static_cast<char>(acsControl);
  return out;
}

std::string replaced(std::string line, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string mark = "{" + name + "}";
    for (auto at = line.find(mark); at != std::string::npos; at = line.find(mark, at))
      line.replace(at, mark.size(), value);
  }
  return line;
}

class Expander {
 public:
  explicit Expander(fs::path root) : root_(std::move(root)) {}

  void text(std::istream& in) {
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      if (line.starts_with("each "))
        table(in, wordsOf(line.substr(5)));
      else
        one(line);
    }
  }

 private:
  void table(std::istream& in, const Words& names) {
    std::vector<std::map<std::string, std::string>> rows;
    std::string line;
    while (std::getline(in, line) && line != "do") {
      const Words words = wordsOf(line);
      if (words.size() != names.size()) throw std::runtime_error("not a row: " + line);
      auto& row = rows.emplace_back();
      for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = words[i];
    }
    while (std::getline(in, line) && line != "end")
      for (const auto& row : rows)
        if (!line.empty() && line[0] != '#') one(replaced(line, row));
  }

  void one(const std::string& line) {
    const auto open = line.find('{'), dots = line.find("..", open), close = line.find('}', dots);
    if (close == std::string::npos) return make(line);
    const int first = std::stoi(line.substr(open + 1)), last = std::stoi(line.substr(dots + 2));
    for (int i = first; i <= last; ++i)
      one(line.substr(0, open) + std::to_string(i) + line.substr(close + 1));
  }

  void make(const std::string& line) {
    const auto blank = line.find(' ');
    const std::string path = line.substr(0, blank);
    const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (!path.starts_with('/')) throw std::runtime_error("not a line of a tree: " + line);
    const fs::path at = root_ / fs::path(path).relative_path();
    fs::create_directories(path.ends_with('/') ? at : at.parent_path());
    if (rest == "=" || rest.starts_with("= ")) {
      file(at, unescaped(rest.substr(std::min<std::size_t>(2, rest.size()))) + "\n");
    } else if (rest == "!") {
      fs::remove(at);
      fs::create_directory(at);
    } else if (rest.starts_with("-> ")) {
      fs::remove(at);
      fs::create_symlink(rest.substr(3), at);
    } else if (rest.starts_with("acs ")) {
      file(at, configSpace(static_cast<unsigned>(std::stoul(rest.substr(4), nullptr, 16))));
    } else if (rest.starts_with("elf ")) {
      const auto bar = rest.find('|');
      file(at, elfFile(wordsOf(rest.substr(4, bar - 4)), wordsOf(rest.substr(bar + 1))));
    } else if (!rest.empty()) {
      throw std::runtime_error("not a line of a tree: " + line);
    }
  }

  static void file(const fs::path& at, const std::string& content) {
    if (fs::is_directory(at)) fs::remove(at);
    std::ofstream out(at, std::ios::binary);
    if (!(out << content)) throw std::runtime_error("cannot write " + at.string());
  }

  fs::path root_;
};

// A tree is thousands of files: in memory where there is room for it.
fs::path placeForTrees() {
  constexpr std::uintmax_t kEnough = 256 << 20;
  std::error_code none;
  const fs::path memory = "/dev/shm";
  if (access(memory.c_str(), W_OK) == 0 && fs::space(memory, none).available >= kEnough && !none)
    return memory;
  return fs::temp_directory_path();
}

}  // namespace

TreeFile::TreeFile(std::string_view name) {
  std::string pattern = (placeForTrees() / "rdmaguard-tree.XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  root_ = pattern;
  const fs::path file = fs::path(RDMAGUARD_TREES) / (std::string(name) + ".tree");
  std::ifstream in(file);
  if (!in) throw std::runtime_error("no such tree: " + file.string());
  Expander(root_).text(in);
}

TreeFile::~TreeFile() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

TreeFile& TreeFile::add(std::string_view lines) {
  std::istringstream in{std::string(lines)};
  Expander(root_).text(in);
  return *this;
}

TreeFile& TreeFile::remove(std::string_view path) {
  if (fs::remove_all(at(path)) == 0)
    throw std::runtime_error("no such path in the tree: " + std::string(path));
  return *this;
}

std::string TreeFile::at(std::string_view path) const {
  return root_ / fs::path(path).relative_path();
}

std::vector<std::string> TreeFile::files() const {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    if (entry.is_regular_file() && !entry.is_symlink()) out.push_back(entry.path().string());
  return out;
}

probe::ProbeOptions TreeFile::options(std::vector<std::string> environment) const {
  probe::ProbeOptions options;
  options.root = root_.string();
  options.environment = std::move(environment);
  return options;
}

engine::NodeFacts TreeFile::read(std::vector<std::string> environment) const {
  return probe::readWholeNode(options(std::move(environment)));
}

}  // namespace rdmaguard::test
