// Lines that no reader knows are recognised by their shape when they come again; nothing that is
// known may be lost behind them.
#include "verifier/readers/line_shapes.h"

#include <gtest/gtest.h>

#include <string>

#include "verifier/readers/input.h"

namespace rdmaguard::readers {
namespace {

TEST(LineShapes, LinesThatDifferInNumbersAloneHaveOneMark) {
  EXPECT_EQ(LineShapes::markOf("step 12 | loss 2.25"), LineShapes::markOf("step 97 | loss 1.80"));
  EXPECT_NE(LineShapes::markOf("step 12 | loss 2.25"), LineShapes::markOf("step 123 | loss 1.8"));
  EXPECT_NE(LineShapes::markOf("step 12 | loss 2.25"), LineShapes::markOf("step 12 | lost 2.25"));
}

TEST(LineShapes, TheDigitsOfANameCount) {
  EXPECT_NE(LineShapes::markOf("mlx4_ib 1"), LineShapes::markOf("mlx5_ib 1"));
  EXPECT_NE(LineShapes::markOf("rank_1 x"), LineShapes::markOf("rank_2 x"));
}

TEST(LineShapes, ALineTooLongHasNone) {
  EXPECT_EQ(LineShapes::markOf(std::string(4096, 'x')), 0U);
  LineShapes shapes;
  shapes.add(0);
  EXPECT_FALSE(shapes.holds(0));
}

std::string steps() {
  std::string text;
  for (int i = 100; i < 200; ++i) text += "step " + std::to_string(i) + " | loss 2.125\n";
  return text;
}

TEST(LineShapes, UnknownLinesAreCountedAsOftenAsTheyCome) {
  EXPECT_EQ(readText(steps(), "x").facts.linesUnknown, 100U);
}

TEST(LineShapes, WhatFollowsThemIsRead) {
  const std::string text =
      steps() +
      "  1048576  262144  float  sum  -1  101.2  10.36  19.42  0  100.9  "
      "10.39  19.48  0\n" +
      steps() +
      "#       size         count      type   redop    root     time   algbw   "
      "busbw #wrong     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    101.2   10.36   "
      "19.42      0    100.9   10.39   19.48      0\n" +
      steps() + "NCCL_IB_HCA=ibp\n" + steps() + "CA 'mlx5_0'\n\tPort 1:\n" + "\t\tState: Active\n";
  const auto facts = readText(text, "x").facts;
  ASSERT_FALSE(facts.run.tables.empty());
  EXPECT_FALSE(facts.run.tables.back().rows.empty());
  ASSERT_EQ(facts.settings.size(), 1U);
  EXPECT_EQ(facts.settings[0].source, "x:304");
  ASSERT_EQ(facts.ports.listings.size(), 1U);
}

TEST(LineShapes, AKernelsMessageBehindManyOfItsShapeIsAnEvent) {
  const auto events =
      readText(steps() +
                   "[ 1234.567890] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n" +
                   steps() +
                   "[ 2234.567890] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n",
               "x")
          .facts.run.events;
  EXPECT_FALSE(events.empty());
}

}  // namespace
}  // namespace rdmaguard::readers
