// NCCL's settings: conf files, precedence, numbers.
#include "verifier/engine/settings.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

namespace rdmaguard::engine {
namespace {

TEST(ConfFile, KeepsTheValueAsItStandsAndNamesItsLine) {
  const auto s =
      parseConf("# NCCL_NET=Socket\n\nNCCL_IB_HCA= \"mlx5\" \nNCCL_IB_TC=96=a", "/etc/nccl.conf");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].name, "NCCL_IB_HCA");
  EXPECT_EQ(s[0].value, " \"mlx5\" ");
  EXPECT_EQ(s[0].source, "/etc/nccl.conf:3");
  EXPECT_EQ(s[1].value, "96=a");
}

TEST(ConfFile, KeepsWindowsLineEndsInTheValueBeforeRelease230) {
  EXPECT_EQ(parseConf("NCCL_IB_HCA=mlx5\r\n", "f", 22907)[0].value, "mlx5\r");
  EXPECT_EQ(parseConf("NCCL_IB_HCA=mlx5\r\n", "f", 23007)[0].value, "mlx5");
}

TEST(ConfFile, IgnoresLinesThatSetNothing) {
  EXPECT_TRUE(parseConf("NCCL_IB_HCA\n=x\n#a=b\n", "f").empty());
  // The shell's word becomes part of the name, so this sets nothing NCCL knows.
  EXPECT_EQ(find(parseConf("export NCCL_NET=IB\n", "f"), "NCCL_NET"), nullptr);
}

TEST(Precedence, EnvironmentThenOwnFileThenEtcAndTheFirstLineInAFile) {
  const std::vector<std::string> block{"NCCL_NET=IB", "NCCL_IB_HCA="};
  const std::vector<ConfFile> files{
      {"/home/u/.nccl.conf", "NCCL_NET=Socket\nNCCL_IB_TC=96\nNCCL_IB_TC=97\n"},
      {"/etc/nccl.conf", "NCCL_IB_TC=1\nNCCL_IB_HCA=ibp\nNCCL_DEBUG=INFO\n"}};
  const auto s = settingsInForce(parseEnvironment(block), files);
  EXPECT_EQ(find(s.effective, "NCCL_NET")->value, "IB");
  EXPECT_EQ(find(s.effective, "NCCL_NET")->source, "environment");
  EXPECT_EQ(find(s.effective, "NCCL_IB_TC")->source, "/home/u/.nccl.conf:2");
  EXPECT_EQ(find(s.effective, "NCCL_DEBUG")->source, "/etc/nccl.conf:3");
  EXPECT_EQ(find(s.effective, "NCCL_IB_HCA")->value, "") << "set to nothing is set";
  EXPECT_EQ(s.shadowed.size(), 4u);
}

TEST(Precedence, NcclConfFileStandsInForTheHomeDirectorysFileFrom223) {
  EXPECT_EQ(confPaths("/x.conf", "/home/u"),
            (std::vector<std::string>{"/x.conf", "/etc/nccl.conf"}));
  EXPECT_EQ(confPaths("/x.conf", "/home/u", 22203),
            (std::vector<std::string>{"/home/u/.nccl.conf", "/etc/nccl.conf"}));
  EXPECT_EQ(confPaths("", "/home/u"),
            (std::vector<std::string>{"/home/u/.nccl.conf", "/etc/nccl.conf"}));
  EXPECT_EQ(confPaths("", ""), (std::vector<std::string>{"/etc/nccl.conf"}));
}

TEST(Number, IsWhatStrtollMakesOfIt) {
  for (const char* text : {"1",
                           "0",
                           "-3",
                           "+7",
                           " 12",
                           "0x1f",
                           "0X1F",
                           "010",
                           "08",
                           "true",
                           "yes",
                           "1abc",
                           "0x",
                           "x",
                           "9223372036854775807",
                           "9223372036854775808",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "99999999999999999999999",
                           "\t\n 5",
                           "- 5",
                           "0b1"}) {
    errno = 0;
    const long long want = std::strtoll(text, nullptr, 0);
    const auto expected = errno ? std::nullopt : std::optional(want);
    EXPECT_EQ(numberValue(text), expected) << text;
  }
  EXPECT_EQ(numberValue(""), std::nullopt);
}

TEST(Word, IsComparedWithoutCase) {
  EXPECT_TRUE(sameWord("socket", "Socket"));
  EXPECT_FALSE(sameWord("Socket ", "Socket"));
}

}  // namespace
}  // namespace rdmaguard::engine
