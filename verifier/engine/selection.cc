// See selection.h.
#include "verifier/engine/selection.h"

#include <array>

#include "verifier/engine/settings.h"

namespace rdmaguard::engine {
namespace {

struct KnownPlugin {
  std::string_view prefix;  // of the plugin's name; releases append versions to it
  ExternalKind kind;
};

// Names as the plugins give them to NCCL and as NCCL logs them ("Using network ...").
constexpr std::array kKnown{
    KnownPlugin{"IBext", ExternalKind::Rdma},          // HPC-X, also IBext_v8
    KnownPlugin{"FasTrak", ExternalKind::Rdma},        // GPUDirect-TCPXO
    KnownPlugin{"GPUDirectTCPX", ExternalKind::Rdma},  // A3 High
    KnownPlugin{"gIB", ExternalKind::Rdma},            // Google's RoCE plugin
    KnownPlugin{"Spectrum", ExternalKind::Rdma},       // Spectrum-X
    KnownPlugin{"UCX", ExternalKind::Rdma},
    KnownPlugin{"FastSocket", ExternalKind::NotRdma},
};

}  // namespace

ExternalKind externalKind(std::string_view name) noexcept {
  for (const KnownPlugin& p : kKnown)
    if (sameWord(name.substr(0, p.prefix.size()), p.prefix)) return p.kind;
  return ExternalKind::Unknown;
}

}  // namespace rdmaguard::engine
