// See selection.h.
#include "verifier/nccl/selection.h"

#include <fmt/format.h>

#include <algorithm>

namespace rdmaguard::nccl {
namespace {

using engine::DeviceInUse;

LinkLayer linkLayerOf(const engine::NodeFacts& node, std::string_view device, int port) {
  // NICs that NCCL merged are joined by '+'; they share a link layer.
  const std::string_view first = device.substr(0, device.find('+'));
  for (const engine::RdmaDevice& d : node.devices) {
    if (d.name != first) continue;
    for (const engine::RdmaPort& p : d.ports)
      if (p.number == port || d.ports.size() == 1) return p.linkLayer;
  }
  return LinkLayer::Unknown;
}

Transport transportOf(const std::vector<DeviceInUse>& devices) {
  const auto any = [&](LinkLayer l) {
    return std::any_of(devices.begin(), devices.end(),
                       [l](const DeviceInUse& d) { return d.linkLayer == l; });
  };
  if (any(LinkLayer::InfiniBand) && any(LinkLayer::Ethernet)) return Transport::Mixed;
  return any(LinkLayer::Ethernet) ? Transport::RoCE : Transport::IB;
}

int ibDevices(const NetTrial& ib) {
  switch (ib.state) {
    case NetTrial::State::Usable:
      return static_cast<int>(ib.devices.size());
    case NetTrial::State::NoDevice:
      return 0;
    case NetTrial::State::Failed:
      return engine::kIbDevicesUninitialised;
    case NetTrial::State::Excluded:
      return ib.devices.empty() ? engine::kIbDevicesNotAsked : static_cast<int>(ib.devices.size());
    case NetTrial::State::NotTried:
      break;
  }
  return engine::kIbDevicesNotAsked;
}

}  // namespace

engine::Selection selectionOf(const DryRun& run, const engine::NodeFacts& node) {
  engine::Selection s;
  s.planned = true;
  s.nNodes = 2;
  s.certainty = Certainty::Observed;
  s.transportSource = fmt::format("dry run of NCCL {} ({})", run.versionText, run.library);
  s.ncclVersion = run.version;
  s.refuses = run.selected.empty();
  for (const NetTrial& t : run.trials) {
    const bool internal = t.origin == "internal";
    if (internal && t.name == "IB") s.ibDevices = ibDevices(t);
    if (!internal) s.netPlugins.push_back(t.origin);
    if (t.name != run.selected || internal == run.selectedExternal) continue;
    for (const Device& d : t.devices) {
      DeviceInUse in;
      in.name = d.name;
      in.port = d.port;
      in.speedGbps = d.speedMbps / 1000.0;
      in.linkLayer = linkLayerOf(node, d.name, d.port);
      in.ptrSupport = d.ptrSupport;
      s.devices.push_back(std::move(in));
    }
  }
  if (run.selectedExternal) {
    s.transport = Transport::External;
    s.externalName = run.selected;
  } else if (run.selected == "IB") {
    s.transport = transportOf(s.devices);
  } else {
    s.transport = Transport::Socket;
    s.devices.clear();  // they are interfaces
  }
  return s;
}

}  // namespace rdmaguard::nccl
