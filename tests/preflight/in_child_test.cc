// Work in a child process: what it says, how it ends, and that it ends.
#include "verifier/probe/in_child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace rdmaguard::probe {
namespace {

using namespace std::chrono_literals;

TEST(InChild, ResultAndOutputComeBackApart) {
  const ChildRun run = runInChild(20s, [](int fd) {
    std::printf("printed");
    EXPECT_EQ(::write(fd, "result", 6), 6);
  });
  EXPECT_TRUE(run.ended());
  EXPECT_EQ(run.result, "result");
  EXPECT_EQ(run.printed, "printed");
  EXPECT_EQ(run.exitCode, 0);
}

TEST(InChild, ACrashIsNamedByItsSignal) {
  const ChildRun run = runInChild(20s, [](int) { ::raise(SIGKILL); });
  EXPECT_EQ(run.signal, SIGKILL);
  EXPECT_FALSE(run.timedOut);
}

TEST(InChild, AnExceptionIsAnExitCode) {
  EXPECT_EQ(runInChild(20s, [](int) { throw std::runtime_error("x"); }).exitCode, 70);
}

TEST(InChild, WorkThatHangsIsEndedAtTheLimitAndWhatItSaidStands) {
  const ChildRun run = runInChild(200ms, [](int fd) {
    EXPECT_EQ(::write(fd, "before", 6), 6);
    ::pause();
  });
  EXPECT_TRUE(run.timedOut);
  EXPECT_EQ(run.result, "before");
}

TEST(InChild, WorkThatHangsWithItsPipesClosedIsEndedToo) {
  const ChildRun run = runInChild(200ms, [](int fd) {
    for (const int open : {fd, STDOUT_FILENO, STDERR_FILENO}) ::close(open);
    ::pause();
  });
  EXPECT_TRUE(run.timedOut);
}

TEST(InChild, AGrandchildThatKeepsThePipesOpenHoldsNothingUp) {
  const auto begun = std::chrono::steady_clock::now();
  const ChildRun run = runInChild(60s, [](int) {
    if (::fork() == 0) {
      ::sleep(30);
      ::_exit(0);
    }
  });
  EXPECT_TRUE(run.ended());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
}

TEST(InChild, AFloodOfOutputIsReadAndCut) {
  const ChildRun run = runInChild(60s, [](int) {
    const std::string line(1 << 16, 'x');
    for (int i = 0; i < 100; ++i) std::fwrite(line.data(), 1, line.size(), stdout);
  });
  EXPECT_TRUE(run.ended());
  EXPECT_EQ(run.printed.size(), std::size_t{4} << 20);
}

}  // namespace
}  // namespace rdmaguard::probe
