// Who speaks: what stands in front of an NCCL message, and where the messages of a physical line
// begin and end. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaguard::readers::nccl_log {

/// "host:pid:tid [0]", with what a launcher put before it and what NCCL put after it.
struct Header {
  std::string_view before;    ///< what stands before the host, untouched
  std::string_view host;      ///< empty where it was cut off
  long pid = 0, tid = 0;      ///< 0 = not known
  int device = -1;            ///< "[0]": the CUDA device; -1 = none
  std::string_view location;  ///< of a WARN: "transport/net_ib.cc:101"; empty = none
  std::size_t begin = 0;      ///< where the host, or else "[0]", begins in the text given
  bool found = false;         ///< a host with pid and tid, or at least "[0]"
};

/// The header at the end of `text`, which ends where "NCCL INFO" stands.
Header headerAtEnd(std::string_view text) noexcept;

/// "NCCL INFO", "NCCL WARN", ... of a line.
struct Marker {
  enum class Level : std::uint8_t { None, Info, Warn, Trace, Call };
  Level level = Level::None;  ///< None: there is none
  std::size_t begin = 0;
  std::size_t end = 0;  ///< where the message begins: after the blank, or the line's end
};

/// The first marker of `line` at or after `from`.
Marker findMarker(std::string_view line, std::size_t from) noexcept;

/// NCCL 2.2's "host:pid:tid [1] INFO ...", which does not say "NCCL".
Marker findBareMarker(std::string_view line) noexcept;

}  // namespace rdmaguard::readers::nccl_log
