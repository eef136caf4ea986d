// `rdmaguard run`: the environment it sets, the exit code it gives, the verdict it
// reports. The command under it is a shell script that leaves the records a guarded
// NCCL would; tests/nccl has the real library do it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.h"

namespace rdmaguard::cli::test {
namespace {

// Writes one record of rank $1 with the given part into the guard's directory.
constexpr const char* kRecorder = R"sh(
record() {
  printf '{"header":{"id":"0xabc","rank":%s,"n_ranks":2,"nnodes":2},"metadata":{"dump_timestamp_us":%s000},%s}\n' \
    "$1" "$(date +%s%3N)" "$2" >>"$NCCL_RDMAGUARD_DIR/rdmaguard-$(hostname)-pid$1.jsonl"
}
export -f record
)sh";

constexpr const char* kViolated =
    R"("verdict":{"rdma_engaged":"no","transport":"Socket","gdr":"unknown","devices":"none",)"
    R"("requirement_met":"violated","violation":"it is not on RDMA","missing_conditions":)"
    R"([{"id":"x","what":"NCCL_IB_DISABLE=1 is set","fix":"Unset it."}],"action":"ACTION","exit_code":78})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Run, TheCommandSeesTheGuardAndItsSettings) {
  const auto r = shell(
      "export LD_LIBRARY_PATH=/some/where\n"
      "$RDMAGUARD run --fail-fast --require ib,gdr --exit-code 9 --interval 5 --log /l/%r -- "
      "bash -c 'env | grep -E \"^(NCCL_|LD_LIB)\"; ls \"${LD_LIBRARY_PATH%%:*}\"/librdmaguard.so'");
  EXPECT_EQ(r.exitCode, 0) << r.err;
  for (const char* line :
       {"NCCL_PROFILER_PLUGIN=librdmaguard.so\n", ":/some/where\n", "NCCL_RDMAGUARD_FAIL_FAST=1\n",
        "NCCL_RDMAGUARD_REQUIRE=ib,gdr\n", "NCCL_RDMAGUARD_EXIT_CODE=9\n",
        "NCCL_RDMAGUARD_INTERVAL=5\n", "NCCL_RDMAGUARD_LOG=/l/%r\n", "NCCL_RDMAGUARD_DIR=/"})
    EXPECT_NE(r.out.find(line), std::string::npos) << line << r.out;
}

TEST(Run, WithoutARecordItSaysThatNothingLoadedTheGuard) {
  const auto r = shell("$RDMAGUARD run -- true");
  EXPECT_EQ(r.exitCode, 0);
  EXPECT_NE(r.err.find("no verdict"), std::string::npos) << r.err;
  EXPECT_TRUE(shell("$RDMAGUARD run --quiet -- true").err.empty());
}

TEST(Run, ExitCodesAndSignalsAreTheCommandsOwn) {
  EXPECT_EQ(shell("$RDMAGUARD run -- bash -c 'exit 41'").exitCode, 41);
  EXPECT_EQ(shell("$RDMAGUARD run -- bash -c 'kill -KILL $$'").exitCode, 137);
  const auto missing = shell("$RDMAGUARD run -- /no/such/command");
  EXPECT_EQ(missing.exitCode, 127);
  EXPECT_NE(missing.err.find("/no/such/command"), std::string::npos);
  EXPECT_EQ(shell("$RDMAGUARD run -- /etc/passwd").exitCode, 126);
  EXPECT_EQ(shell("$RDMAGUARD run").exitCode, 64);
}

TEST(Run, ASignalReachesTheCommand) {
  const auto r = shell(
      "$RDMAGUARD run -q -- bash -c 'trap \"exit 5\" TERM; echo up; while :; do sleep 0.05; done' "
      "&\n"
      "sleep 0.5; kill -TERM $!; wait $!");
  EXPECT_EQ(r.exitCode, 5) << r.err;
}

TEST(Run, AViolationIsReportedWithItsCauseAndItsFix) {
  const auto r =
      shell(std::string(kRecorder) + "$RDMAGUARD run -- bash -c '" +
            "record 0 \"$1\"; record 1 \"$1\"' _ '" + with(kViolated, "ACTION", "warn") + "'");
  EXPECT_EQ(r.exitCode, 0) << r.err;
  for (const char* part : {"2 processes", "communicator 0xabc (2 nodes, 2 ranks): transport=Socket",
                           "2 of 2 ranks here: it is not on RDMA", "NCCL_IB_DISABLE=1 is set",
                           "Unset it.", "exit code 0\n"})
    EXPECT_NE(r.err.find(part), std::string::npos) << part << "\n" << r.err;
  EXPECT_EQ(r.err.find('\x1b'), std::string::npos) << "colour outside a terminal";
}

TEST(Run, WhenTheGuardStoppedTheJobItsCodeIsGivenWhateverTheLauncherMadeOfIt) {
  const std::string stopped = std::string(kRecorder) + "$RDMAGUARD run -- bash -c '" +
                              "record 0 \"$1\"; exit 1' _ '" + with(kViolated, "ACTION", "abort") +
                              "'";
  const auto r = shell(stopped);
  EXPECT_EQ(r.exitCode, 78) << r.err;
  EXPECT_NE(r.err.find("the guard stopped the job"), std::string::npos) << r.err;
}

TEST(Run, RecordsOfAnEarlierRunInAKeptDirectoryDoNotCount) {
  Folder kept;
  const auto r = shell(std::string(kRecorder) + "export NCCL_RDMAGUARD_DIR=" + kept.path.string() +
                       "\nrecord 0 '" + with(kViolated, "ACTION", "abort") +
                       "'\nsleep 0.1\n$RDMAGUARD run -- bash -c 'exit 3'");
  EXPECT_EQ(r.exitCode, 3) << r.err;
  EXPECT_NE(r.err.find("no verdict"), std::string::npos) << r.err;
}

TEST(Run, TheSummaryFileHasTheSameInJson) {
  Folder folder;
  const std::string file = folder.path / "summary.json";
  const auto r = shell(
      std::string(kRecorder) + "$RDMAGUARD run -q --summary " + file +
      " -- bash -c 'record 0 \"$1\"; record 0 \"$2\"' _ '" + with(kViolated, "ACTION", "warn") +
      R"(' '"completeness":{"seen":5,"written":4,"dropped":1},"summary":["AllReduce 8 B x4"]')");
  ASSERT_EQ(r.exitCode, 0) << r.err;
  const auto json = nlohmann::json::parse(contents(file));
  EXPECT_EQ(json["violated"], true);
  EXPECT_EQ(json["stopped_by_guard"], false);
  EXPECT_EQ(json["communicators"][0]["id"], "0xabc");
  EXPECT_EQ(json["communicators"][0]["completeness"]["dropped"], 1);
  EXPECT_EQ(json["communicators"][0]["busbw"][0], "AllReduce 8 B x4");
}

TEST(Run, AnotherProfilerIsNotPushedAside) {
  const auto r = shell("NCCL_PROFILER_PLUGIN=inspector $RDMAGUARD run -- true");
  EXPECT_EQ(r.exitCode, 64);
  EXPECT_NE(r.err.find("NCCL_PROFILER_PLUGIN=inspector"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace rdmaguard::cli::test
