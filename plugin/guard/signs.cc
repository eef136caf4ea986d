// See signs.h.
#include "plugin/guard/signs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "nccl_abi/types.h"

namespace rdmaguard::guard {
namespace {

// Kinds of device memory a net can register.
constexpr int kDevice = nccl_abi::kPtrCuda | nccl_abi::kPtrDmaBuf;

LinkLayer linkLayerOf(const tap::DeviceInfo& device, const engine::NodeFacts& node) {
  const std::string first = device.name.substr(0, device.name.find('+'));
  for (const auto& d : node.devices)
    if (d.name == first)
      for (const auto& p : d.ports)
        if (p.number == device.port) return p.linkLayer;
  return LinkLayer::Unknown;
}

// "10.0.0.2:40123" or "[fe80::1]:40123" without its port.
std::string_view addressOf(std::string_view peer) {
  const auto colon = peer.rfind(':');
  if (colon == std::string_view::npos) return {};
  peer = peer.substr(0, colon);
  if (peer.size() > 2 && peer.front() == '[') peer = peer.substr(1, peer.size() - 2);
  return peer.substr(0, peer.find('%'));
}

bool isRemote(std::string_view peer, const engine::NodeFacts& node) {
  const std::string_view address = addressOf(peer);
  if (address.empty() || address.starts_with("127.") || address == "::1" || !node.interfacesKnown)
    return false;
  for (const auto& i : node.interfaces)
    for (const std::string& own : i.addresses)
      if (std::string_view(own).substr(0, own.find_first_of("/%")) == address) return false;
  return true;
}

Gdr gdrOf(const tap::Snapshot& snapshot, unsigned instance, const tap::NetView& ib,
          const std::vector<tap::DeviceInfo>& devices) {
  using tap::Registration;
  if (ib.traffic.registered(Registration::DmaBuf) > 0) return Gdr::DmaBuf;
  if (ib.traffic.registered(Registration::Peermem) > 0) return Gdr::Peermem;
  // A connection registers all its buffers before it carries the first byte; with
  // GPUDirect RDMA all but the LL ones are device memory (src/transport/net.cc).
  for (const auto& c : snapshot.connections)
    if (c.instance == instance && c.net == tap::Net::IB && c.role != tap::Role::Listen &&
        c.traffic.registered(Registration::Host) > 0 && c.traffic.sends + c.traffic.receives > 0)
      return Gdr::None;
  const bool capable = std::any_of(devices.begin(), devices.end(),
                                   [](const auto& d) { return (d.ptrSupport & kDevice) != 0; });
  return devices.empty() || capable ? Gdr::Unknown : Gdr::None;
}

}  // namespace

int openVerbsDevices() noexcept {
  try {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink(entry.path(), error);
      if (!error && target.string().starts_with("/dev/infiniband/uverbs")) ++count;
    }
    return count;
  } catch (...) {
    return -1;
  }
}

TransportSigns readSigns(const TapState& state, const tap::Snapshot& snapshot,
                         const engine::NodeFacts& node, int verbsDevices) {
  TransportSigns out;
  out.located = state.installed;
  out.whyNot = state.reason;
  out.ncclVersion = state.ncclVersion;
  out.openVerbsDevices = verbsDevices;
  if (!state.installed || state.instance >= snapshot.instances.size()) return out;
  const tap::InstanceView& nccl = snapshot.instances[state.instance];
  out.ibDevices = tap::internalDevices(tap::Net::IB, state.instance);
  out.ibUsed = nccl.ib.used();
  out.socketUsed = nccl.socket.used();
  const auto devices = out.ibDevices > 0 ? tap::deviceList(tap::Net::IB, state.instance)
                                         : std::vector<tap::DeviceInfo>{};
  for (const tap::DeviceInfo& d : devices) {
    const bool connected =
        std::any_of(snapshot.connections.begin(), snapshot.connections.end(), [&](const auto& c) {
          return c.instance == state.instance && c.net == tap::Net::IB && c.device == d.index &&
                 c.role != tap::Role::Listen;
        });
    out.devices.push_back({d.name, d.port, d.speedMbps / 1000.0, linkLayerOf(d, node), connected});
  }
  out.gdr = gdrOf(snapshot, state.instance, nccl.ib, devices);
  out.remotePeer =
      std::any_of(snapshot.connections.begin(), snapshot.connections.end(),
                  [&](const auto& c) { return !c.peer.empty() && isRemote(c.peer, node); });
  return out;
}

}  // namespace rdmaguard::guard
