// What a real libnccl answers on this machine, with a net plugin that behaves or does not. Skipped
// where no libnccl was fetched. The Soft-RoCE cases are guest_checks.py's.
#include "verifier/nccl/dry_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmaguard::nccl {
namespace {

using namespace std::chrono_literals;
using Outcome = DryRun::Outcome;

std::vector<std::string> libraries() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& release : std::filesystem::directory_iterator(RDMAGUARD_NCCL_DIR, error)) {
    const auto library = release.path() / "nvidia/nccl/lib/libnccl.so.2";
    if (std::filesystem::exists(library, error)) found.push_back(library);
  }
  // The newest last: the plugin tests take it, and releases before 2.21 take no path.
  std::sort(found.begin(), found.end());
  return found;
}

class DryRunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (libraries().empty()) GTEST_SKIP() << "no libnccl below " << RDMAGUARD_NCCL_DIR;
  }
  void TearDown() override {
    for (const char* name : {"NCCL_NET_PLUGIN", "NCCL_NET", "STAND_IN"}) ::unsetenv(name);
  }
};

TEST_F(DryRunTest, EveryReleaseTellsItsVersionAndTriesItsOwnTransports) {
  for (const std::string& library : libraries()) {
    const DryRun run = dryRun(library, 60s);
    ASSERT_EQ(run.outcome, Outcome::Done) << library << ": " << run.failure;
    EXPECT_NE(library.find(run.versionText), std::string::npos) << run.versionText;
    ASSERT_EQ(run.trials.size(), 2U) << library;
    EXPECT_EQ(run.trials[0].name, "IB");
    EXPECT_EQ(run.trials[1].name, "Socket");
    EXPECT_NE(run.log.find("NCCL INFO"), std::string::npos) << run.log;
  }
}

TEST_F(DryRunTest, ANetThatIsNamedLeavesTheOthersOut) {
  ::setenv("NCCL_NET", "Socket", 1);
  for (const std::string& library : libraries()) {
    const DryRun run = dryRun(library, 60s);
    EXPECT_EQ(run.trials.at(0).state == NetTrial::State::Usable, false) << library;
    EXPECT_NE(run.trials.at(0).state, NetTrial::State::NotTried) << library;
  }
  ::setenv("NCCL_NET", "Nothing", 1);
  for (const std::string& library : libraries())
    EXPECT_EQ(dryRun(library, 60s).selected, "") << library;
}

TEST_F(DryRunTest, APluginWithADeviceIsSelectedBeforeNcclsOwn) {
  ::setenv("NCCL_NET_PLUGIN", RDMAGUARD_STAND_IN, 1);
  const DryRun run = dryRun(libraries().back(), 60s);
  EXPECT_EQ(run.selected, "StandIn") << run.log;
  EXPECT_TRUE(run.selectedExternal);
  EXPECT_EQ(run.trials.at(0).devices.at(0).name, "standin0");
  EXPECT_EQ(run.trials.at(0).devices.at(0).speedMbps, 100000);
  EXPECT_EQ(run.trials.at(1).why, "NCCL takes StandIn first.");
  EXPECT_NE(run.log.find("NET/StandIn : here"), std::string::npos);
}

TEST_F(DryRunTest, APluginThatFailsLeavesTheChoiceToTheNext) {
  ::setenv("NCCL_NET_PLUGIN", RDMAGUARD_STAND_IN, 1);
  ::setenv("STAND_IN", "fails", 1);
  for (const std::string& library : libraries()) {
    const DryRun run = dryRun(library, 60s);
    if (run.version < 22100) continue;
    EXPECT_EQ(run.outcome, Outcome::Done) << library << ": " << run.failure;
    EXPECT_EQ(run.trials.at(0).state, NetTrial::State::Failed) << library;
    EXPECT_NE(run.selected, "StandIn") << library;
  }
}

TEST_F(DryRunTest, APluginThatCrashesIsNamedAndTheCommandLives) {
  ::setenv("NCCL_NET_PLUGIN", RDMAGUARD_STAND_IN, 1);
  ::setenv("STAND_IN", "crashes", 1);
  const DryRun run = dryRun(libraries().back(), 60s);
  EXPECT_EQ(run.outcome, Outcome::Crashed);
  EXPECT_NE(run.failure.find("while it tried StandIn"), std::string::npos) << run.failure;
}

TEST_F(DryRunTest, APluginThatHangsIsEndedAtTheLimit) {
  ::setenv("NCCL_NET_PLUGIN", RDMAGUARD_STAND_IN, 1);
  ::setenv("STAND_IN", "hangs", 1);
  const DryRun run = dryRun(libraries().back(), 2s);
  EXPECT_EQ(run.outcome, Outcome::TimedOut) << run.failure;
}

TEST_F(DryRunTest, APluginThatIsNotThereIsSaid) {
  ::setenv("NCCL_NET_PLUGIN", "absent", 1);
  const DryRun run = dryRun(libraries().back(), 60s);
  ASSERT_EQ(run.trials.size(), 3U);
  EXPECT_NE(run.trials[0].why.find("cannot be opened"), std::string::npos) << run.trials[0].why;
}

TEST(DryRunOfNothing, AFileThatIsNoLibraryIsSaid) {
  const DryRun run = dryRun("/etc/hostname", 20s);
  EXPECT_EQ(run.outcome, Outcome::NoLibrary);
  EXPECT_NE(run.failure.find("cannot open it"), std::string::npos) << run.failure;
}

TEST(DryRunOfNothing, ALibraryThatIsNotNcclIsSaid) {
  const DryRun run = dryRun("libz.so.1", 20s);
  EXPECT_EQ(run.outcome, Outcome::NoLibrary);
  EXPECT_NE(run.failure.find("ncclGetVersion"), std::string::npos) << run.failure;
}

}  // namespace
}  // namespace rdmaguard::nccl
