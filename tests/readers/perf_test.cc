// Tables of bandwidth tests, as text: every generation of nccl-tests, what launchers and paste do
// to them, and other tools' tables.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "verifier/readers/input.h"

namespace rdmaguard::readers {
namespace {

using engine::BusbwRow;
using engine::PerfTable;

std::vector<PerfTable> tablesOf(std::string_view text, std::string name = "perf.txt") {
  return readText(text, std::move(name)).facts.run.tables;
}

PerfTable tableOf(std::string_view text, std::string name = "perf.txt") {
  auto tables = tablesOf(text, std::move(name));
  EXPECT_EQ(tables.size(), 1u);
  return tables.empty() ? PerfTable{} : tables.front();
}

const BusbwRow& largest(const PerfTable& t) {
  static const BusbwRow none;
  const BusbwRow* best = &none;
  for (const BusbwRow& row : t.rows)
    if (!row.average && row.sizeBytes >= best->sizeBytes) best = &row;
  return *best;
}

constexpr std::string_view kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
    "time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
    "(us)  (GB/s)  (GB/s)\n";
constexpr std::string_view kRow =
    "  1073741824     268435456     float     sum      -1    11366   94.47  188.80      0    "
    "11186   95.99  191.85      0\n";
constexpr std::string_view kEnd =
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 280.977 \n";

std::string wholeTable() {
  return std::string(kHeading).append(kRow).append(kEnd);
}

void expectTheTable(const PerfTable& t) {
  EXPECT_EQ(t.op, "all_reduce");
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.rows[0].sizeBytes, 1073741824u);
  EXPECT_DOUBLE_EQ(t.rows[0].timeUs, 11366);
  EXPECT_DOUBLE_EQ(t.rows[0].algbw, 94.47);
  EXPECT_DOUBLE_EQ(t.rows[0].busbw, 188.80);
  EXPECT_DOUBLE_EQ(t.rows[0].inPlaceBusbw, 191.85);
  EXPECT_EQ(t.rows[0].wrong, 0);
  EXPECT_TRUE(t.rows[1].average);
  EXPECT_DOUBLE_EQ(t.rows[1].busbw, 280.977);
  EXPECT_EQ(t.outOfBounds, 0);
}

TEST(PerfTable, GivesItsRowsAndItsAverage) {
  expectTheTable(tableOf(wholeTable()));
}

TEST(PerfTable, IsTheSameBehindEveryLaunchersTag) {
  for (const std::string_view tag :
       {"0: ", "[1,0]<stdout>:", "   [1,0]<stdout>: ", "> ", "2026-01-09T03:27:55.610Z ",
        "2026-01-09T03:27:55.610Z stdout F ", "(Worker pid=12, ip=192.0.2.1) "}) {
    std::string tagged;
    std::string_view rest = "\n";
    const std::string plain = wholeTable();
    for (rest = plain; !rest.empty();) {
      const auto end = rest.find('\n');
      tagged.append(tag).append(rest.substr(0, end + 1));
      rest.remove_prefix(end + 1);
    }
    SCOPED_TRACE(tag);
    expectTheTable(tableOf(tagged));
  }
}

TEST(PerfTable, SurvivesLostHashesCollapsedBlanksAndCarriageReturns) {
  std::string bare, collapsed, crlf;
  for (const char c : wholeTable()) {
    if (c != '#') bare += c;
    if (c != ' ' || !collapsed.ends_with(' ')) collapsed += c;
    if (c == '\n') crlf += '\r';
    crlf += c;
  }
  // The name of the column "#wrong" loses its sign too, which is all the same.
  expectTheTable(tableOf(bare));
  expectTheTable(tableOf(collapsed));
  expectTheTable(tableOf(crlf));
}

TEST(PerfTable, IsReadWithoutAnyHeading) {
  const PerfTable t = tableOf(kRow);
  EXPECT_EQ(t.op, "all_reduce");
  EXPECT_DOUBLE_EQ(largest(t).busbw, 188.80);
}

TEST(PerfTable, HasItsOldFormsWithoutRootAndWithoutRedop) {
  const PerfTable noRoot = tableOf(
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      " "
      " busbw  error\n"
      "    67108864      16777216   float     sum    12993    5.16    9.68  2e-06    13017    5.16 "
      " "
      "  9.67  2e-06\n");
  EXPECT_DOUBLE_EQ(largest(noRoot).timeUs, 12993);
  EXPECT_DOUBLE_EQ(largest(noRoot).busbw, 9.68);
  EXPECT_EQ(largest(noRoot).wrong, -1) << "a difference is no count";
  const PerfTable gather = tableOf(
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw "
      " "
      "error\n"
      "    67108864      16777216   float    12993    5.16    4.84  0e+00    13017    5.16    4.84 "
      " "
      "0e+00\n",
      "all_gather.txt");
  EXPECT_EQ(gather.op, "all_gather");
  EXPECT_DOUBLE_EQ(largest(gather).busbw, 4.84);
}

TEST(PerfTable, TakesPerIterationColumnsAndTimeStamps) {
  const PerfTable t = tableOf(
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    "
      "i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    "
      "i_p99 "
      "   i_cv%\n"
      "  1073741824     268435456     float     sum      -1  5210.30  206.08  386.40       0  "
      "5200.00  5300.00  5290.00     1.20  5208.10  206.17  386.56       0  5200.00  5300.00  "
      "5290.00     1.20\n");
  EXPECT_DOUBLE_EQ(largest(t).busbw, 386.40);
  EXPECT_DOUBLE_EQ(largest(t).inPlaceBusbw, 386.56);
  const PerfTable stamped = tableOf(
      "  1073741824     268435456     float     sum      -1    11366   94.47  188.80      0    "
      "11186   95.99  191.85      0   2026-03-04 10:00:00\n");
  EXPECT_DOUBLE_EQ(largest(stamped).inPlaceBusbw, 191.85);
}

TEST(PerfTable, CountsUncheckedResultsAsUnchecked) {
  const PerfTable t = tableOf(
      "           8             2     float     sum      -1    60.98    0.00    0.00    N/A    "
      "62.94 "
      "   0.00    0.00    N/A\n");
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_EQ(t.rows[0].wrong, -1);
}

TEST(PerfTable, TellsOperationsApartByTheirColumns) {
  const auto op = [](std::string_view rows) { return tableOf(rows).op; };
  EXPECT_EQ(
      op("  2147483648      33554432     float    none      -1   6490.0  330.89  310.21      0 "
         "  6604.2  325.17  304.85      0\n"),
      "all_gather");
  EXPECT_EQ(
      op("  2147483648      33554432     float    none      -1   6490.0  330.89  310.21      0 "
         "  6604.2  325.17  304.85    N/A\n"),
      "alltoall");
  EXPECT_EQ(
      op("  2147483648     536870912     float    none       0   6490.0  330.89  330.89      0 "
         "  6604.2  325.17  325.17      0\n"),
      "broadcast");
  EXPECT_EQ(
      op("  2147483648     536870912     float     sum       0   6490.0  330.89  330.89      0 "
         "  6604.2  325.17  325.17      0\n"),
      "reduce");
  EXPECT_EQ(
      op("  2147483648      33554432     float     sum      -1   6490.0  330.89  310.21      0 "
         "  6604.2  325.17  304.85      0\n"),
      "reduce_scatter");
}

TEST(PerfTable, TakesTheOperationThatTheInputNamesBeforeItsColumns) {
  const std::string row(kRow);
  EXPECT_EQ(tableOf("# Collective test starting: sendrecv_perf\n" + row).op, "sendrecv");
  EXPECT_EQ(
      tableOf("mpirun -np 16 /opt/nccl-tests/build/sendrecv_perf -b 8 -e 8G\n" + wholeTable()).op,
      "sendrecv");
  EXPECT_FALSE(tableOf("# Collective test starting: sendrecv_perf\n" + row).opInferred);
  EXPECT_TRUE(tableOf(row).opInferred);
}

TEST(PerfTable, ListsRanksAndHosts) {
  const std::string list =
      "# nccl-tests version 2.17.9 nccl-headers=22903 nccl-library=22903\n# Using devices\n"
      "#  Rank  0 Group  0 Pid   4200 on      oke-3 device  0 [0000:0a:00] NVIDIA A100\n"
      "#  Rank  1 Group  0 Pid   4201 on      oke-4 device  0 [0000:0a:00] NVIDIA A100\n";
  const PerfTable t = tableOf(list + wholeTable());
  EXPECT_EQ(t.nRanks, 2);
  EXPECT_TRUE(t.allListed);
  EXPECT_EQ(t.hosts, (std::vector<std::string>{"oke-3", "oke-4"}));
  EXPECT_EQ(t.ncclVersion, "2.29.3");
  const PerfTable elided =
      tableOf("#  Rank 1439 Group  0 Pid  20118 on   r20-18 device  3 [0x01] NVIDIA GB200\n" +
              wholeTable());
  EXPECT_EQ(elided.nRanks, 1440);
  EXPECT_FALSE(elided.allListed);
}

TEST(PerfTable, StandsForItselfBesideOthersInOnePaste) {
  const auto tables = tablesOf("# Collective test starting: all_reduce_perf\n" + wholeTable() +
                               "# Collective test starting: alltoall_perf\n" + wholeTable());
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].op, "all_reduce");
  EXPECT_EQ(tables[1].op, "alltoall");
  EXPECT_EQ(tables[1].rows.size(), 2u);
}

TEST(PerfTable, GoesOnBehindNcclsLinesAndElidedRows) {
  const PerfTable t =
      tableOf(std::string(kHeading) +
              "           0             0     float     sum      -1    14.88    0.00 "
              "   0.00      0    14.91    0.00    0.00      0\n   ...\n"
              "na:1:1 [0] NCCL INFO Launch mode Parallel\n" +
              std::string(kRow));
  EXPECT_EQ(t.rowsSeen, 2u);
  EXPECT_DOUBLE_EQ(largest(t).busbw, 188.80);
}

TEST(PerfTable, OfAnotherToolIsReadByItsHeading) {
  const PerfTable t = tableOf(
      "#       size        count    time_ms   algbw_GBps   busbw_GBps\n"
      "         2GB    536870912     49.770        43.15        80.90\n");
  EXPECT_EQ(t.tool, "");
  EXPECT_EQ(t.op, "all_reduce");
  EXPECT_EQ(largest(t).sizeBytes, 2147483648u);
  EXPECT_DOUBLE_EQ(largest(t).timeUs, 49770);
  EXPECT_DOUBLE_EQ(largest(t).busbw, 80.90);
}

TEST(PerfTable, KeepsItsLargestSizesWhenItIsLong) {
  std::string text;
  for (int i = 1; i <= 5000; ++i)
    text += "  " + std::to_string(i * 4) + "  " + std::to_string(i) +
            "  float  sum  -1  10.0  1.00  1.87  0  10.0  1.00  1.87  0\n";
  const PerfTable t = tableOf(text + std::string(kEnd));
  EXPECT_EQ(t.rowsSeen, 5000u);
  EXPECT_LE(t.rows.size(), engine::kMaxPerfRows);
  EXPECT_EQ(largest(t).sizeBytes, 20000u);
  EXPECT_TRUE(t.rows.back().average);
}

TEST(PerfTable, OfProcessesThatRanAloneSaysSo) {
  const std::string row =
      "   134217728      33554432     float     sum      -1    420.5  319.15    0.00      0     "
      "0.43  3135.58    0.00      0\n";
  EXPECT_TRUE(
      tableOf(row + "# Avg bus bandwidth    : 0\n# Avg bus bandwidth    : 0\n").everyRankAlone);
  EXPECT_FALSE(tableOf(row + "# Avg bus bandwidth    : 0\n").everyRankAlone);
}

TEST(PerfJson, OfNcclTestsIsOneTable) {
  const PerfTable t =
      tableOf(R"({"version":3,"args":["./build/all_reduce_perf","-J","o"],"nccl_version":22809,)"
              R"("config":{"devices":[{"rank":0,"hostname":"a"},{"rank":1,"hostname":"b"}]},)"
              R"("results":[{"size":64,"count":16,"type":"float","redop":"sum","root":"    -1",)"
              R"("out_of_place":{"time":4.5,"alg_bw":1.5,"bus_bw":2.5,"nwrong":0.0},)"
              R"("in_place":{"time":4,"alg_bw":2,"bus_bw":3,"nwrong":0.0},"experiment_name":"x"}],)"
              R"("out_of_bounds":{"count":0,"okay":"true"},)"
              R"("average_bus_bandwidth":{"bandwidth":2.75,"okay":"unchecked"},"errors":[""]})",
              "perf.json");
  EXPECT_EQ(t.op, "all_reduce");
  EXPECT_EQ(t.ncclVersion, "2.28.9");
  EXPECT_EQ(t.nRanks, 2);
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(t.rows[0].busbw, 2.5);
  EXPECT_DOUBLE_EQ(t.rows[0].inPlaceBusbw, 3);
  EXPECT_DOUBLE_EQ(t.rows[1].busbw, 2.75);
  EXPECT_FALSE(t.failed);
}

TEST(PerfJson, OfRcclTestsJoinsTheTwoSidesOfASize) {
  const PerfTable t = tableOf(
      R"({"#wrong":"0","algBw":36.2,"busBw":54.4,"gpus":4,"inPlace":0,"name":"AllReduce","size":64})"
      "\n"
      R"({"#wrong":"0","algBw":38.7,"busBw":58.1,"gpus":4,"inPlace":1,"name":"AllReduce","size":64})"
      "\n",
      "perf.jsonl");
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(t.rows[0].busbw, 54.4);
  EXPECT_DOUBLE_EQ(t.rows[0].inPlaceBusbw, 58.1);
  EXPECT_EQ(t.nRanks, 4);
}

TEST(PerfTable, IsNotSeenInProseAndNumbers) {
  for (const std::string_view text :
       {"12 34 apples cost 5 6 7 8 9\n", "loss 2.11 step 9120 busbw soon\n",
        "2026-01-01 10:00:00 1 2 3 4 5\n", "the size of busbw\n", "Rank 3 of 4 on duty\n"})
    EXPECT_TRUE(tablesOf(text).empty()) << text;
}

}  // namespace
}  // namespace rdmaguard::readers
