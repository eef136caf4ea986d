// `rdmaguard env`, `rules`, and the command's manners.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rdmaguard/params.h"
#include "tests/cli/shell.h"

namespace rdmaguard::cli::test {
namespace {

TEST(Tables, EnvListsEveryParameterWithItsDefaultAndTheValueHere) {
  const auto text = shell("NCCL_RDMAGUARD_EXIT_CODE=9 $RDMAGUARD env");
  EXPECT_EQ(text.exitCode, 0);
  for (const Param& p : kParams)
    EXPECT_NE(text.out.find("\n" + std::string(p.name) + "="), std::string::npos) << p.name;
  EXPECT_NE(text.out.find("default: 78; here: 9"), std::string::npos) << text.out;
  const auto json = nlohmann::json::parse(shell("$RDMAGUARD env --json").out);
  ASSERT_EQ(json.size(), kParams.size());
  EXPECT_EQ(json[0]["name"], kParams[0].name);
  EXPECT_TRUE(json[0]["here"].is_null());
}

TEST(Tables, RulesHaveAFixAndASourceEach) {
  const auto json = nlohmann::json::parse(shell("$RDMAGUARD rules --json").out);
  ASSERT_GT(json.size(), 10U);
  const std::string text = shell("$RDMAGUARD rules").out;
  for (const auto& rule : json) {
    EXPECT_FALSE(rule["id"].get<std::string>().empty());
    EXPECT_FALSE(rule["title"].get<std::string>().empty()) << rule["id"];
    EXPECT_FALSE(rule["source"].get<std::string>().empty()) << rule["id"];
    EXPECT_TRUE(rule["also"].is_array()) << rule["id"];
    EXPECT_TRUE(rule["scope"] == "process" || rule["scope"] == "job") << rule["id"];
    if (rule["kind"] == "missing_condition") {
      EXPECT_FALSE(rule["fix"].get<std::string>().empty());
    }
    EXPECT_NE(text.find(rule["id"].get<std::string>() + "  ("), std::string::npos);
  }
}

TEST(Tables, WrongUsageIs64AndHelpIs0) {
  EXPECT_EQ(shell("$RDMAGUARD").exitCode, 64);
  EXPECT_EQ(shell("$RDMAGUARD frobnicate").exitCode, 64);
  EXPECT_EQ(shell("$RDMAGUARD run --on-fallback explode -- true").exitCode, 64);
  const auto help = shell("$RDMAGUARD --help");
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_NE(help.out.find("run"), std::string::npos);
  EXPECT_EQ(shell("$RDMAGUARD run --help").exitCode, 0);
  EXPECT_EQ(shell("$RDMAGUARD --version").exitCode, 0);
}

TEST(Tables, AnOutputThatCannotBeWrittenIsNoSuccess) {
  EXPECT_NE(shell("$RDMAGUARD env >/dev/full").exitCode, 0);
}

}  // namespace
}  // namespace rdmaguard::cli::test
