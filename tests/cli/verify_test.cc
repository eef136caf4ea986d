// `rdmaguard verify`: exit codes, the report, what is read from where.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.h"
#include "tests/cli/verify_inputs.h"

namespace rdmaguard::cli::test {
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

TEST(Verify, AHealthyJobIsZeroAndItsFirstLineSaysSo) {
  const auto r = shell(kInFolder + write("log", kHealthyLog) + "$RDMAGUARD verify log");
  EXPECT_EQ(r.exitCode, 0) << r.out << r.err;
  EXPECT_NE(firstLine(r.out).find("InfiniBand"), std::string::npos) << r.out;
  EXPECT_EQ(r.err, "");
}

TEST(Verify, AFallbackIsTwoWithItsCauseItsFixAndItsLine) {
  const auto r = shell(kInFolder + write("log", kSocketLog) + "$RDMAGUARD verify log");
  EXPECT_EQ(r.exitCode, 2) << r.out << r.err;
  for (const char* part : {"NCCL_IB_DISABLE", "ib-disabled-by-env", "explains what was seen",
                           "Fix, in this order\n  1. Unset NCCL_IB_DISABLE", "[log:1]"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
}

TEST(Verify, NoFileMeansStandardInputAndSoDoesADash) {
  const std::string given = kInFolder + write("log", kSocketLog);
  const auto plain = shell(given + "$RDMAGUARD verify <log");
  const auto dash = shell(given + "$RDMAGUARD verify - <log");
  EXPECT_EQ(plain.exitCode, 2);
  EXPECT_EQ(plain.out, dash.out);
  EXPECT_NE(plain.out.find("standard input"), std::string::npos) << plain.out;
}

TEST(Verify, OnePasteMayHoldEverythingInAnyOrder) {
  const std::string pod =
      with(kPod, "{name: NCCL_IB_HCA, value: ibp}", "{name: NCCL_IB_DISABLE, value: \"1\"}");
  const std::string given =
      kInFolder + write("log", kSocketLog) + write("table", kTable) + write("pod", pod);
  for (const char* order : {"log table pod", "pod log table", "table pod log", "pod table log"}) {
    const auto r = shell(given + "cat " + order + " | $RDMAGUARD verify --json");
    const auto json = nlohmann::json::parse(r.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << r.out << r.err;
    EXPECT_EQ(json["transport"], "Socket") << order;
    EXPECT_EQ(json["busbw"].size(), 3U) << order;
    EXPECT_NE(json["missing_conditions"].dump().find("container train"), std::string::npos)
        << order << json["missing_conditions"].dump(1);
  }
}

TEST(Verify, PackedFilesAreReadWhateverTheirNames) {
  const auto r = shell(kInFolder + write("log", kSocketLog) +
                       "gzip -c log >a.txt; zstd -qc log >b.gz; gzip -c log | gzip -c >/dev/null\n"
                       "$RDMAGUARD verify log >0; sed -i s/log/X/g 0\n"
                       "for f in a.txt b.gz; do $RDMAGUARD verify $f >1; echo $?; "
                       "sed \"s/$f/X/g\" 1 | cmp - <(sed 's/log/X/g' 0) || cat 1; done");
  EXPECT_EQ(r.out, "2\n2\n") << r.err;
}

TEST(Verify, AFolderStandsForItsFilesByNameAndNotForHiddenOnes) {
  const auto r = shell(kInFolder + "mkdir -p logs/deep\n" + write("logs/b", kHealthyLog) +
                       write("logs/a", kHealthyLog) + write("logs/deep/c", kHealthyLog) +
                       write("logs/.hidden", kSocketLog) +
                       "ln -s logs/../logs logs/loop\n$RDMAGUARD verify --json logs logs/a");
  EXPECT_EQ(r.exitCode, 0) << r.out << r.err;
  EXPECT_EQ(nlohmann::json::parse(r.out)["files"],
            nlohmann::json({"logs/a", "logs/b", "logs/deep/c"}));
}

TEST(Verify, NothingReadableIs66AndEachFileIsToldWhy) {
  const auto r = shell(kInFolder +
                       ": >empty; printf '\\n\\n' >blank; head -c 4096 /bin/ls >binary\n"
                       "head -c 3000 /dev/urandom | tr -d '\\n' >noise; mkdir folder\n"
                       "$RDMAGUARD verify empty blank binary noise folder missing");
  EXPECT_EQ(r.exitCode, 66) << r.out << r.err;
  EXPECT_EQ(r.out, "");
  for (const char* file : {"empty", "blank", "binary", "noise", "folder", "missing"})
    EXPECT_NE(r.err.find(std::string("rdmaguard verify: ") + file + ": "), std::string::npos)
        << file << "\n"
        << r.err;
  EXPECT_EQ(shell("$RDMAGUARD verify </dev/null").exitCode, 66);
}

TEST(Verify, AFileThatCannotBeReadAmongOthersIsAWarning) {
  const auto r = shell(kInFolder + write("log", kSocketLog) +
                       "$RDMAGUARD verify --json missing log 2>err; echo $? >&2; cat err >&2");
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json["exit_code"], 2);
  EXPECT_EQ(json["problems"][0]["file"], "missing");
  EXPECT_EQ(r.err.substr(0, 2), "2\n");
  EXPECT_NE(r.err.find("missing: "), std::string::npos) << r.err;
}

TEST(Verify, ATruncatedArchiveIsReadAsFarAsItGoesAndSaidSo) {
  const auto r = shell(kInFolder + write("log", kSocketLog) +
                       "for i in $(seq 2000); do echo step $RANDOM$RANDOM; done >>log\n"
                       "gzip -c log | head -c 8000 >log.gz; zstd -qc log | head -c 8000 >log.zst\n"
                       "for f in log.gz log.zst; do $RDMAGUARD verify $f >out; echo $?; "
                       "head -n 1 out; done");
  EXPECT_EQ(r.out.substr(0, 2), "2\n") << r.out;
  EXPECT_NE(r.err.find("log.gz: its gzip data ends too early"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("log.zst: its zstd data ends too early"), std::string::npos) << r.err;
}

TEST(Verify, TextThatSaysNothingOfANetworkIsThreeAndSaysWhatToGather) {
  const auto r = shell("echo 'epoch 1 loss 2.3' | $RDMAGUARD verify");
  EXPECT_EQ(r.exitCode, 3) << r.out;
  EXPECT_NE(r.out.find("NCCL_DEBUG=INFO"), std::string::npos) << r.out;
}

TEST(Verify, GpuDirectIsSaidNotToCarryDataOnlyWhereAnotherNetworkDoes) {
  const auto pod = shell(kInFolder + write("pod", kPod) + "$RDMAGUARD verify pod");
  EXPECT_NE(pod.out.find("n/a: no connection is shown"), std::string::npos) << pod.out;
  const auto tcp = shell(kInFolder + write("log", kSocketLog) + "$RDMAGUARD verify log");
  EXPECT_NE(tcp.out.find("n/a: no RDMA carries data"), std::string::npos) << tcp.out;
}

TEST(Verify, ARequirementThatIsNotMetIsTwo) {
  const std::string given = kInFolder + write("log", kHealthyLog);
  EXPECT_EQ(shell(given + "$RDMAGUARD verify --require ib,gdr log").exitCode, 0);
  const auto r = shell(given + "$RDMAGUARD verify --require roce log");
  EXPECT_EQ(r.exitCode, 2) << r.out;
  EXPECT_NE(r.out.find("requirement"), std::string::npos) << r.out;
  EXPECT_EQ(shell(given + "$RDMAGUARD verify --require tcp log").exitCode, 64);
}

TEST(Verify, QuietPrintsNothingAtAll) {
  const auto r = shell(kInFolder + write("log", kSocketLog) + "$RDMAGUARD verify -q log missing");
  EXPECT_EQ(r.exitCode, 2);
  EXPECT_EQ(r.out + r.err, "");
}

TEST(Verify, ColourOnlyWhereItIsWanted) {
  const std::string given = kInFolder + write("log", kSocketLog);
  const auto colour = [&](const std::string& line) {
    return shell(given + line).out.find('\x1b') != std::string::npos;
  };
  EXPECT_FALSE(colour("$RDMAGUARD verify log"));
  EXPECT_TRUE(colour("$RDMAGUARD verify --color always log"));
  EXPECT_TRUE(colour("NO_COLOR=1 $RDMAGUARD verify --color=always log"));
  // A terminal, by script(1).
  const std::string terminal = "script -qec \"$RDMAGUARD verify log\" /dev/null";
  EXPECT_TRUE(colour("export TERM=xterm\n" + terminal));
  EXPECT_FALSE(colour("export TERM=xterm NO_COLOR=1\n" + terminal));
  EXPECT_FALSE(colour("export TERM=dumb\n" + terminal));
}

TEST(Verify, AReaderThatGoesAwayIsNoFailure) {
  const auto r = shell(kInFolder + write("log", kSocketLog) +
                       "set -o pipefail; for i in 1 2 3 4 5; do cp log log$i; done\n"
                       "$RDMAGUARD verify --json . | head -c 1 >/dev/null");
  EXPECT_EQ(r.exitCode, 2) << r.err;
  EXPECT_EQ(
      shell(kInFolder + write("log", kSocketLog) + "$RDMAGUARD verify log >/dev/full").exitCode,
      74);
}

TEST(Verify, AnInputCannotWriteToTheTerminal) {
  const auto r = shell(
      "printf 'h:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to "
      "1\\001\\002.\\nh:1:2 [0] NCCL INFO Using network \\x1b[31mSo\\007cket\\n' | "
      "$RDMAGUARD verify");
  for (const char c : r.out)
    EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 && c != '\n') << r.out;
}

TEST(Verify, TheSameInputGivesTheSameBytes) {
  const std::string given = kInFolder + write("log", kHealthyLog) + write("pod", kPod);
  for (const char* form : {"", " --json"}) {
    const std::string line = given + "$RDMAGUARD verify log pod" + form;
    EXPECT_EQ(shell(line).out, shell(line).out);
  }
}

TEST(Verify, HelpNamesEveryExitCodeAndKindOfInput) {
  const auto r = shell("$RDMAGUARD verify --help");
  EXPECT_EQ(r.exitCode, 0);
  for (const char* part : {"\n   0  ", "\n   1  ", "\n   2  ", "\n   3  ", "\n  64  ", "\n  66  ",
                           "ibstat", "nccl.conf", "Slurm", "NCCL_DEBUG=INFO", "Examples:"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace rdmaguard::cli::test
