// Every tapped slot of every interface version hands on the very arguments it got and returns the
// very result it was given.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <tuple>
#include <vector>

#include "nccl_abi/net_v10.h"
#include "nccl_abi/net_v11.h"
#include "nccl_abi/net_v12.h"
#include "nccl_abi/net_v7.h"
#include "nccl_abi/net_v8.h"
#include "nccl_abi/net_v9.h"
#include "plugin/tap/slots.h"

namespace tap = rdmaguard::tap;
using nccl_abi::Result;

namespace {

// What the arguments point to: zeroes, so no comm, no request, not done.
using Memory = std::array<std::array<std::uint64_t, 64>, 10>;

std::vector<std::uint64_t> g_seen;
Result g_answer = Result::Success;

template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

template <class... A>
Result record(A... args) {
  g_seen = {bits(args)...};
  return g_answer;
}

template <class NetStruct>
constexpr int kAbi = 0;
template <>
constexpr int kAbi<nccl_abi::net_v7::Net> = 7;
template <>
constexpr int kAbi<nccl_abi::net_v8::Net> = 8;
template <>
constexpr int kAbi<nccl_abi::net_v9::Net> = 9;
template <>
constexpr int kAbi<nccl_abi::net_v10::Net> = 10;
template <>
constexpr int kAbi<nccl_abi::net_v11::Net> = 11;
template <>
constexpr int kAbi<nccl_abi::net_v12::Net> = 12;

template <class NetStruct>
class Forward : public testing::Test {
 protected:
  // The last place, so that these calls do not mix with other tests' records.
  Forward() : table(tap::slotTable(kAbi<NetStruct>, tap::kPlaces - 1)) {
    std::memcpy(&own, table->own, sizeof own);
  }

  template <class... A>
  void expectForwarded(Result (*NetStruct::*slot)(A...), const char* name) {
    NetStruct recorder{};
    recorder.*slot = record;
    std::memcpy(table->originals, &recorder, sizeof recorder);
    for (const Result answer : {Result::Success, Result::RemoteError, Result::InProgress}) {
      g_answer = answer;
      g_seen.clear();
      std::size_t index = 0;
      Memory memory{};
      const std::tuple<A...> args{argument<A>(memory, index)...};
      EXPECT_EQ(std::apply(own.*slot, args), answer) << name;
      const auto given =
          std::apply([](auto... a) { return std::vector<std::uint64_t>{bits(a)...}; }, args);
      EXPECT_EQ(g_seen, given) << name << " of v" << table->netAbi;
      EXPECT_EQ(memory, Memory{}) << name;
    }
  }

  template <class T>
  static T argument(Memory& memory, std::size_t& index);

  const tap::SlotTable* table;
  NetStruct own;
};

template <class NetStruct>
template <class T>
T Forward<NetStruct>::argument(Memory& memory, std::size_t& index) {
  const std::size_t i = index++;
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(memory[i].data());
  } else {
    return static_cast<T>(3 + i);
  }
}

using Versions =
    testing::Types<nccl_abi::net_v7::Net, nccl_abi::net_v8::Net, nccl_abi::net_v9::Net,
                   nccl_abi::net_v10::Net, nccl_abi::net_v11::Net, nccl_abi::net_v12::Net>;
TYPED_TEST_SUITE(Forward, Versions);

TYPED_TEST(Forward, EveryArgumentAndEveryResult) {
  using N = TypeParam;
  ASSERT_EQ(this->table->words * sizeof(void*), sizeof(N));
  this->expectForwarded(&N::init, "init");
  this->expectForwarded(&N::devices, "devices");
  this->expectForwarded(&N::getProperties, "getProperties");
  this->expectForwarded(&N::listen, "listen");
  this->expectForwarded(&N::connect, "connect");
  this->expectForwarded(&N::accept, "accept");
  this->expectForwarded(&N::regMr, "regMr");
  this->expectForwarded(&N::regMrDmaBuf, "regMrDmaBuf");
  this->expectForwarded(&N::isend, "isend");
  this->expectForwarded(&N::irecv, "irecv");
  this->expectForwarded(&N::test, "test");
  this->expectForwarded(&N::closeSend, "closeSend");
  this->expectForwarded(&N::closeRecv, "closeRecv");
  this->expectForwarded(&N::closeListen, "closeListen");
  if constexpr (requires { &N::finalize; }) this->expectForwarded(&N::finalize, "finalize");
}

TYPED_TEST(Forward, LeavesTheOtherSlotsAlone) {
  EXPECT_EQ(this->own.deregMr, nullptr);
  EXPECT_EQ(this->own.iflush, nullptr);
  EXPECT_EQ(this->own.getDeviceMr, nullptr);
  EXPECT_EQ(this->own.irecvConsumed, nullptr);
}

TEST(SlotTable, ExistsForTheKnownInterfacesOnly) {
  EXPECT_EQ(tap::slotTable(6, 0), nullptr);
  EXPECT_EQ(tap::slotTable(13, 0), nullptr);
  EXPECT_EQ(tap::slotTable(12, tap::kPlaces), nullptr);
}

}  // namespace
