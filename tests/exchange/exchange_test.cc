// The whole exchange where NCCL does not come so far: a sentence within the limit, from a process
// of its own.
#include "verifier/nccl/exchange.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "verifier/nccl/exchange_meeting.h"

namespace rdmaguard::nccl {
namespace {

using std::chrono::milliseconds;

ExchangeRequest requestWith(const std::string& library) {
  ExchangeRequest request;
  request.library = library;
  request.shape.timeout = milliseconds(1000);
  return request;
}

TEST(Exchange, AFileThatIsNoLibraryIsSaidToBeNone) {
  ExchangeRequest request = requestWith("/etc/hostname");
  request.host = "127.0.0.1";
  request.port = 1;
  const auto begun = Clock::now();
  const ExchangeRun run = exchange(request);
  EXPECT_EQ(run.outcome, ExchangeRun::Outcome::CannotTell);
  EXPECT_EQ(run.failure.find("/etc/hostname: The loader cannot open it: "), 0U) << run.failure;
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(4));
}

TEST(Exchange, ALibraryThatIsNotNcclIsSaidToBeNone) {
  ExchangeRequest request = requestWith("libc.so.6");
  request.host = "127.0.0.1";
  request.port = 1;
  const ExchangeRun run = exchange(request);
  EXPECT_EQ(run.outcome, ExchangeRun::Outcome::CannotTell);
  EXPECT_NE(run.failure.find("It is not NCCL"), std::string::npos) << run.failure;
  EXPECT_TRUE(run.hcas.empty());
}

TEST(Exchange, ASideThatCannotTakePartTellsTheOtherSideWhy) {
  const Listener listener = listenAt(0);
  ExchangeRequest request = requestWith("libc.so.6");
  request.host = "127.0.0.1";
  request.port = listener.port;
  const pid_t other = ::fork();
  if (other == 0) {
    exchange(request);
    ::_exit(0);
  }
  const Meeting met = awaitPeer(listener, {}, Clock::now() + std::chrono::seconds(10));
  EXPECT_NE(met.theirs.failure.find("It is not NCCL"), std::string::npos) << met.theirs.failure;
  EXPECT_TRUE(met.theirs.cannotTell);
  ::waitpid(other, nullptr, 0);
  EXPECT_TRUE(disagreement({}, met.theirs).find("cannot take part: ") != std::string::npos);
}

ExchangeRun withBrokenNccl(const char* how) {
  ::setenv("RDMAGUARD_TEST_NCCL", how, 1);
  ExchangeRequest request = requestWith(BROKEN_NCCL);
  request.host = "127.0.0.1";
  request.port = 1;
  ExchangeRun run = exchange(request);
  ::unsetenv("RDMAGUARD_TEST_NCCL");
  return run;
}

TEST(Exchange, AnNcclThatCrashesIsSaidToHaveDoneSoAndWhere) {
  const ExchangeRun run = withBrokenNccl("crash");
  EXPECT_EQ(run.outcome, ExchangeRun::Outcome::Failed);
  EXPECT_EQ(run.failure.find("NCCL's process was ended by signal 11"), 0U) << run.failure;
  EXPECT_NE(run.failure.find("while it opened " BROKEN_NCCL), std::string::npos) << run.failure;
}

TEST(Exchange, AnNcclThatHangsIsEndedAtItsLimit) {
  const auto begun = Clock::now();
  const ExchangeRun run = withBrokenNccl("hang");
  EXPECT_EQ(run.outcome, ExchangeRun::Outcome::Failed);
  EXPECT_EQ(run.failure, "It did not come back within 5 s, while it opened " BROKEN_NCCL ".");
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(8));
}

TEST(Exchange, AReleaseThatIsNotKnownLeavesNothingToTell) {
  const ExchangeRun run = withBrokenNccl("");
  EXPECT_EQ(run.outcome, ExchangeRun::Outcome::CannotTell);
  EXPECT_EQ(run.versionText, "9.99.1");
  EXPECT_FALSE(run.failure.empty());
}

TEST(Exchange, APortInUseIsSaidBeforeAnythingElse) {
  const Listener listener = listenAt(0);
  ExchangeRequest request = requestWith("libc.so.6");
  request.listens = true;
  request.port = listener.port;
  const ExchangeRun run = exchange(request);
  EXPECT_EQ(run.outcome, ExchangeRun::Outcome::Failed);
  EXPECT_NE(run.failure.find("cannot be listened at"), std::string::npos) << run.failure;
}

}  // namespace
}  // namespace rdmaguard::nccl
