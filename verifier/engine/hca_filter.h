// NCCL's name lists: NCCL_IB_HCA against device and port, NCCL_SOCKET_IFNAME against an
// interface. Pure, any thread. Source: NCCL src/misc/utils.cc (parseStringList, matchIfList),
// net_ib and socket, 2.19 to 2.30.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::engine {

/// Entries NCCL keeps of NCCL_IB_HCA (MAX_IB_DEVS); later ones are dropped without a word.
inline constexpr int kMaxHcaEntries = 32;
/// Entries NCCL keeps of NCCL_SOCKET_IFNAME (MAX_IFS).
inline constexpr int kMaxInterfaceEntries = 16;

/// A parsed NCCL_IB_HCA or NCCL_SOCKET_IFNAME.
struct NameFilter {
  struct Entry {
    std::string prefix;
    int port = -1;  ///< -1 = any
  };
  bool exclude = false;  ///< leading '^'
  bool exact = false;    ///< '=', first or after '^': whole names instead of prefixes
  std::vector<Entry> entries;
  int dropped = 0;  ///< entries past NCCL's limit

  /// True when NCCL would take `name` on `port` (-1: the port is not looked at).
  bool takes(std::string_view name, int port) const noexcept;
};

/// Parses as NCCL does: "[^][=]name[:port],...". Blanks and quotes are part of a name.
/// An empty list takes everything, and with '^' nothing.
/// `ncclVersion` as ncclGetVersion, 0 = the newest: before 2.30 "mlx5_0:" means port 0.
NameFilter parseNameFilter(std::string_view text, int maxEntries, int ncclVersion = 0);

/// Words for a fault that explains why a list matches nothing: a blank or quote inside, a
/// carriage return at the end, '^' behind '='. Nothing when the text looks right.
std::optional<std::string> suspiciousText(std::string_view text);

}  // namespace rdmaguard::engine
