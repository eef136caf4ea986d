// ibstat, ibstatus, ibv_devinfo [-v], rdma link, ibdev2netdev -> PortFacts.
#pragma once

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

Claim claimPorts(std::string_view line, bool inside) noexcept;
void readPorts(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;

}  // namespace rdmaguard::readers
