// Which NCCLs of this process are tapped. Shared by tap.cc, which writes, and snapshot.cc.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "plugin/tap/ledger.h"
#include "plugin/tap/slots.h"
#include "plugin/tap/snapshot.h"

namespace rdmaguard::tap {

/// A tapped NCCL.
struct Instance {
  std::string path;
  std::string version;
  int netAbi = 0;
  std::array<void**, 2> structs{};           ///< by Net
  std::array<const SlotTable*, 2> tables{};  ///< by Net
};

/// The list. An entry is written once, then published by `count`; readers take no lock. Never
/// destroyed: NCCL's threads may outlive static destruction.
struct Instances {
  std::mutex installing;
  std::array<Instance, kMaxInstances> list;
  std::atomic<std::size_t> count{0};
};
Instances& instances();

/// The card as the value readers get.
DeviceInfo infoOf(int index, const DeviceCard& card);

}  // namespace rdmaguard::tap
