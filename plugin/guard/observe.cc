// See observe.h.
#include "plugin/guard/observe.h"

#include <algorithm>
#include <tuple>

#include "verifier/engine/settings.h"

namespace rdmaguard::guard {
namespace {

struct Choice {
  Transport transport;
  Certainty certainty;
  std::string source;
  std::string externalName;
};

Choice byElimination(const TransportSigns& signs, const engine::NodeFacts& node) {
  const bool external = !node.netPluginsMapped.empty();
  if (signs.located) {
    if (signs.ibDevices > 0)
      return {ibOrRoce(signs.devices),
              Certainty::Told,
              "devices() of NCCL's IB transport after NCCL's selection",
              {}};
    // An IB transport that was initialised and has no device was reached after every
    // external plugin had failed. One that was never initialised may have been passed over.
    if (signs.ibDevices == 0 || !external)
      return {Transport::Socket,
              Certainty::Told,
              "devices() of NCCL's IB transport after NCCL's selection",
              {}};
    return {Transport::External,
            Certainty::Inferred,
            "a net plugin is mapped and NCCL's IB transport was not initialised",
            {}};
  }
  if (external) return {Transport::Unknown, Certainty::Inferred, signs.whyNot, {}};
  if (signs.openVerbsDevices > 0)
    return {ibOrRoce(signs.devices),
            Certainty::Inferred,
            "this process holds RDMA devices open after NCCL's selection",
            {}};
  if (signs.openVerbsDevices == 0)
    return {Transport::Socket,
            Certainty::Inferred,
            "no RDMA device is open in this process after NCCL's selection, and no net plugin "
            "is mapped",
            {}};
  return {Transport::Unknown, Certainty::Inferred, signs.whyNot, {}};
}

Choice choose(const TransportSigns& signs, const engine::NodeFacts& node) {
  // Both in use: communicators of one process may differ (ncclConfig.netName). Which one
  // this is can't be told, so the requirement is neither met nor violated by it.
  if (signs.ibUsed && signs.socketUsed)
    return {Transport::Mixed,
            Certainty::Observed,
            "this process listens on NCCL's IB and Socket transports",
            {}};
  if (signs.ibUsed)
    return {ibOrRoce(signs.devices),
            Certainty::Observed,
            "listen or connect of NCCL's IB transport",
            {}};
  if (signs.socketUsed)
    return {
        Transport::Socket, Certainty::Observed, "listen or connect of NCCL's Socket transport", {}};
  const engine::Setting* net = engine::find(node.settings, "NCCL_NET");
  if (net && !net->value.empty()) {
    if (engine::sameWord(net->value, "Socket"))
      return {Transport::Socket, Certainty::Told, "NCCL_NET, " + net->source, {}};
    if (!engine::sameWord(net->value, "IB"))
      return {Transport::External, Certainty::Told, "NCCL_NET, " + net->source, net->value};
  }
  return byElimination(signs, node);
}

}  // namespace

Transport ibOrRoce(std::span<const engine::DeviceInUse> devices) {
  bool infiniband = false, ethernet = false;
  for (const auto& d : devices) {
    infiniband |= d.linkLayer == LinkLayer::InfiniBand;
    ethernet |= d.linkLayer == LinkLayer::Ethernet;
  }
  if (infiniband && ethernet) return Transport::Mixed;
  return ethernet ? Transport::RoCE : Transport::IB;
}

bool same(const TransportSigns& a, const TransportSigns& b) {
  const auto fields = [](const TransportSigns& s) {
    return std::tie(s.located, s.whyNot, s.ibDevices, s.ibUsed, s.socketUsed, s.remotePeer, s.gdr,
                    s.openVerbsDevices, s.ncclVersion);
  };
  const auto alike = [](const engine::DeviceInUse& x, const engine::DeviceInUse& y) {
    return x.name == y.name && x.port == y.port && x.speedGbps == y.speedGbps &&
           x.linkLayer == y.linkLayer && x.connected == y.connected;
  };
  return fields(a) == fields(b) &&
         std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(), alike);
}

engine::Selection observe(const CommunicatorFacts& comm, const TransportSigns& signs,
                          const engine::NodeFacts& node) {
  const Choice choice = choose(signs, node);
  engine::Selection seen;
  seen.transport = choice.transport;
  seen.certainty = choice.certainty;
  seen.transportSource = choice.source;
  seen.externalName = choice.externalName;
  seen.ibDevices = signs.ibDevices;
  seen.ibUsed = signs.ibUsed;
  // Where the number of nodes is not known, a net used within this host alone (peer-to-peer
  // and shared memory switched off) says nothing about a network.
  seen.socketUsed = signs.socketUsed && (comm.nNodes > 0 || signs.remotePeer);
  seen.nNodes = comm.nNodes;
  if (seen.nNodes == 0 && signs.remotePeer) seen.nNodes = 2;  // at least
  seen.nRanks = comm.nRanks;
  seen.rank = comm.rank;
  seen.ncclVersion = signs.ncclVersion;
  seen.netPlugins = node.netPluginsMapped;
  seen.devices = signs.devices;
  // NCCL's Socket transport registers host memory only (src/transport/net_socket.cc).
  seen.gdr = choice.transport == Transport::Socket ? Gdr::None : signs.gdr;
  return seen;
}

}  // namespace rdmaguard::guard
