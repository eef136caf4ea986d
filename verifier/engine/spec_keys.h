// What the names in a pod spec say: resource keys, networks, device classes. Names are all there
// is to go by, so each answer has a third way out. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaguard::engine {

/// What an entry of limits or requests stands for.
enum class ResourceKind : std::uint8_t {
  Plain,     ///< cpu, memory, hugepages, and devices that are no NIC
  Gpu,       ///< nvidia.com/gpu and the like
  SiteGpu,   ///< a GPU under a site's own name
  Rdma,      ///< rdma/ib
  SiteRdma,  ///< a name that says rdma, ib, roce or hca
  Efa,       ///< vpc.amazonaws.com/efa
  Unknown,   ///< may be RDMA, or may not
};

ResourceKind resourceKind(std::string_view key) noexcept;

/// The key is one slip of the keyboard away from "rdma/...".
bool looksMistyped(std::string_view key) noexcept;

/// A name that says rdma, roce, infiniband, hca, or ib as a word of its own. "ipoib" says none.
bool saysRdma(std::string_view name) noexcept;

/// `word` stands in `text`, any case.
bool holdsWord(std::string_view text, std::string_view word) noexcept;

}  // namespace rdmaguard::engine
