// The NCCL releases whose private net structs we know: one row a layout. Read by the locator.
// Checked row by row on released libraries from 2.19.3 to 2.32.3 by tests/locate (the struct's
// type in their debug information, the slots in memory).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rdmaguard::tap {

/// Function slots of ncclNetIb and ncclNetSocket in declaration order after `name`: 'F' is a
/// function, '0' a NULL. The pattern's length is the number of slots.
struct Release {
  int from;    ///< first NCCL version code of the row
  int to;      ///< last NCCL version code of the row
  int netAbi;  ///< version of the net interface the structs follow
  std::string_view ib;
  std::string_view socket;
};

// The order of slots: init devices getProperties listen connect accept regMr regMrDmaBuf deregMr
// isend irecv iflush test closeSend closeRecv closeListen getDeviceMr irecvConsumed, then
// makeVDevice (v9), then finalize setNetAttr (v11).
inline constexpr std::array<Release, 6> kReleases{{
    {21900, 21999, 7, "FFFFFFFFFFFFFFFF00", "FFFFFFF0FFFFFFFF00"},
    {22000, 22399, 8, "FFFFFFFFFFFFFFFF00", "FFFFFFF0FFFFFFFF00"},
    {22400, 22599, 9, "FFFFFFFFFFFFFFFF00F", "FFFFFFF0FFFFFFFF000"},
    {22600, 22799, 10, "FFFFFFFFFFFFFFFF00F", "FFFFFFF0FFFFFFFF000"},
    {22800, 22999, 11, "FFFFFFFFFFFFFFFF00FFF", "FFFFFFF0FFFFFFFF000F0"},
    {23000, 23299, 12, "FFFFFFFFFFFFFFFF00FFF", "FFFFFFF0FFFFFFFF000F0"},
}};

/// Longest pattern of the table, in slots.
inline constexpr std::size_t kMaxSlots = 21;

constexpr const Release* releaseOf(int version) {
  for (const Release& release : kReleases) {
    if (version >= release.from && version <= release.to) return &release;
  }
  return nullptr;
}

constexpr bool releasesAreSound() {
  int previous = 0;
  for (const Release& release : kReleases) {
    if (release.from <= previous || release.to < release.from) return false;
    if (release.ib.size() != release.socket.size() || release.ib.size() > kMaxSlots) return false;
    previous = release.to;
  }
  return true;
}
static_assert(releasesAreSound(), "rows must rise, not overlap, and agree on the slot count");

/// "2.28.9" of 22809; the scheme holds since NCCL 2.9 (major * 10000 + minor * 100 + patch).
inline std::string versionText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace rdmaguard::tap
