// Which transport a communicator gets: NCCL's own rule for its internal nets, by release.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nccl_library.h"
#include "net.h"

namespace rdmaguard::job {

struct Selection {
  std::unique_ptr<Net> net;
  std::vector<Device> devices;
  double initMs = 0;  ///< time all inits and device counts took
};

/// Does what ncclNetInit does without an external net: IB if it initialises and has a device, else
/// Socket; NCCL_NET restricts by name (before the init from 2.28.7 on, after it earlier). Throws
/// std::runtime_error when no transport is left, where NCCL returns ncclInvalidUsage.
Selection selectNet(const NcclLibrary& nccl, std::uint64_t commId);

}  // namespace rdmaguard::job
