// ibstat, ibstatus, ibv_devinfo [-v], ibv_devices, rdma link [-j], rdma dev, ibdev2netdev [-v],
// show_gids -> PortFacts.
#pragma once

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

Claim claimPorts(std::string_view line, bool inside) noexcept;
void readPorts(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;

/// `rdma -j link`: true where `value` is such a list.
bool readPortsJson(std::string_view value, Place at, JobFacts& out) noexcept;

}  // namespace rdmaguard::readers
