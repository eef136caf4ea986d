// Counters of RDMA ports: which of them speak of faults and which of congestion, and what two
// readings tell. Pure, any thread. Sources: Linux Documentation/ABI/stable/sysfs-class-infiniband;
// NVIDIA's "Understanding mlx5 Linux Counters"; drivers/infiniband/hw/*/counters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "verifier/engine/facts.h"

namespace rdmaguard::engine {

/// What a growing counter says.
enum class CounterKind : std::uint8_t {
  Other,       ///< traffic, or not known here
  LinkDown,    ///< the link went down
  Link,        ///< damaged on the wire: cable, transceiver, connector
  Transport,   ///< packets lost or refused between the two ends
  Congestion,  ///< marks and notifications of congestion, which RoCE is made to live with
};

CounterKind counterKind(std::string_view name) noexcept;
/// What that counter counts, as a clause without a subject: "the link went down". Empty for Other.
std::string_view counterMeaning(std::string_view name) noexcept;

/// The counters of `after` that are larger than in `before`. One that is smaller was reset in
/// between, and tells nothing.
std::vector<CounterChange> counterChanges(std::span<const PortCounter> before,
                                          std::span<const PortCounter> after);

}  // namespace rdmaguard::engine
