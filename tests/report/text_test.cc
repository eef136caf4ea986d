// Figures and lists as a reader sees them.
#include "plugin/report/text.h"

#include <gtest/gtest.h>

namespace rdmaguard::report {
namespace {

TEST(Text, DeviceNamesAreShownAsRangesWhereTheyFollowEachOther) {
  EXPECT_EQ(deviceRange({}), "none");
  EXPECT_EQ(deviceRange({"rxe0"}), "rxe0");
  EXPECT_EQ(deviceRange({"mlx5_1", "mlx5_0"}), "mlx5_0,mlx5_1");
  EXPECT_EQ(deviceRange({"mlx5_10", "mlx5_9", "mlx5_8", "mlx5_2"}), "mlx5_2,mlx5_8..10");
  EXPECT_EQ(deviceRange({"mlx5_0", "mlx5_0"}), "mlx5_0");
  EXPECT_EQ(deviceRange({"ibp0", "ibp1", "ibp2", "mlx5_3"}), "ibp0..2,mlx5_3");
  EXPECT_EQ(deviceRange({"mlx5_0+mlx5_1", "mlx5_2+mlx5_3"}), "mlx5_0+mlx5_1,mlx5_2+mlx5_3");
}

TEST(Text, SizesAreBinaryWhereTheyDivideEvenly) {
  EXPECT_EQ(messageSize(0), "0 B");
  EXPECT_EQ(messageSize(80000), "78.1 KiB");
  EXPECT_EQ(messageSize(8192), "8 KiB");
  EXPECT_EQ(messageSize(64ULL << 20), "64 MiB");
  EXPECT_EQ(messageSize(1023), "1023 B");
  EXPECT_EQ(messageSize(1500ULL << 20), "1.5 GiB");
}

TEST(Text, TrafficIsDecimal) {
  EXPECT_EQ(traffic(999), "999 B");
  EXPECT_EQ(traffic(1230000000), "1.23 GB");
  EXPECT_EQ(traffic(45600000), "45.6 MB");
}

TEST(Text, PortRatesKeepTheirHalves) {
  EXPECT_EQ(portRate(400000), "400 Gb/s");
  EXPECT_EQ(portRate(2500), "2.5 Gb/s");
  EXPECT_EQ(portRate(0), "speed unknown");
}

TEST(Text, TheBusbwPhraseShowsWhatTookMostTime) {
  const std::vector<BusbwRow> rows{{"AllGather", 1 << 20, 3, 10, 9, 11, 0.1},
                                   {"AllReduce", 64 << 20, 1, 312.44, 312.44, 312.44, 0.5},
                                   {"Broadcast", 8, 1, 0.001, 0.001, 0.001, 0.01}};
  EXPECT_EQ(busbwPhrase(rows, 2),
            "AllReduce 64 MiB x1 busbw 312.4 GB/s; AllGather 1 MiB x3 busbw 10 GB/s (9 to 11); 1 "
            "more");
}

TEST(Text, NumberedItemsWrapUnderTheirFirstWord) {
  const std::string word(60, 'a');
  EXPECT_EQ(numbered(std::vector{word + " " + word}, "  "), "  " + word + "\n  " + word + "\n");
  const std::string two = numbered(std::vector{word + " " + word, std::string("b")}, "  ");
  EXPECT_EQ(two, "  1. " + word + "\n     " + word + "\n  2. b\n");
}

}  // namespace
}  // namespace rdmaguard::report
