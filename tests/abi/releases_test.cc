// What nccl_abi/releases.h answers for the releases people run.
#include "nccl_abi/releases.h"

#include <gtest/gtest.h>

namespace nccl_abi {
namespace {

TEST(Releases, EachReleaseSpeaksTheVersionsItsLibrarySpeaks) {
  const struct {
    int code, net, profiler;
  } expected[] = {
      {21903, 7, 0},  {22005, 8, 0},  {22105, 8, 0},  {22203, 8, 0},
      {22304, 8, 1},  {22403, 9, 2},  {22501, 9, 2},  {22605, 10, 3},
      {22703, 10, 4}, {22707, 10, 4}, {22803, 11, 5}, {22809, 11, 5},
      {22907, 11, 6}, {23007, 12, 6}, {23102, 12, 7}, {23203, 12, 7},
  };
  for (const auto& [code, net, profiler] : expected) {
    const Release* release = findRelease(code);
    ASSERT_NE(release, nullptr) << code;
    EXPECT_EQ(release->net, net) << code;
    EXPECT_EQ(release->profiler, profiler) << code;
  }
}

TEST(Releases, AReleaseThatWasNeverReadHasNoRow) {
  EXPECT_EQ(findRelease(0), nullptr);
  EXPECT_EQ(findRelease(2804), nullptr);
  EXPECT_EQ(findRelease(versionCode(2, 18, 6)), nullptr);
  EXPECT_EQ(findRelease(versionCode(2, 33, 1)), nullptr);
  EXPECT_EQ(findRelease(versionCode(3, 19, 3)), nullptr);
}

TEST(Releases, APatchBeforeTheFirstPublicOneHasNoRow) {
  EXPECT_EQ(findRelease(versionCode(2, 29, 1)), nullptr);
  EXPECT_NE(findRelease(versionCode(2, 29, 2)), nullptr);
}

TEST(Releases, ALaterPatchOfAKnownMinorGetsItsRowAndShowsThatItIsUnverified) {
  const int code = versionCode(2, 27, 9);
  const Release* release = findRelease(code);
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(release->net, 10);
  EXPECT_LT(release->verified, code);
}

}  // namespace
}  // namespace nccl_abi
