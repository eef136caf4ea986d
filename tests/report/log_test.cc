// Log lines: where they go, and what a reader that left does to the job: nothing.
#include "plugin/report/log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace rdmaguard::report {
namespace {

const Speaker kWho{"host-7", 4242, 3};

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Folder {
  Folder() {
    char name[] = "/tmp/rdmaguard-log.XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

int statusOf(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Log, APatternNamesHostProcessAndRank) {
  EXPECT_EQ(expandPattern("/l/%h-%p.%r%%", kWho), "/l/host-7-4242.3%");
  EXPECT_EQ(expandPattern("%r", {"h", 1, -1}), "unknown");
  EXPECT_EQ(expandPattern("100%/%q%", kWho), "100%/%q%");
}

TEST(Log, LinesGoToTheFileWithWhoSaidThem) {
  Folder folder;
  const auto file = folder.path / "guard.log";
  {
    Log log(folder.path / "guard.log", kWho);
    log.info("first");
    log.warn("second\nwith two lines");
  }
  Log(file, kWho).info("appended");
  const std::string text = contents(file);
  EXPECT_NE(text.find("host-7:4242 rdmaguard I: first\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rdmaguard W: second\nwith two lines\n"), std::string::npos) << text;
  EXPECT_NE(text.find("appended"), std::string::npos) << text;
}

TEST(Log, APercentInAHostNameIsNoPattern) {
  Folder folder;
  const auto file = folder.path / "guard.log";
  Log(file, {"h%v%%", 1, 0}).info("said");
  EXPECT_NE(contents(file).find("h%v%%:1 rdmaguard I: said\n"), std::string::npos)
      << contents(file);
}

TEST(Log, AFileThatCannotBeOpenedIsSaidOnStandardErrorAndLinesGoThere) {
  testing::internal::CaptureStderr();
  Log log("/proc/no/such/file", kWho);
  log.info("still said");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("cannot open the log file /proc/no/such/file"), std::string::npos) << text;
  EXPECT_NE(text.find("still said"), std::string::npos) << text;
}

TEST(Log, AClosedStandardErrorOrAReaderThatLeftDoesNotEndTheJob) {
  const int closed = statusOf([] {
    ::close(STDERR_FILENO);
    Log("", kWho).warn("to nobody");
  });
  EXPECT_TRUE(WIFEXITED(closed) && WEXITSTATUS(closed) == 7) << closed;
  const int left = statusOf([] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    Log("", kWho).warn("to a reader that left");
  });
  EXPECT_TRUE(WIFEXITED(left) && WEXITSTATUS(left) == 7) << left;
}

TEST(Log, ASignalThatWasBlockedAndPendingBeforeStaysPending) {
  const int status = statusOf([] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    ::raise(SIGPIPE);
    Log("", kWho).warn("to a reader that left");
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) != 1) ::_exit(1);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace rdmaguard::report
