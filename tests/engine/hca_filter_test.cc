// NCCL_IB_HCA and NCCL_SOCKET_IFNAME against names, row by row. real_nccl_test.cc holds the
// same rows against NCCL itself.
#include "verifier/engine/hca_filter.h"

#include <gtest/gtest.h>

#include "filter_cases.h"

namespace rdmaguard::engine {
namespace {

using test::FilterCase;

class NameFilterTable : public testing::TestWithParam<FilterCase> {};

TEST_P(NameFilterTable, TakesWhatNcclTakes) {
  const FilterCase& c = GetParam();
  EXPECT_EQ(parseNameFilter(c.list, kMaxHcaEntries, c.ncclVersion).takes(c.name, c.port), c.taken)
      << "NCCL_IB_HCA=" << c.list << " for " << c.name << ":" << c.port;
}

INSTANTIATE_TEST_SUITE_P(Rows, NameFilterTable, testing::ValuesIn(test::kFilterCases));

TEST(NameFilter, DropsEntriesPastNcclsLimitAndCountsThem) {
  std::string list;
  for (int i = 0; i < 40; ++i) list += "dev" + std::to_string(i) + "x,";
  const NameFilter filter = parseNameFilter(list, kMaxHcaEntries);
  EXPECT_EQ(filter.entries.size(), 32u);
  EXPECT_EQ(filter.dropped, 8);
  EXPECT_TRUE(filter.takes("dev31x", 1));
  EXPECT_FALSE(filter.takes("dev32x", 1));
}

TEST(NameFilter, NamesTheFaultThatMakesAListMatchNothing) {
  EXPECT_FALSE(suspiciousText("mlx5_0,mlx5_1:1"));
  EXPECT_FALSE(suspiciousText("^=mlx5_0"));
  EXPECT_NE(suspiciousText("mlx5_0, mlx5_1")->find("blank"), std::string::npos);
  EXPECT_NE(suspiciousText("\"mlx5_0\"")->find("quotation mark"), std::string::npos);
  EXPECT_NE(suspiciousText("mlx5_0\r")->find("carriage return"), std::string::npos);
  EXPECT_NE(suspiciousText("=^mlx5_0")->find("'^'"), std::string::npos);
  EXPECT_NE(suspiciousText("mlx5_0;mlx5_1")->find("semicolon"), std::string::npos);
}

}  // namespace
}  // namespace rdmaguard::engine
