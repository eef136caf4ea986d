// See tree.h.
#include "verifier/probe/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace rdmaguard::probe {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view takeNumber(std::string_view& s) {
  while (s.size() > 1 && s[0] == '0' && isDigit(s[1])) s.remove_prefix(1);
  std::size_t n = 0;
  while (n < s.size() && isDigit(s[n])) ++n;
  const std::string_view number = s.substr(0, n);
  s.remove_prefix(n);
  return number;
}

}  // namespace

Tree::Tree(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::string Tree::at(std::string_view path) const {
  std::string out = root_;
  if (!out.empty() && !path.starts_with('/')) out += '/';
  return out.append(path);
}

bool Tree::exists(std::string_view path) const {
  struct stat s;
  return stat(at(path).c_str(), &s) == 0;
}

bool Tree::readable(std::string_view path) const {
  return access(at(path).c_str(), R_OK) == 0;
}

std::optional<std::string> Tree::read(std::string_view path, std::size_t most) const {
  const File file(at(path));
  if (file.fd() < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (text.size() < most) {
    const ssize_t n = ::read(file.fd(), buffer, std::min(sizeof buffer, most - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;  // an attribute that refuses: an empty GID slot, a downed link
    if (n == 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::string Tree::line(std::string_view path) const {
  std::string text = read(path, 4096).value_or("");
  text.erase(std::min(text.find('\n'), text.size()));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.pop_back();
  return text;
}

std::optional<std::vector<std::string>> Tree::list(std::string_view path, int* why) const {
  const std::string full = at(path);
  const std::unique_ptr<DIR, CloseDir> dir(opendir(full.c_str()));
  if (!dir) {
    if (why) *why = errno;
    return std::nullopt;
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end(), naturalLess);
  return names;
}

std::string Tree::linkName(std::string_view path) const {
  char target[1024];
  const ssize_t n = readlink(at(path).c_str(), target, sizeof target);
  if (n <= 0) return {};
  const std::string_view whole(target, static_cast<std::size_t>(n));
  return std::string(whole.substr(whole.find_last_of('/') + 1));
}

bool naturalLess(std::string_view a, std::string_view b) noexcept {
  while (!a.empty() && !b.empty()) {
    if (isDigit(a[0]) && isDigit(b[0])) {
      const std::string_view x = takeNumber(a), y = takeNumber(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

}  // namespace rdmaguard::probe
