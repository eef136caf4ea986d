// See tree.h.
#include "verifier/probe/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

namespace rdmaguard::probe {
namespace {

constexpr std::size_t kMostNames = 65536;

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

std::string realPathOf(const char* path) {
  const std::unique_ptr<char, FreeText> real(::realpath(path, nullptr));
  return real ? real.get() : std::string();
}

bool isPlainFile(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

// openat2(2) has no wrapper in glibc 2.36.
int openAt2(int folder, const char* path, unsigned flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_IN_ROOT;
  return static_cast<int>(syscall(SYS_openat2, folder, path, &how, sizeof how));
}

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
  if (live()) return;
  realRoot_ = realPathOf(root_.c_str());
  rootFd_ = open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (rootFd_ < 0) return;
  const Descriptor tried(openAt2(rootFd_, ".", O_PATH | O_CLOEXEC));
  if (tried.fd() >= 0) return;
  close(rootFd_);
  rootFd_ = -1;
}

Tree::~Tree() {
  if (rootFd_ >= 0) close(rootFd_);
}

std::string Tree::at(std::string_view path) const {
  std::string out = root_;
  if (!out.empty() && !path.starts_with('/')) out += '/';
  return out.append(path);
}

int Tree::openBelow(std::string_view path, unsigned flags) const {
  flags |= O_CLOEXEC;
  if (rootFd_ < 0) return open(at(path).c_str(), static_cast<int>(flags));
  return openAt2(rootFd_, std::string(path).c_str(), flags);
}

bool Tree::exists(std::string_view path) const {
  if (rootFd_ >= 0) return Descriptor(openBelow(path, O_PATH)).fd() >= 0;
  struct stat s;
  return stat(at(path).c_str(), &s) == 0;
}

bool Tree::readable(std::string_view path) const {
  if (rootFd_ < 0) return access(at(path).c_str(), R_OK) == 0;
  return Descriptor(openBelow(path, O_RDONLY | O_NONBLOCK)).fd() >= 0;
}

std::optional<std::string> Tree::read(std::string_view path, std::size_t most) const {
  const Descriptor file(openBelow(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (file.fd() < 0 || !isPlainFile(file.fd())) return std::nullopt;
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
  Descriptor folder(openBelow(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK));
  const std::unique_ptr<DIR, CloseDir> dir(folder.fd() < 0 ? nullptr : fdopendir(folder.fd()));
  if (!dir) {
    if (why) *why = errno;
    return std::nullopt;
  }
  folder.release();  // the DIR closes it
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get())) {
    if (names.size() == kMostNames) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), naturalLess);
  return names;
}

std::string Tree::linkName(std::string_view path) const {
  char target[1024];
  ssize_t n = -1;
  if (rootFd_ < 0) {
    n = readlink(at(path).c_str(), target, sizeof target);
  } else {
    const Descriptor link(openBelow(path, O_PATH | O_NOFOLLOW));
    if (link.fd() >= 0) n = readlinkat(link.fd(), "", target, sizeof target);
  }
  if (n <= 0) return {};
  const std::string_view whole(target, static_cast<std::size_t>(n));
  return std::string(whole.substr(whole.find_last_of('/') + 1));
}

std::string Tree::realPath(std::string_view path) const {
  if (live()) return realPathOf(at(path).c_str());
  std::string real;
  if (rootFd_ >= 0) {
    const Descriptor file(openBelow(path, O_PATH));
    if (file.fd() < 0) return {};
    real = realPathOf(("/proc/self/fd/" + std::to_string(file.fd())).c_str());
  }
  if (real.empty()) real = realPathOf(at(path).c_str());
  if (realRoot_.empty() || !real.starts_with(realRoot_)) return {};
  real.erase(0, realRoot_.size());
  return real.starts_with('/') ? real : std::string();
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
