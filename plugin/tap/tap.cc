// Installation of our slots and questions to NCCL's own. See tap.h.
#include "plugin/tap/tap.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "plugin/tap/instances.h"
#include "plugin/tap/releases.h"

namespace rdmaguard::tap {
namespace {

#if defined(__x86_64__)
constexpr bool kLoadsAreOrdered = true;
#else
constexpr bool kLoadsAreOrdered = false;
#endif

// Values of linux/membarrier.h, which old kernel headers lack.
constexpr int kPrivateExpedited = 1 << 3;
constexpr int kRegisterPrivateExpedited = 1 << 4;

// NCCL loads a slot without acquire and calls it; on a weakly ordered machine our function might
// then miss the originals. A barrier on every running thread between writing the one and showing
// the other closes that; where the kernel refuses, the slots are stored all the same: threads that
// NCCL starts later, as it does for the communicator now in init, are ordered anyway.
void orderOriginalsBeforeSlots() {
  if constexpr (!kLoadsAreOrdered) {
    if (syscall(SYS_membarrier, kRegisterPrivateExpedited, 0) == 0) {
      syscall(SYS_membarrier, kPrivateExpedited, 0);
    }
  }
}

bool holdsOwn(const SlotTable& table, void* const* words) {
  for (std::size_t i = 1; i < table.words; ++i) {
    void* slot = __atomic_load_n(words + i, __ATOMIC_RELAXED);
    if (slot != nullptr && slot == table.own[i]) return true;
  }
  return false;
}

bool ownSlot(const void* address) {
  if (address == nullptr) return false;
  for (int abi = kReleases.front().netAbi; abi <= kReleases.back().netAbi; ++abi) {
    for (Place place = 0; place < kPlaces; ++place) {
      const SlotTable* table = slotTable(abi, place);
      for (std::size_t i = 1; table != nullptr && i < table->words; ++i) {
        if (table->own[i] == address) return true;
      }
    }
  }
  return false;
}

void tapStruct(const SlotTable& table, void** words) {
  for (std::size_t i = 0; i < table.words; ++i) {
    table.originals[i] = __atomic_load_n(words + i, __ATOMIC_RELAXED);
  }
  orderOriginalsBeforeSlots();
  for (std::size_t i = 1; i < table.words; ++i) {
    if (table.originals[i] == nullptr || table.own[i] == nullptr) continue;
    __atomic_store_n(words + i, table.own[i], __ATOMIC_RELEASE);
  }
}

InstallResult refused(std::string reason) {
  InstallResult result;
  result.reason = std::move(reason);
  return result;
}

const SlotTable* tableOf(Net net, unsigned instance) {
  const Instances& all = instances();
  return instance < all.count.load(std::memory_order_acquire)
             ? all.list[instance].tables[static_cast<std::size_t>(net)]
             : nullptr;
}

}  // namespace

Instances& instances() {
  static Instances* const all = new Instances;
  return *all;
}

LocateResult find(const void* logger, const void* caller) {
  return locate(logger, caller, &ownSlot);
}

InstallResult install(const LocateResult& nccl) {
  if (!nccl || nccl.ib == nullptr || nccl.socket == nullptr) {
    return refused(nccl.reason.empty() ? "NCCL's net structs were not found." : nccl.reason);
  }
  Instances& all = instances();
  const std::lock_guard guard(all.installing);
  InstallResult result;
  std::size_t index = 0;
  const std::size_t count = all.count.load(std::memory_order_relaxed);
  while (index < count && all.list[index].structs[0] != nccl.ib) ++index;
  const bool known = index < count;
  if (known && all.list[index].netAbi != nccl.netAbi) {
    return refused("NCCL " + nccl.versionText + " in " + nccl.path +
                   " lies where another NCCL was tapped.");
  }
  if (!known && index == kMaxInstances) {
    return refused("NCCL " + nccl.versionText + " in " + nccl.path + " is one too many: " +
                   std::to_string(kMaxInstances) + " others in this process are tapped already.");
  }
  const std::array<void**, 2> structs{nccl.ib, nccl.socket};
  std::array<const SlotTable*, 2> tables{};
  for (std::size_t net = 0; net < 2; ++net) {
    tables[net] =
        slotTable(nccl.netAbi, placeOf(static_cast<unsigned>(index), static_cast<Net>(net)));
    if (tables[net] == nullptr) {
      return refused("Net interface v" + std::to_string(nccl.netAbi) + " is not known.");
    }
  }
  result.instance = static_cast<unsigned>(index);
  result.installed = true;
  result.already = known && holdsOwn(*tables[0], structs[0]) && holdsOwn(*tables[1], structs[1]);
  if (result.already) return result;
  for (std::size_t net = 0; net < 2; ++net) {
    // Half a tap cannot be taken over: the other half's originals are lost with its owner.
    for (std::size_t i = 1; i < tables[net]->words; ++i) {
      if (ownSlot(__atomic_load_n(structs[net] + i, __ATOMIC_RELAXED))) {
        return refused("NCCL " + nccl.versionText + " in " + nccl.path + " is tapped in part.");
      }
    }
  }
  for (std::size_t net = 0; net < 2; ++net) tapStruct(*tables[net], structs[net]);
  // A library that was unloaded and has come back at the same address keeps its place.
  if (!known) {
    all.list[index] = {nccl.path, nccl.versionText, nccl.netAbi, structs, tables};
    all.count.store(count + 1, std::memory_order_release);
  }
  return result;
}

int internalDevices(Net net, unsigned instance) {
  const SlotTable* table = tableOf(net, instance);
  return table != nullptr ? table->devices() : -1;
}

std::vector<DeviceInfo> deviceList(Net net, unsigned instance) {
  std::vector<DeviceInfo> list;
  const SlotTable* table = tableOf(net, instance);
  if (table == nullptr) return list;
  const int count = table->devices();
  for (int index = 0; index < count; ++index) {
    DeviceCard card{};
    if (!table->card(index, card)) continue;
    ledger.onProperties(placeOf(instance, net), index, card);
    list.push_back(infoOf(index, card));
  }
  return list;
}

std::uint64_t changes() {
  return ledger.changes.load(std::memory_order_acquire);
}

}  // namespace rdmaguard::tap
