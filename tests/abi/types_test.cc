// The element type table of nccl_abi/types.h, as the bandwidth arithmetic uses it.
#include "nccl_abi/types.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace nccl_abi {
namespace {

TEST(ElementTypes, EveryTypeIsFoundByItsNumberAndByItsName) {
  for (int number = 0; number < static_cast<int>(kDataTypes.size()); ++number) {
    const auto byNumber = dataType(number);
    ASSERT_TRUE(byNumber.has_value()) << number;
    EXPECT_EQ(static_cast<int>(byNumber->type), number);
    const auto byName = dataType(byNumber->name);
    ASSERT_TRUE(byName.has_value()) << byNumber->name;
    EXPECT_EQ(byName->type, byNumber->type);
  }
}

TEST(ElementTypes, SizesAreThoseOfTheTypeThatTheNameSays) {
  const struct {
    const char* name;
    int bytes;
  } expected[] = {
      {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
      {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
      {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
  };
  for (const auto& [name, bytes] : expected) {
    const auto row = dataType(std::string_view(name));
    ASSERT_TRUE(row.has_value()) << name;
    EXPECT_EQ(row->bytes, bytes) << name;
  }
  EXPECT_EQ(std::size(expected), kDataTypes.size());
}

TEST(ElementTypes, ANameOrNumberThatNcclDoesNotDefineHasNoSize) {
  EXPECT_FALSE(dataType(kUntoldDataTypeName).has_value());
  EXPECT_FALSE(dataType(std::string_view("")).has_value());
  EXPECT_FALSE(dataType(std::string_view("ncclInt8 ")).has_value());
  EXPECT_FALSE(dataType(-1).has_value());
  EXPECT_FALSE(dataType(12).has_value());
  EXPECT_FALSE(dataType(255).has_value());
}

}  // namespace
}  // namespace nccl_abi
