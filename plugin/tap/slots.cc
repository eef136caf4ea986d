// Instantiates the slots for every net interface version and place. See slots.h.
#include "plugin/tap/slots.h"

#include <array>

#include "nccl_abi/net_v10.h"
#include "nccl_abi/net_v11.h"
#include "nccl_abi/net_v12.h"
#include "nccl_abi/net_v7.h"
#include "nccl_abi/net_v8.h"
#include "nccl_abi/net_v9.h"

namespace rdmaguard::tap {
namespace {

template <class NetStruct>
std::array<SlotTable, kPlaces> places(int netAbi) {
  static_assert(kPlaces == 4);
  return {Slots<NetStruct, 0>::table(netAbi), Slots<NetStruct, 1>::table(netAbi),
          Slots<NetStruct, 2>::table(netAbi), Slots<NetStruct, 3>::table(netAbi)};
}

}  // namespace

const SlotTable* slotTable(int netAbi, Place place) {
  static const std::array<std::array<SlotTable, kPlaces>, 6> kTables{
      places<nccl_abi::net_v7::Net>(7),   places<nccl_abi::net_v8::Net>(8),
      places<nccl_abi::net_v9::Net>(9),   places<nccl_abi::net_v10::Net>(10),
      places<nccl_abi::net_v11::Net>(11), places<nccl_abi::net_v12::Net>(12)};
  for (const auto& row : kTables) {
    if (row[0].netAbi == netAbi && place < kPlaces) return &row[place];
  }
  return nullptr;
}

}  // namespace rdmaguard::tap
