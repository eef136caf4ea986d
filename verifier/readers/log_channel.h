// "Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA" of every release: by far the most
// frequent line of a log, and the surest one. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaguard::readers::nccl_log {

/// How well a message was understood.
enum class Parsed : std::uint8_t {
  Other,  ///< not of this kind
  Whole,  ///< understood
  Cut,    ///< of this kind, and it stops too early
};

struct ChannelLine {
  enum class Via : std::uint8_t { Net, CollNet, Local };
  enum class End : std::uint8_t { Send, Receive };
  Via via = Via::Local;
  End end = End::Send;       ///< which end prints it; local lines are printed by the sender
  int from = -1, to = -1;    ///< ranks; CollNet lines name one, both are it
  std::string_view network;  ///< Net: "IB", "AWS Libfabric"; CollNet: "SHARP"
  int device = -1;           ///< NCCL's number of the network device
  bool gdr = false;
  bool pxn = false;       ///< "(4)": sent through another GPU's proxy
  bool mnnvl = false;     ///< "P2P/MNNVL": memory of another node over NVLink
  bool whole = false;     ///< nothing after it
  std::string_view comm;  ///< of a suffix "comm 0x55.. nRanks 32"; empty = none
};

/// Whole where a transport is named in full; "via NET/" or "via NET/IB" says nothing and is Cut.
/// Lines that list a ring's order ("Channel 00/02 :    0   1") are Other.
Parsed parseChannel(std::string_view text, ChannelLine& out) noexcept;

}  // namespace rdmaguard::readers::nccl_log
