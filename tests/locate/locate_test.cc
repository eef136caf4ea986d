// The locator on real NCCL releases, whole and stripped, and on libraries that only look like one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "child.h"
#include "plugin/tap/releases.h"
#include "symbol_table.h"

namespace {

std::string hex(std::uint64_t value) {
  std::ostringstream out;
  out << std::hex << value;
  return out.str();
}

std::string forged(const std::string& variant) {
  return std::string(FORGED_FOLDER) + "/libforged_" + variant + ".so";
}

std::string copyOf(const std::string& from, const TemporaryFolder& folder, const char* name) {
  std::filesystem::copy_file(from, folder.file(name));
  return folder.file(name);
}

TEST(RealReleases, AreAtHand) {
  EXPECT_FALSE(ncclReleases().empty())
      << "no libnccl.so.2 under RDMAGUARD_NCCL_DIR or ~/.cache/rdmaguard/nccl; "
         "`make -f Makefile.nccl check` fetches them";
}

class RealNccl : public testing::TestWithParam<NcclRelease> {
 protected:
  /// That `library` is found as the symbol table of the release's own file says.
  void expectFound(const std::string& library) {
    const auto symbols = readSymbols(GetParam().path, {"ncclNetIb", "ncclNetSocket"});
    ASSERT_EQ(symbols.size(), 2u) << GetParam().path << " has no symbol table to compare with";
    const ChildOutput child = runChild({"locate", library});
    EXPECT_EQ(child.of("reason"), "") << child.text;
    EXPECT_EQ(child.of("versionText"), GetParam().version);
    EXPECT_EQ(child.of("path"), library);
    EXPECT_EQ(child.of("ib"), hex(symbols.at("ncclNetIb").address));
    EXPECT_EQ(child.of("socket"), hex(symbols.at("ncclNetSocket").address));
    const auto* release = rdmaguard::tap::releaseOf(std::stoi("0" + child.of("version")));
    ASSERT_NE(release, nullptr);
    EXPECT_EQ(child.of("netAbi"), std::to_string(release->netAbi));
    EXPECT_EQ(symbols.at("ncclNetIb").size, (1 + release->ib.size()) * sizeof(void*));
    EXPECT_EQ(symbols.at("ncclNetSocket").size, (1 + release->socket.size()) * sizeof(void*));
  }
};

TEST_P(RealNccl, IsFoundWhereItsSymbolTableSays) {
  expectFound(GetParam().path);
}

TEST_P(RealNccl, IsFoundAlikeWithoutDebugInformation) {
  const TemporaryFolder folder;
  const std::string stripped = folder.file("libnccl.so.2");
  ASSERT_TRUE(runCommand({"strip", "--strip-debug", "-o", stripped, GetParam().path}));
  expectFound(stripped);
}

TEST_P(RealNccl, IsFoundAlikeWithoutASymbolTable) {
  const TemporaryFolder folder;
  const std::string stripped = folder.file("libnccl.so.2");
  ASSERT_TRUE(runCommand({"strip", "--strip-all", "-o", stripped, GetParam().path}));
  ASSERT_TRUE(readSymbols(stripped, {"ncclNetIb"}).empty());
  expectFound(stripped);
}

TEST_P(RealNccl, IsFoundWithNoAddressWhenItIsTheOnlyOne) {
  const ChildOutput child = runChild({"alone", GetParam().path});
  EXPECT_EQ(child.of("found"), "1") << child.text;
  EXPECT_NE(child.of("evidence").find("the only object"), std::string::npos) << child.text;
}

INSTANTIATE_TEST_SUITE_P(Releases, RealNccl, testing::ValuesIn(ncclReleases()),
                         [](const testing::TestParamInfo<NcclRelease>& info) {
                           std::string name = info.param.version;
                           for (char& c : name) c = std::isalnum(c) ? c : '_';
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealNccl);

TEST(Locator, RefusesAProcessWithoutNccl) {
  const ChildOutput child = runChild({"locate", "libm.so.6"});
  EXPECT_EQ(child.of("found"), "0");
  EXPECT_EQ(child.of("reason"), "No object of this process defines ncclGetVersion.");
}

TEST(Locator, FindsALibraryLaidOutAsNccl228) {
  const ChildOutput child = runChild({"locate", forged("sound")});
  EXPECT_EQ(child.of("found"), "1") << child.text;
  EXPECT_EQ(child.of("version"), "22809");
  const auto symbols = readSymbols(forged("sound"), {"forgedIb", "forgedSocket"});
  EXPECT_EQ(child.of("ib"), hex(symbols.at("forgedIb").address));
  EXPECT_EQ(child.of("socket"), hex(symbols.at("forgedSocket").address));
}

struct Defect {
  const char* variant;
  const char* sentence;  ///< part of the reason
};

class ForgedNccl : public testing::TestWithParam<Defect> {};

TEST_P(ForgedNccl, IsRefusedForItsDefect) {
  const ChildOutput child = runChild({"locate", forged(GetParam().variant)});
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.of("found"), "0");
  EXPECT_NE(child.of("reason").find(GetParam().sentence), std::string::npos) << child.text;
}

INSTANTIATE_TEST_SUITE_P(
    Defects, ForgedNccl,
    testing::Values(Defect{"second_ib", "holds more than one struct that could be NET/IB"},
                    Defect{"null_pattern", "other functions than that release is known for"},
                    Defect{"foreign_slot", "functions from outside NCCL's code"},
                    Defect{"name", "NET/IB of NCCL 2.28.9"},
                    Defect{"newer", "NCCL 2.33.0 is newer than the layouts known (2.19 to 2.32)."},
                    Defect{"older", "NCCL 2.18.6 is older than the layouts known (2.19 to 2.32)."},
                    Defect{"short", "was not found"}),
    [](const testing::TestParamInfo<Defect>& info) { return std::string(info.param.variant); });

TEST(Locator, RefusesAFileThatWasReplacedOnDisk) {
  const TemporaryFolder folder;
  const std::string loaded = copyOf(forged("sound"), folder, "libnccl.so.2");
  const std::string other = copyOf(forged("second_ib"), folder, "other.so");
  const ChildOutput child = runChild({"replace", loaded, other});
  EXPECT_EQ(child.of("found"), "0");
  EXPECT_NE(child.of("reason").find("is not the one this process has mapped"), std::string::npos)
      << child.text;
}

TEST(Locator, AcceptsAFileThatWasReplacedByTheSame) {
  const TemporaryFolder folder;
  const std::string loaded = copyOf(forged("sound"), folder, "libnccl.so.2");
  const std::string other = copyOf(forged("sound"), folder, "other.so");
  EXPECT_EQ(runChild({"replace", loaded, other}).of("found"), "1");
}

TEST(Locator, RefusesAFileThatWasReplacedByOneThatIsNoLibrary) {
  const TemporaryFolder folder;
  const std::string loaded = copyOf(forged("sound"), folder, "libnccl.so.2");
  std::ofstream(folder.file("other.so")) << "not an ELF file, and long enough to hold a header: "
                                            "0123456789012345678901234567890123456789";
  const ChildOutput child = runChild({"replace", loaded, folder.file("other.so")});
  EXPECT_NE(child.of("reason").find("is not a 64-bit little-endian ELF file"), std::string::npos)
      << child.text;
}

TEST(Locator, RefusesAFileThatWasDeleted) {
  const TemporaryFolder folder;
  const ChildOutput child = runChild({"delete", copyOf(forged("sound"), folder, "libnccl.so.2")});
  EXPECT_EQ(child.of("found"), "0");
  EXPECT_NE(child.of("reason").find("cannot be opened: No such file"), std::string::npos)
      << child.text;
}

TEST(Locator, RefusesAFileWithoutSectionHeaders) {
  const TemporaryFolder folder;
  const std::string loaded = copyOf(forged("sound"), folder, "libnccl.so.2");
  {
    // e_shoff, e_shnum and e_shstrndx of the ELF header, as sstrip clears them.
    std::fstream file(loaded, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0x28);
    file.write("\0\0\0\0\0\0\0\0", 8);
    file.seekp(0x3c);
    file.write("\0\0\0\0", 4);
  }
  const ChildOutput child = runChild({"locate", loaded});
  EXPECT_EQ(child.of("found"), "0");
  EXPECT_NE(child.of("reason").find("has no section headers"), std::string::npos) << child.text;
}

TEST(Locator, DoesNotChooseBetweenTwoWithoutAnAddress) {
  const ChildOutput child = runChild({"both", forged("sound"), forged("newer")});
  EXPECT_EQ(child.of("found"), "0");
  EXPECT_NE(child.of("reason").find("2 objects of this process define ncclGetVersion"),
            std::string::npos)
      << child.text;
}

TEST(Locator, TakesTheOneThatHoldsTheCallersAddress) {
  const ChildOutput child = runChild({"first", forged("sound"), forged("newer")});
  EXPECT_EQ(child.of("found"), "1") << child.text;
  EXPECT_EQ(child.of("path"), forged("sound"));
  EXPECT_EQ(runChild({"first", forged("newer"), forged("sound")}).of("found"), "0");
}

}  // namespace
