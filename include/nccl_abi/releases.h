// Which interface versions each NCCL release speaks. tap/ asks it before it believes a struct of
// NCCL's own; entry/ and the command use it to say what a release can and cannot report.
// Sources: NCCL's tags up to 2.30.7, and debug information and strings of the released libraries
// named in `verified` (the type of ncclNetIb, the plugin symbols they look up).
#pragma once

#include <array>
#include <cstdint>

namespace nccl_abi {

/// NCCL's version number as ncclGetVersion reports it, for 2.9 and later.
constexpr int versionCode(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}

/// One minor release of NCCL.
struct Release {
  int first;         ///< version code of its first public release
  int verified;      ///< version code of the newest release this row was checked against
  std::uint8_t net;  ///< version of the structs ncclNetIb and ncclNetSocket, and newest probed
  std::uint8_t oldestNet;  ///< oldest ncclNetPlugin_vN probed; all versions between are
  std::uint8_t profiler;   ///< newest ncclProfiler_vN probed, down to 1; 0: no profiler interface
};

/// Every minor release that rdmaguard knows, oldest first.
inline constexpr std::array<Release, 14> kReleases{{
    {versionCode(2, 19, 1), versionCode(2, 19, 3), 7, 5, 0},
    {versionCode(2, 20, 3), versionCode(2, 20, 5), 8, 5, 0},
    {versionCode(2, 21, 5), versionCode(2, 21, 5), 8, 5, 0},
    {versionCode(2, 22, 3), versionCode(2, 22, 3), 8, 5, 0},
    {versionCode(2, 23, 4), versionCode(2, 23, 4), 8, 5, 1},
    {versionCode(2, 24, 3), versionCode(2, 24, 3), 9, 5, 2},
    {versionCode(2, 25, 1), versionCode(2, 25, 1), 9, 5, 2},
    {versionCode(2, 26, 2), versionCode(2, 26, 5), 10, 6, 3},
    {versionCode(2, 27, 3), versionCode(2, 27, 7), 10, 6, 4},
    {versionCode(2, 28, 3), versionCode(2, 28, 9), 11, 6, 5},
    {versionCode(2, 29, 2), versionCode(2, 29, 7), 11, 6, 6},
    {versionCode(2, 30, 3), versionCode(2, 30, 7), 12, 6, 6},
    {versionCode(2, 31, 2), versionCode(2, 31, 2), 12, 6, 7},
    {versionCode(2, 32, 3), versionCode(2, 32, 3), 12, 6, 7},
}};

/// The row of the minor release that `code` belongs to, or null for one that was never read. A
/// patch newer than `verified` gets its minor's row, because no two patches read of one minor
/// differ in these columns; a caller that must be surer compares with `verified`.
/// Any thread; no allocation.
constexpr const Release* findRelease(int code) {
  for (const Release& release : kReleases) {
    if (release.first / 100 == code / 100 && code >= release.first) return &release;
  }
  return nullptr;
}

}  // namespace nccl_abi
