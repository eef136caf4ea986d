// A descriptor written the way one profiler version writes it is read the same way by the structs
// of nccl_abi, byte for byte; and all versions live in one program.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "nccl_abi/net_v10.h"
#include "nccl_abi/net_v11.h"
#include "nccl_abi/net_v12.h"
#include "nccl_abi/net_v6.h"
#include "nccl_abi/net_v7.h"
#include "nccl_abi/net_v8.h"
#include "nccl_abi/net_v9.h"
#include "nccl_abi/profiler_v1.h"
#include "nccl_abi/profiler_v7.h"

namespace nccl_abi {
namespace {

/// Raw memory of a descriptor, filled by offset as NCCL's compiler fills it.
template <std::size_t kBytes>
struct Raw {
  alignas(8) std::array<std::byte, kBytes> bytes{};

  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  }
  template <class T>
  T as() const {
    static_assert(sizeof(T) == kBytes);
    T value;
    std::memcpy(&value, bytes.data(), kBytes);
    return value;
  }
};

TEST(ProfilerDescriptor, TheCollectiveOfVersion7IsReadFromItsBytes) {
  Raw<136> raw;
  raw.put<std::uint64_t>(0, event_type::kColl);
  raw.put<int>(16, 3);
  raw.put<std::uint64_t>(24, 41);
  raw.put<const char*>(32, "AllReduce");
  raw.put<std::size_t>(56, 1 << 20);
  raw.put<const char*>(72, "ncclFloat32");
  raw.put<std::uint8_t>(80, 16);
  raw.put<bool>(120, true);
  raw.put<std::uint64_t>(128, 99);
  const auto descriptor = raw.as<profiler_v7::EventDescriptor>();
  EXPECT_EQ(descriptor.type, event_type::kColl);
  EXPECT_EQ(descriptor.rank, 3);
  EXPECT_EQ(descriptor.coll.seqNumber, 41U);
  EXPECT_STREQ(descriptor.coll.func, "AllReduce");
  EXPECT_EQ(descriptor.coll.count, std::size_t{1} << 20);
  EXPECT_STREQ(descriptor.coll.datatype, "ncclFloat32");
  EXPECT_EQ(descriptor.coll.nChannels, 16);
  EXPECT_TRUE(descriptor.coll.isSymColl);
  EXPECT_EQ(descriptor.coll.userTag, 99U);
}

TEST(ProfilerDescriptor, TheCollectiveOfVersion1CarriesNumbersInsteadOfNames) {
  Raw<120> raw;
  raw.put<std::uint8_t>(0, event_type::kColl);
  raw.put<std::uint64_t>(32, 0xabcdef);
  raw.put<std::uint8_t>(48, static_cast<std::uint8_t>(Func::AllReduce));
  raw.put<std::size_t>(72, 4096);
  raw.put<std::uint8_t>(84, static_cast<std::uint8_t>(DataType::Bfloat16));
  const auto descriptor = raw.as<profiler_v1::EventDescriptor>();
  EXPECT_EQ(descriptor.coll.commHash, 0xabcdefU);
  EXPECT_EQ(descriptor.coll.func, 4);
  EXPECT_EQ(descriptor.coll.count, 4096U);
  const auto row = dataType(static_cast<int>(descriptor.coll.datatype));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->bytes, 2);
}

TEST(ProfilerDescriptor, EveryEventTypeIsOneBitOfItsOwn) {
  const std::uint32_t all[] = {
      event_type::kGroup,       event_type::kColl,      event_type::kP2p,
      event_type::kProxyOp,     event_type::kProxyStep, event_type::kProxyCtrl,
      event_type::kKernelCh,    event_type::kNetPlugin, event_type::kGroupApi,
      event_type::kCollApi,     event_type::kP2pApi,    event_type::kKernelLaunch,
      event_type::kCeColl,      event_type::kCeSync,    event_type::kCeBatch,
      event_type::kKernelPhase,
  };
  std::uint32_t seen = 0;
  for (const std::uint32_t bit : all) {
    EXPECT_EQ(bit & (bit - 1), 0U) << bit;
    EXPECT_EQ(seen & bit, 0U) << bit;
    seen |= bit;
  }
  EXPECT_EQ(seen, 0xffffU);
}

TEST(NetProperties, TheSpeedOfADeviceIsWhereEachVersionPutsIt) {
  Raw<56> v7;
  v7.put<int>(28, 100000);
  EXPECT_EQ(v7.as<net_v7::Properties>().speed, 100000);
  Raw<64> v8;
  v8.put<int>(32, 200000);
  EXPECT_EQ(v8.as<net_v8::Properties>().speed, 200000);
  Raw<104> v9;
  v9.put<int>(36, 400000);
  EXPECT_EQ(v9.as<net_v9::Properties>().speed, 400000);
  EXPECT_EQ(v9.as<net_v10::Properties>().speed, 400000);
  Raw<128> v12;
  v12.put<int>(36, 800000);
  v12.put<int>(64, 8);
  v12.put<int>(96, 77);
  EXPECT_EQ(v12.as<net_v12::Properties>().speed, 800000);
  EXPECT_EQ(v12.as<net_v12::Properties>().vProps.ndevs, 8);
  EXPECT_EQ(v12.as<net_v12::Properties>().vProps.devs[7], 77);
}

}  // namespace
}  // namespace nccl_abi
