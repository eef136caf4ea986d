// The lists that follow "NET/IB : Using" and "NET/Socket : Using", of every release. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/log_facts.h"

namespace rdmaguard::readers::nccl_log {

/// "[0]mlx5_0:1/IB [1]={[1] mlx5_1:1/RoCE, [2] mlx5_2:1/RoCE} [RO]; OOB eth0:192.0.2.1<0>".
struct DeviceList {
  std::vector<engine::ListedDevice> devices;
  std::string_view interface;    ///< of the OOB part: "eth0"; empty = none
  std::string_view address;      ///< "192.0.2.1"; empty = none
  bool relaxedOrdering = false;  ///< "[RO]"
  bool ended = false;            ///< "[RO]" or "OOB" was reached
  bool any = false;              ///< at least one item, or one of these two
};
DeviceList parseDevices(std::string_view text);

/// A list that lost its beginning: "5_3:1/RoCE [4]mlx5_4:1/RoCE [RO]; OOB eth0:192.0.2.11<0>". The
/// items that are whole; `any` is false where `text` is no such thing.
DeviceList parseDeviceTail(std::string_view text);

/// "[0]eth0:192.0.2.11<0>", "eth0:192.0.2.11<0>" or "eth0": the first interface and its address.
struct Interface {
  std::string_view name;
  std::string_view address;
};
Interface firstInterface(std::string_view text) noexcept;

}  // namespace rdmaguard::readers::nccl_log
