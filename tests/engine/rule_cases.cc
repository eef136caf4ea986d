// See rule_cases.h.
#include "rule_cases.h"

#include <cerrno>

namespace rdmaguard::engine {

RdmaDevice hca(int index, LinkLayer layer) {
  RdmaDevice d;
  d.name = "mlx5_" + std::to_string(index);
  d.kernelDriver = "mlx5_core";
  d.provider = "mlx5";
  d.uverbsKnown = true;
  d.uverbs = "uverbs" + std::to_string(index);
  d.nodePath = "/dev/infiniband/" + d.uverbs;
  d.openTried = true;
  d.source = "/sys/class/infiniband/" + d.name;
  RdmaPort p;
  p.state = PortState::Active;
  p.physState = PhysState::LinkUp;
  p.linkLayer = layer;
  p.linkLayerText = name(layer);
  p.rateGbps = 400;
  p.source = d.source + "/ports/1";
  d.ports.push_back(p);
  return d;
}

namespace {

// Two healthy HCAs, one of either link layer in `layers`, a communicator of two nodes on
// `transport`.
Situation node(Transport transport, LinkLayer first = LinkLayer::InfiniBand,
               LinkLayer second = LinkLayer::InfiniBand) {
  Situation s;
  s.node.devicesKnown = true;
  s.node.devices = {hca(0, first), hca(1, second)};
  s.node.devInfinibandKnown = s.node.devInfiniband = true;
  s.node.interfacesKnown = true;
  s.node.interfaces = {{"eth0", true, true, 100000, true, {"192.0.2.1"}, "/sys/class/net/eth0"}};
  s.node.loader.state = VerbsLoader::State::Found;
  s.node.loader.opened = true;
  s.node.loader.configDir = "/etc/libibverbs.d";
  s.node.loader.providersKnown = true;
  s.node.loader.providers = {{"mlx5", "/etc/libibverbs.d/mlx5.driver", "/lib/libmlx5-rdmav34.so",
                              "/lib/libmlx5-rdmav34.so"}};
  s.node.memlock.known = true;
  s.node.memlock.ipcLock = false;
  s.node.memlock.source = "/proc/self/limits";
  s.node.gdr.known = true;
  s.node.gdr.gpus = 8;
  s.seen.transport = transport;
  s.seen.certainty = Certainty::Observed;
  s.seen.transportSource = "first connect";
  s.seen.nNodes = 2;
  s.seen.nRanks = 16;
  return s;
}

}  // namespace

Situation socket() {
  return node(Transport::Socket);
}
Situation ib() {
  Situation s = node(Transport::IB);
  s.seen.ibDevices = 2;
  s.seen.devices = {{"mlx5_0", 1, 400, LinkLayer::InfiniBand, 3, true},
                    {"mlx5_1", 1, 400, LinkLayer::InfiniBand, 3, true}};
  s.seen.gdr = Gdr::Peermem;
  return s;
}
Situation ibWithoutGdr() {
  Situation s = ib();
  s.seen.gdr = Gdr::None;
  return s;
}
Situation preflight() {
  return node(Transport::Unknown);
}
Situation external(std::string plugin) {
  Situation s = node(Transport::External);
  s.seen.externalName = std::move(plugin);
  return s;
}

namespace {

std::map<std::string, RuleCase> processCases() {
  return {
      {"net-forced-socket",
       {with(socket(), [](auto& s) { s.set("NCCL_NET", "socket"); }),
        with(socket(), [](auto& s) { s.set("NCCL_NET", "IB"); })}},
      {"net-forced-other",
       {with(preflight(), [](auto& s) { s.set("NCCL_NET", "RoCE"); }),
        with(preflight(), [](auto& s) { s.set("NCCL_NET", "AWS Libfabric"); })}},
      {"net-chosen-by-program",
       {with(socket(), [](auto& s) { s.seen.ibDevices = 2; }),
        with(socket(), [](auto& s) { s.seen.ibDevices = 0; })}},
      {"ib-disabled-by-env",
       {with(socket(), [](auto& s) { s.set("NCCL_IB_DISABLE", "0x1"); }),
        with(socket(), [](auto& s) { s.set("NCCL_IB_DISABLE", "0"); })}},
      {"tcp-plugin", {external("FastSocket"), external("IBext_v8")}},
      {"provider-is-tcp",
       {with(external("AWS Libfabric"), [](auto& s) { s.set("FI_PROVIDER", "tcp;ofi_rxm"); }),
        with(external("AWS Libfabric"), [](auto& s) { s.set("FI_PROVIDER", "efa"); })}},
      {"libibverbs-missing",
       {with(socket(), [](auto& s) { s.node.loader.state = VerbsLoader::State::Missing; }),
        // NCCL's IB transport started, so NCCL had the library whatever we find.
        with(socket(),
             [](auto& s) {
               s.node.loader.state = VerbsLoader::State::Missing;
               s.seen.ibDevices = 0;
             })}},
      {"no-rdma-device",
       {with(socket(), [](auto& s) { s.node.devices.clear(); }), with(socket(),
                                                                      [](auto& s) {
                                                                        s.node.devices.clear();
                                                                        s.node.devicesKnown = false;
                                                                      })}},
      {"verbs-module-missing",
       {with(socket(), [](auto& s) { s.everyDevice([](auto& d) { d.uverbs.clear(); }); }),
        with(socket(), [](auto& s) { s.node.devices[0].uverbs.clear(); })}},
      {"uverbs-device-missing",
       {with(socket(), [](auto& s) { s.everyDevice([](auto& d) { d.nodePresent = false; }); }),
        with(socket(), [](auto& s) { s.node.devices[0].nodePresent = false; })}},
      {"device-open-failed",
       {with(socket(), [](auto& s) { s.everyDevice([](auto& d) { d.openErrno = EPERM; }); }),
        with(socket(), [](auto& s) { s.node.devices[1].openErrno = EPERM; })}},
      {"verbs-provider-missing",
       {with(socket(), [](auto& s) { s.node.loader.providers[0].library.clear(); }),
        with(socket(),
             [](auto& s) {
               s.node.loader.providers.clear();
               s.node.loader.providersKnown = false;
             })}},
      {"efa-needs-plugin",
       {with(socket(),
             [](auto& s) {
               s.everyDevice([](auto& d) {
                 d.provider = "efa";
                 d.ports[0].linkLayer = LinkLayer::Unknown;
                 d.ports[0].linkLayerText = "Unspecified";
               });
               s.node.loader.providers.push_back({"efa", "f", "l", "l"});
             }),
        external("AWS Libfabric")}},
      {"link-layer-unsupported",
       {with(socket(),
             [](auto& s) {
               s.everyDevice([](auto& d) {
                 d.ports[0].linkLayer = LinkLayer::Unknown;
                 d.ports[0].linkLayerText = "Unspecified";
               });
             }),
        with(socket(),
             [](auto& s) {  // not known is not "neither"
               s.everyDevice([](auto& d) {
                 d.ports[0].linkLayer = LinkLayer::Unknown;
                 d.ports[0].linkLayerText.clear();
               });
             })}},
      {"port-not-active",
       {with(socket(),
             [](auto& s) { s.everyDevice([](auto& d) { d.ports[0].state = PortState::Init; }); }),
        with(socket(), [](auto& s) { s.port(0).state = PortState::Down; })}},
      {"hca-filter-matches-nothing",
       {with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", "ibp"); }),
        with(socket(), [](auto& s) { s.set("NCCL_IB_HCA", "mlx5_1"); })}},
      {"hca-filter-port-not-active",
       {with(socket(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "=mlx5_1");
               s.port(1).state = PortState::Down;
             }),
        with(socket(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "=mlx5_0");
               s.port(1).state = PortState::Down;
             })}},
      {"plugin-failed-fell-back",
       {with(socket(), [](auto& s) { s.set("NCCL_NET_PLUGIN", "ofi"); }),
        with(socket(),
             [](auto& s) {
               s.set("NCCL_NET_PLUGIN", "ofi");
               s.seen.netPlugins = {"/opt/lib/libnccl-net-ofi.so"};
             })}},
      {"socket-ifname-matches-nothing",
       {with(preflight(), [](auto& s) { s.set("NCCL_SOCKET_IFNAME", "bond0"); }),
        with(preflight(), [](auto& s) { s.set("NCCL_SOCKET_IFNAME", "eth"); })}},
      {"memlock-limited",
       {with(preflight(), [](auto& s) { s.node.memlock.softBytes = 8 << 20; }),
        with(preflight(),
             [](auto& s) {
               s.node.memlock.softBytes = 8 << 20;
               s.node.memlock.ipcLock = true;
             })}},
      {"port-disabled",
       {with(ib(),
             [](auto& s) {
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Disabled;
             }),
        with(ib(),
             [](auto& s) {
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Polling;
             })}},
      {"port-polling",
       {with(ib(),
             [](auto& s) {
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Polling;
             }),
        with(ib(),
             [](auto& s) {  // a device the container was not given is no concern of it
               s.port(1).state = PortState::Down;
               s.port(1).physState = PhysState::Polling;
               s.node.devices[1].nodePresent = false;
             })}},
      {"port-down", {with(ib(), [](auto& s) { s.port(1).state = PortState::Down; }), ib()}},
      {"port-initializing",
       {with(ib(), [](auto& s) { s.port(1).state = PortState::Init; }),
        with(ib(), [](auto& s) { s.port(1).state = PortState::Down; })}},
      {"fewer-hcas",
       {with(ib(), [](auto& s) { s.seen.devices.pop_back(); }),
        with(ib(),
             [](auto& s) {  // a slow NIC left out is as it should be
               s.seen.devices.pop_back();
               s.port(1).rateGbps = 25;
             })}},
      {"mixed-link-layers",
       {with(ib(), [](auto& s) { s.seen.devices[1].linkLayer = LinkLayer::Ethernet; }),
        with(ib(),
             [](auto& s) {  // listed, and carries nothing
               s.seen.devices[1].linkLayer = LinkLayer::Ethernet;
               s.seen.devices[1].connected = false;
             })}},
      {"slow-nic-chosen",
       {with(ib(), [](auto& s) { s.seen.devices[1].speedGbps = 25; }),
        with(ib(), [](auto& s) { s.seen.devices[1].speedGbps = 200; })}},
      {"software-rdma",
       {with(ib(), [](auto& s) { s.everyDevice([](auto& d) { d.software = true; }); }),
        with(ib(), [](auto& s) { s.node.devices[0].software = true; })}},
      {"gdr-disabled-by-env",
       {with(ibWithoutGdr(), [](auto& s) { s.set("NCCL_NET_GDR_LEVEL", "LOC"); }),
        with(ibWithoutGdr(), [](auto& s) { s.set("NCCL_NET_GDR_LEVEL", "PHB"); })}},
      {"gdr-no-peermem-or-dmabuf",
       {with(ibWithoutGdr(),
             [](auto& s) {
               for (auto& d : s.seen.devices) d.ptrSupport = 1;
             }),
        with(ibWithoutGdr(),
             [](auto& s) {
               for (auto& d : s.seen.devices) d.ptrSupport = 5;
             })}},
      {"gdr-disabled",
       {ibWithoutGdr(), with(ibWithoutGdr(), [](auto& s) { s.node.gdr.gpus = 0; })}},
      {"hca-prefix-matches-more",
       {with(ib(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "mlx5_0,mlx5_1");
               s.node.devices.push_back(hca(10, LinkLayer::InfiniBand));
             }),
        with(ib(),
             [](auto& s) {
               s.set("NCCL_IB_HCA", "=mlx5_0,mlx5_1");
               s.node.devices.push_back(hca(10, LinkLayer::InfiniBand));
             })}},
      {"ib-disable-not-a-number",
       {with(ib(), [](auto& s) { s.set("NCCL_IB_DISABLE", "true"); }),
        with(ib(), [](auto& s) { s.set("NCCL_IB_DISABLE", "0"); })}},
  };
}

}  // namespace

const std::map<std::string, RuleCase>& cases() {
  static const std::map<std::string, RuleCase> table = [] {
    std::map<std::string, RuleCase> all = processCases();
    all.merge(wholeNodeCases());
    return all;
  }();
  return table;
}

}  // namespace rdmaguard::engine
