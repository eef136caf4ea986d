// Statistics per operation and size class.
#include "plugin/collective/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using rdmaguard::Operation;
using rdmaguard::collective::Finished;
using rdmaguard::collective::LogHistogram;
using rdmaguard::collective::Statistics;
using rdmaguard::collective::Untimed;

Finished finished(Operation operation, std::uint64_t bytes, std::uint64_t ns, double busbw) {
  Finished f;
  f.operation = operation;
  f.bytes = bytes;
  f.durationNs = ns;
  f.busbw = busbw;
  if (ns == 0) f.untimed = Untimed::NoChildren;
  return f;
}

TEST(LogHistogram, TellsQuantilesWithinTwoPercent) {
  LogHistogram h;
  for (int i = 1; i <= 10'000; ++i) h.add(i * 0.01);
  for (const double q : {0.01, 0.5, 0.99}) {
    EXPECT_NEAR(h.quantile(q), q * 100, q * 100 * 0.02) << q;
  }
  EXPECT_NEAR(h.quantile(1), 100, 2);
}

TEST(LogHistogram, CountsWhatLiesOutsideAtTheEdgesAndIgnoresWhatIsNoBandwidth) {
  LogHistogram h;
  EXPECT_EQ(h.quantile(0.5), 0);
  h.add(1e-30);
  h.add(1e30);
  h.add(0);
  h.add(-1);
  h.add(std::nan(""));
  EXPECT_EQ(h.count(), 2U);
  EXPECT_LT(h.quantile(0.1), 1e-3);
  EXPECT_GT(h.quantile(0.9), 1e4);
}

TEST(Statistics, KeepSizeClassesAndOperationsApart) {
  Statistics s;
  s.add(finished(Operation::AllReduce, 1024, 10, 1));
  s.add(finished(Operation::AllReduce, 2047, 30, 3));
  s.add(finished(Operation::AllReduce, 2048, 5, 2));
  s.add(finished(Operation::AllGather, 1024, 7, 2));
  ASSERT_EQ(s.classes().size(), 3U);
  const auto& k = s.classes().at({Operation::AllReduce, 10});
  EXPECT_EQ(k.count, 2U);
  EXPECT_EQ(k.bytes, 3071U);
  EXPECT_EQ(k.totalNs, 40U);
  EXPECT_EQ(k.minNs, 10U);
  EXPECT_EQ(k.maxNs, 30U);
  EXPECT_EQ(k.minBusbw, 1);
  EXPECT_EQ(k.maxBusbw, 3);
  EXPECT_EQ(k.meanBusbw(), 2);
}

TEST(Statistics, CountUntimedCollectivesWithoutLettingThemTouchTheTimes) {
  Statistics s;
  s.add(finished(Operation::AllReduce, 1024, 0, 0));
  s.add(finished(Operation::AllReduce, 1024, 20, 4));
  const auto& k = s.classes().at({Operation::AllReduce, 10});
  EXPECT_EQ(k.count, 2U);
  EXPECT_EQ(k.untimed, 1U);
  EXPECT_EQ(k.bytes, 2048U);
  EXPECT_EQ(k.timedBytes, 1024U);
  EXPECT_EQ(k.minNs, 20U);
  EXPECT_EQ(k.busbw.count(), 1U);
}

}  // namespace
