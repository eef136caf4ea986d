// GIDs of RoCE ports as NCCL looks at them: their kind, and the entry of a port's table that it
// would take. Pure, any thread. Source: NCCL src/transport/net_ib (ncclIbGetGidIndex,
// ncclUpdateGidIndex), 2.19 to 2.30.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "verifier/engine/facts.h"

namespace rdmaguard::engine {

/// "fe80:0000:0000:0000:a288:c2ff:fe31:0a02" as sysfs writes it, eight groups of four digits.
/// Nothing for other text.
std::optional<std::array<std::uint8_t, 16>> parseGid(std::string_view text) noexcept;
/// The shortest usual form: "::ffff:10.1.2.3", "fe80::a288:c2ff:fe31:a02".
std::string gidText(const Gid& gid);

bool isZero(const Gid& gid) noexcept;
bool isLinkLocal(const Gid& gid) noexcept;
/// An IPv4 address, mapped.
bool isIpv4(const Gid& gid) noexcept;
/// 1, 2, or 0 where the type is neither or not shown.
int roceVersion(const Gid& gid) noexcept;

/// The entry of that index, or null for an empty slot.
const Gid* gidAt(const RdmaPort& port, int index) noexcept;

/// The index NCCL takes on a port, and why.
struct GidChoice {
  enum class By : std::uint8_t {
    Setting,   ///< NCCL_IB_GID_INDEX
    Default,   ///< index 0, which releases before 2.21 take without looking
    Search,    ///< the search found an entry of the wanted family and version
    Fallback,  ///< the search found none: index 0
  };
  int index = 0;
  By by = By::Fallback;
  bool ipv6 = false;  ///< the family that was searched for
};

/// NCCL's choice on a RoCE port whose GIDs are known. `ncclVersion` as ncclGetVersion, 0 = the
/// newest. Nothing where the choice cannot be told: GIDs or their types not known, or
/// NCCL_IB_ADDR_RANGE set.
std::optional<GidChoice> chosenGid(const RdmaPort& port, std::span<const Setting> settings,
                                   int ncclVersion);

}  // namespace rdmaguard::engine
