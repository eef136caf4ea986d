// See in_child.h.
#include "verifier/probe/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace rdmaguard::probe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMost = std::size_t{4} << 20;
constexpr int kThrew = 70;  // EX_SOFTWARE of sysexits.h

struct Pipe {
  std::array<int, 2> end{-1, -1};

  Pipe() {
    if (::pipe2(end.data(), O_CLOEXEC) != 0) end = {-1, -1};
  }
  ~Pipe() {
    for (const int fd : end)
      if (fd >= 0) ::close(fd);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool open() const { return end[0] >= 0; }
  void close(std::size_t which) {
    ::close(end[which]);
    end[which] = -1;
  }
};

[[noreturn]] void child(Pipe& result, Pipe& printed, pid_t parent,
                        const std::function<void(int)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kThrew);  // it died before the line above
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(printed.end[1], STDOUT_FILENO);
  ::dup2(printed.end[1], STDERR_FILENO);
  int code = 0;
  try {
    work(result.end[1]);
  } catch (...) {
    code = kThrew;
  }
  std::fflush(nullptr);
  ::_exit(code);  // the destructors and exit handlers are the parent's
}

/// Whatever lies in the pipe now. False: the other side closed.
bool drain(int fd, std::string& into) {
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n == 0) return false;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (into.size() < kMost)
      into.append(bytes.data(), std::min(static_cast<std::size_t>(n), kMost - into.size()));
  }
}

/// Reads until the child has ended, which closed pipes do not prove and open ones (a grandchild's)
/// do not disprove. Returns its wait status; at `until` it is killed.
int attend(pid_t pid, const Pipe& result, const Pipe& printed, Clock::time_point until,
           ChildRun& run) {
  constexpr std::chrono::milliseconds kLook{20};
  std::array<pollfd, 2> all{pollfd{result.end[0], POLLIN, 0}, pollfd{printed.end[0], POLLIN, 0}};
  const auto drainAll = [&] {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].fd >= 0 && !drain(all[i].fd, i == 0 ? run.result : run.printed)) all[i].fd = -1;
  };
  for (int status = 0;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const auto wait = std::clamp(left, std::chrono::milliseconds{0}, kLook);
    ::poll(all.data(), all.size(), static_cast<int>(wait.count()));
    drainAll();
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      drainAll();
      return status;
    }
    if (left.count() > 0) continue;
    run.timedOut = true;
    ::kill(pid, SIGKILL);
    // One that a driver holds in the kernel does not die: it is left to init.
    for (int look = 0; look < 50 && ::waitpid(pid, &status, WNOHANG) != pid; ++look)
      ::poll(nullptr, 0, static_cast<int>(kLook.count()));
    drainAll();
    return status;
  }
}

}  // namespace

ChildRun runInChild(std::chrono::milliseconds limit, const std::function<void(int)>& work) {
  ChildRun run;
  Pipe result, printed;
  if (!result.open() || !printed.open()) return run;
  const auto begun = Clock::now();
  std::fflush(nullptr);  // or the child would print what waits here a second time
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return run;
  if (pid == 0) child(result, printed, parent, work);
  run.started = true;
  result.close(1);
  printed.close(1);
  for (const Pipe* pipe : {&result, &printed}) ::fcntl(pipe->end[0], F_SETFL, O_NONBLOCK);
  const int status = attend(pid, result, printed, begun + limit, run);
  run.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  if (WIFEXITED(status)) run.exitCode = WEXITSTATUS(status);
  return run;
}

}  // namespace rdmaguard::probe
