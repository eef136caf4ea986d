// The words every part of rdmaguard uses for what a communicator runs on.
// Values only: no state, any thread, no dependency on the rest of the tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard {

/// The network that carries a communicator's inter-node traffic.
enum class Transport : std::uint8_t {
  Unknown,   ///< not established; never used as a guess
  None,      ///< no network needed: all ranks on one node
  IB,        ///< NET/IB on InfiniBand ports
  RoCE,      ///< NET/IB on Ethernet ports
  Socket,    ///< NET/Socket: TCP
  External,  ///< a net plugin; its name is reported beside this value
  Mixed,     ///< NET/IB on ports of both link layers, or ranks that differ
};

/// Link layer of an RDMA port, as `/sys/class/infiniband/*/ports/*/link_layer` says.
enum class LinkLayer : std::uint8_t { Unknown, InfiniBand, Ethernet };

/// How GPU memory reaches the HCA.
enum class Gdr : std::uint8_t {
  Unknown,  ///< nothing was registered yet, or it could not be seen
  None,     ///< only host memory is registered: data is staged through the host
  Peermem,  ///< ibv_reg_mr of device memory through nvidia_peermem / nv_peer_mem
  DmaBuf,   ///< ibv_reg_dmabuf_mr of device memory
};

/// How a fact is known; the larger the surer.
enum class Certainty : std::uint8_t {
  Inferred,  ///< follows from other facts
  Told,      ///< NCCL, the kernel or the environment says so
  Observed,  ///< seen happening in this process
};

/// One fact a verdict stands on.
struct Evidence {
  std::string fact;    ///< a whole sentence
  std::string source;  ///< where it was read: a path, a variable, an NCCL call
  Certainty certainty = Certainty::Inferred;
};

constexpr std::string_view name(Transport t) {
  switch (t) {
    case Transport::Unknown:
      return "unknown";
    case Transport::None:
      return "none";
    case Transport::IB:
      return "IB";
    case Transport::RoCE:
      return "RoCE";
    case Transport::Socket:
      return "Socket";
    case Transport::External:
      return "external";
    case Transport::Mixed:
      return "mixed";
  }
  return "unknown";
}

constexpr std::string_view name(Gdr g) {
  switch (g) {
    case Gdr::Unknown:
      return "unknown";
    case Gdr::None:
      return "none";
    case Gdr::Peermem:
      return "peermem";
    case Gdr::DmaBuf:
      return "dmabuf";
  }
  return "unknown";
}

constexpr std::string_view name(LinkLayer l) {
  switch (l) {
    case LinkLayer::Unknown:
      return "unknown";
    case LinkLayer::InfiniBand:
      return "InfiniBand";
    case LinkLayer::Ethernet:
      return "Ethernet";
  }
  return "unknown";
}

constexpr std::string_view name(Certainty c) {
  switch (c) {
    case Certainty::Inferred:
      return "inferred";
    case Certainty::Told:
      return "told";
    case Certainty::Observed:
      return "observed";
  }
  return "inferred";
}

}  // namespace rdmaguard
