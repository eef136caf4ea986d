// What the user's variables mean, and what a bad value does.
#include "plugin/guard/policy.h"

#include <gtest/gtest.h>

#include <map>

namespace rdmaguard::guard {
namespace {

PolicyReading read(const std::map<std::string, std::string, std::less<>>& variables) {
  return readPolicy([&](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  });
}

TEST(Policy, WithoutVariablesItWarnsAndWantsRdma) {
  const auto r = read({});
  EXPECT_TRUE(r.policy.enabled);
  EXPECT_TRUE(r.policy.tap);
  EXPECT_EQ(r.policy.onFallback, OnFallback::Warn);
  EXPECT_EQ(r.policy.require, "rdma");
  EXPECT_EQ(r.policy.exitCode, 78);
  EXPECT_EQ(r.policy.intervalSeconds, 60);
  EXPECT_TRUE(r.policy.log.empty());
  EXPECT_TRUE(r.policy.directory.empty());
  EXPECT_TRUE(r.complaints.empty());
}

TEST(Policy, FailFastMeansAbortWhateverOnFallbackSays) {
  EXPECT_EQ(read({{"NCCL_RDMAGUARD_FAIL_FAST", "1"}}).policy.onFallback, OnFallback::Abort);
  EXPECT_EQ(read({{"NCCL_RDMAGUARD_FAIL_FAST", "1"}, {"NCCL_RDMAGUARD_ON_FALLBACK", "off"}})
                .policy.onFallback,
            OnFallback::Abort);
  EXPECT_EQ(read({{"NCCL_RDMAGUARD_FAIL_FAST", "0"}, {"NCCL_RDMAGUARD_ON_FALLBACK", "off"}})
                .policy.onFallback,
            OnFallback::Off);
}

TEST(Policy, ABadValueGivesOneLineThatNamesItAndTheDefault) {
  struct Bad {
    const char *name, *value, *shownDefault;
  };
  for (const Bad& bad :
       {Bad{"NCCL_RDMAGUARD_ON_FALLBACK", "explode", "warn"},
        Bad{"NCCL_RDMAGUARD_FAIL_FAST", "yes", "0"}, Bad{"NCCL_RDMAGUARD_REQUIRE", "tcp", "rdma"},
        Bad{"NCCL_RDMAGUARD_EXIT_CODE", "256", "78"}, Bad{"NCCL_RDMAGUARD_EXIT_CODE", "0", "78"},
        Bad{"NCCL_RDMAGUARD_EXIT_CODE", "78x", "78"}, Bad{"NCCL_RDMAGUARD_INTERVAL", "-1", "60"},
        Bad{"NCCL_RDMAGUARD_TAP", "2", "1"}, Bad{"NCCL_RDMAGUARD_ENABLE", "off", "1"}}) {
    const auto r = read({{bad.name, bad.value}});
    ASSERT_EQ(r.complaints.size(), 1U) << bad.name;
    EXPECT_NE(r.complaints[0].find(std::string(bad.name) + "=" + bad.value), std::string::npos);
    EXPECT_NE(r.complaints[0].find(bad.shownDefault), std::string::npos) << r.complaints[0];
    EXPECT_EQ(r.complaints[0].find('\n'), std::string::npos);
  }
  const auto all = read({{"NCCL_RDMAGUARD_EXIT_CODE", "0"}, {"NCCL_RDMAGUARD_INTERVAL", "soon"}});
  EXPECT_EQ(all.policy.exitCode, 78);
  EXPECT_EQ(all.policy.intervalSeconds, 60);
  EXPECT_EQ(all.complaints.size(), 2U);
}

TEST(Policy, EveryValueReachesItsField) {
  const auto r = read({{"NCCL_RDMAGUARD_ENABLE", "0"},
                       {"NCCL_RDMAGUARD_TAP", "0"},
                       {"NCCL_RDMAGUARD_REQUIRE", "roce,gdr"},
                       {"NCCL_RDMAGUARD_EXIT_CODE", "3"},
                       {"NCCL_RDMAGUARD_LOG", "/tmp/%h"},
                       {"NCCL_RDMAGUARD_INTERVAL", "0"},
                       {"NCCL_RDMAGUARD_DIR", "/tmp/d"},
                       {"NCCL_RDMAGUARD_DIR_MAX_MB", "5"}});
  EXPECT_TRUE(r.complaints.empty());
  EXPECT_FALSE(r.policy.enabled);
  EXPECT_FALSE(r.policy.tap);
  EXPECT_EQ(r.policy.require, "roce,gdr");
  EXPECT_EQ(r.policy.exitCode, 3);
  EXPECT_EQ(r.policy.log, "/tmp/%h");
  EXPECT_EQ(r.policy.intervalSeconds, 0);
  EXPECT_EQ(r.policy.directory, "/tmp/d");
  EXPECT_EQ(r.policy.maxMebibytes, 5);
}

TEST(Policy, AnEmptyValueIsAnUnsetOne) {
  const auto r = read({{"NCCL_RDMAGUARD_EXIT_CODE", ""}, {"NCCL_RDMAGUARD_REQUIRE", ""}});
  EXPECT_TRUE(r.complaints.empty());
  EXPECT_EQ(r.policy.exitCode, 78);
}

}  // namespace
}  // namespace rdmaguard::guard
