// The JSON lines file: appended, rotated, and off with one sentence when it fails.
#include "plugin/report/json_lines.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rdmaguard::report {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class JsonLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rdmaguard-json.XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(JsonLinesTest, MakesItsDirectoryAndAppendsWholeLines) {
  const fs::path deep = folder_ / "a" / "b";
  for (const char* line : {"{\"n\":1}", "{\"n\":2}"}) {
    JsonLines file(deep, "x.jsonl", 1 << 20);
    ASSERT_TRUE(file.active());
    EXPECT_TRUE(file.append(line));
  }
  EXPECT_EQ(contents(deep / "x.jsonl"), "{\"n\":1}\n{\"n\":2}\n");
}

TEST_F(JsonLinesTest, NoDirectoryMeansNoFileAndNoComplaint) {
  JsonLines file("", "x.jsonl", 1 << 20);
  EXPECT_FALSE(file.active());
  EXPECT_FALSE(file.append("{}"));
  EXPECT_TRUE(file.takeComplaint().empty());
}

TEST_F(JsonLinesTest, ADirectoryThatCannotBeMadeIsOffWithOneSentence) {
  std::ofstream(folder_ / "file") << "not a directory";
  JsonLines file(folder_ / "file" / "sub", "x.jsonl", 1 << 20);
  EXPECT_FALSE(file.active());
  const std::string complaint = file.takeComplaint();
  EXPECT_NE(complaint.find("JSON lines are off, the job goes on"), std::string::npos) << complaint;
  EXPECT_NE(complaint.find((folder_ / "file").string()), std::string::npos) << complaint;
  EXPECT_TRUE(file.takeComplaint().empty());
}

TEST_F(JsonLinesTest, AFullDiskTurnsItOffAndRaisesNothing) {
  // A file size limit gives the write the same end as a full disk, and a signal besides.
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    JsonLines file(folder_, "x.jsonl", 1 << 20);
    const std::string line(100, 'x');
    for (int i = 0; i < 1000; ++i) file.append(line);
    file.flush();
    const bool said = !file.takeComplaint().empty();
    ::_exit(!file.active() && said && !file.append(line) ? 7 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(fs::file_size(folder_ / "x.jsonl"), 4096U);
}

TEST_F(JsonLinesTest, RotatesAtItsSizeAndKeepsOneOlderFile) {
  JsonLines file(folder_, "x.jsonl", 1000);
  const std::string line(99, 'y');
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 11; ++i) file.append(line);
    file.flush();
  }
  file.append("last");
  file.flush();
  EXPECT_EQ(contents(folder_ / "x.jsonl"), "last\n");
  EXPECT_EQ(fs::file_size(folder_ / "x.jsonl.1"), 1100U);
}

}  // namespace
}  // namespace rdmaguard::report
