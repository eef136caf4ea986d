// The words of port listings: which line is which field of which tool. Pure, any thread.
// Source: infiniband-diags (ibstat.c, the ibstatus script), rdma-core (libibverbs/examples/
// devinfo.c, device_list.c), iproute2 (rdma/link.c, rdma/dev.c), the scripts ibdev2netdev and
// show_gids of MLNX_OFED.
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
  Width,  ///< "4X (2)": lanes, of `ibv_devinfo -v`
  Speed,  ///< "100.0 Gbps (128)": of one lane
  Lid,
  LinkLayer,
  RdmaLink,      ///< value: the whole line after "link "
  Ibdev2netdev,  ///< value: the whole line
  TableHead,     ///< of ibv_devices and show_gids
  TableRow,      ///< of ibv_devices: value is the device's name
  Gid,           ///< of `ibv_devinfo -v`: value "  3]:\t\t::ffff:192.0.2.5, RoCE v2"
  GidRow,        ///< of show_gids: value is the whole line
  Command,       ///< a prompt and the command that lists ports
  NoDevices,
  Panic,
  Elision,  ///< "..."
};

struct PortLine {
  PortField field = PortField::None;
  engine::ListingTool tool = engine::ListingTool::Ibstat;
  std::string_view value;
  bool begins = false;         ///< such a line begins a listing by itself
  std::string_view host = {};  ///< of a launcher's tag before the line, or of the prompt
  int number = 0;              ///< of the port, where the line with the device's name has it
  std::string_view tag = {};   ///< what tells this line's speaker from another's: host or rank
};

/// What a line is. `inside`: a listing is open, so that fields with common names count.
PortLine portLine(std::string_view line, bool inside) noexcept;

/// The word after `key` (a whole word) in `line`, empty if there is none.
std::string_view wordAfter(std::string_view line, std::string_view key) noexcept;

/// The number at the start of `s`, after "0x" a hexadecimal one; -1 = none.
long numberAt(std::string_view s, int base = 10) noexcept;

engine::PortState portState(std::string_view value) noexcept;
engine::PhysState physState(std::string_view value) noexcept;

}  // namespace rdmaguard::readers
