// See child.h.
#include "verifier/cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rdmaguard::cli {
namespace {

constexpr std::array kPassedOn{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

}  // namespace

ChildResult runChild(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  // Blocked before the fork and taken with sigwaitinfo, so that none that arrives
  // between the two is lost.
  sigset_t watched, before;
  sigemptyset(&watched);
  for (int s : kPassedOn) sigaddset(&watched, s);
  sigaddset(&watched, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched, &before);

  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return {126, 0, std::string("no pipe: ") + std::strerror(errno)};
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::close(report[0]);
    ::close(report[1]);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return {126, 0, std::string("no new process: ") + std::strerror(error)};
  }
  if (child == 0) {
    for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t n = ::write(report[1], &error, sizeof(error));
    ::_exit(error == ENOENT ? 127 : 126);
  }
  ::close(report[1]);
  int startError = 0;
  const bool started = ::read(report[0], &startError, sizeof(startError)) == 0;
  ::close(report[0]);

  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    siginfo_t info{};
    const int s = sigwaitinfo(&watched, &info);
    // A terminal sends its signals to the whole group: the command has them already.
    const bool fromTerminal = info.si_code == SI_KERNEL;
    if (s > 0 && s != SIGCHLD && !fromTerminal) ::kill(child, s);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);

  if (!started)
    return {startError == ENOENT ? 127 : 126, 0, command[0] + ": " + std::strerror(startError)};
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), {}};
  return {WEXITSTATUS(status), 0, {}};
}

}  // namespace rdmaguard::cli
