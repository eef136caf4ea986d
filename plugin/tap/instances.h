// Which NCCLs of this process are tapped. Shared by tap.cc, which writes, and snapshot.cc.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <vector>

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

/// Owner of the list; its lock is taken at init and by readers of ours, never in a slot.
struct Instances {
  std::mutex lock;
  std::vector<Instance> list;
};
Instances& instances();

/// The card as the value readers get.
DeviceInfo infoOf(int index, const DeviceCard& card);

}  // namespace rdmaguard::tap
