// The words of port listings: which line is which field of which tool. Pure, any thread.
// Source: infiniband-diags (ibstat.c, the ibstatus script), rdma-core (libibverbs/examples/
// devinfo.c), iproute2 (rdma/link.c), the ibdev2netdev script of MLNX_OFED.
#pragma once

#include <cstdint>
#include <string_view>

#include "verifier/engine/facts.h"
#include "verifier/engine/port_facts.h"

namespace rdmaguard::readers {

enum class PortField : std::uint8_t {
  None,        ///< no line of a listing
  Filler,      ///< belongs to a listing and says nothing that is used
  Device,      ///< value: its name
  PortNumber,  ///< value: the number
  PortCount,
  Model,   ///< ibstat's "CA type"
  PartId,  ///< ibv_devinfo's vendor_part_id: value the number
  Transport,
  State,
  PhysState,
  Rate,
  Lid,
  LinkLayer,
  RdmaLink,      ///< value: the whole line after "link "
  Ibdev2netdev,  ///< value: the whole line
  NoDevices,
  Panic,
  Elision,  ///< "..."
};

struct PortLine {
  PortField field = PortField::None;
  engine::ListingTool tool = engine::ListingTool::Ibstat;
  std::string_view value;
  std::string_view host;  ///< of a launcher's tag before the line
  bool begins = false;    ///< such a line begins a listing by itself
};

/// What a line is. `inside`: a listing is open, so that fields with common names count.
PortLine portLine(std::string_view line, bool inside) noexcept;

engine::PortState portState(std::string_view value) noexcept;
engine::PhysState physState(std::string_view value) noexcept;

}  // namespace rdmaguard::readers
