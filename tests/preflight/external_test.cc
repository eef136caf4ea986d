// Which files NCCL tries for a net plugin, release by release.
#include "verifier/nccl/external.h"

#include <gtest/gtest.h>

namespace rdmaguard::nccl {
namespace {

using Files = std::vector<std::vector<std::string>>;

TEST(NetPluginFiles, WithoutASettingTheDefaultLibraryIsTried) {
  for (const int version : {21903, 22203, 22707, 23203})
    EXPECT_EQ(pluginFiles(version, nullptr), (Files{{"libnccl-net.so"}})) << version;
}

TEST(NetPluginFiles, BeforeTwoTwentyOneANameStandsForTheLibraryThatEndsWithIt) {
  EXPECT_EQ(pluginFiles(22005, "ofi"), (Files{{"libnccl-net-ofi.so"}}));
}

TEST(NetPluginFiles, FromTwoTwentyOneANameIsTriedAsGivenFirst) {
  EXPECT_EQ(pluginFiles(22105, "ofi"), (Files{{"ofi", "libnccl-net-ofi.so"}}));
  EXPECT_EQ(pluginFiles(22605, "/opt/a.so"), (Files{{"/opt/a.so", "libnccl-net-/opt/a.so.so"}}));
}

TEST(NetPluginFiles, TwoTwentySevenThreeTakesNoPath) {
  EXPECT_EQ(pluginFiles(22703, "/opt/a.so"), (Files{{"libnccl-net-/opt/a.so.so"}}));
  EXPECT_EQ(pluginFiles(22703, "liba.so"), (Files{{"liba.so"}}));
}

TEST(NetPluginFiles, LaterReleasesAddThePrefixToPlainNamesAlone) {
  EXPECT_EQ(pluginFiles(22807, "ofi"), (Files{{"ofi", "libnccl-net-ofi.so"}}));
  EXPECT_EQ(pluginFiles(22807, "/opt/a.so"), (Files{{"/opt/a.so"}}));
  EXPECT_EQ(pluginFiles(22807, "liba.so"), (Files{{"liba.so"}}));
}

TEST(NetPluginFiles, AListNamesSeveralFromTwoTwentySevenOn) {
  EXPECT_EQ(pluginFiles(22707, "liba.so,b"), (Files{{"liba.so"}, {"b", "libnccl-net-b.so"}}));
  EXPECT_EQ(pluginFiles(22605, "liba.so,b"), (Files{{"liba.so,b", "libnccl-net-liba.so,b.so"}}));
}

TEST(NetPluginFiles, NoneAndAnEmptyValueNameNone) {
  EXPECT_TRUE(pluginFiles(23203, "None").empty());
  EXPECT_TRUE(pluginFiles(23203, "").empty());
  EXPECT_EQ(pluginFiles(22605, ""), (Files{{"libnccl-net.so"}}));
}

TEST(NetPluginFiles, APluginInTheProgramHasNoFile) {
  EXPECT_EQ(pluginFiles(22807, "STATIC_PLUGIN"), (Files{{}}));
}

}  // namespace
}  // namespace rdmaguard::nccl
