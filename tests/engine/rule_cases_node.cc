// The cases and near misses of the rules about a node that was looked at in depth. See
// rule_cases.h.
#include <cerrno>

#include "rule_cases.h"
#include "verifier/engine/gid.h"

namespace rdmaguard::engine {
namespace {

Gid gid(int index, std::string_view text, std::string type) {
  Gid g;
  g.index = index;
  g.bytes = parseGid(text).value();
  g.type = std::move(type);
  g.netdev = "eth1";
  return g;
}

constexpr std::string_view kLinkLocal = "fe80:0000:0000:0000:a288:c2ff:fe31:0a02";
constexpr std::string_view kIpv4 = "0000:0000:0000:0000:0000:ffff:0a01:0203";
constexpr std::string_view kIpv6 = "2001:0db8:0000:0000:a288:c2ff:fe31:0a02";

// Two RoCE ports with the four entries that an interface with an IPv4 address has.
Situation roce() {
  Situation s = preflight();
  s.everyDevice([](RdmaDevice& d) {
    RdmaPort& p = d.ports[0];
    p.linkLayer = LinkLayer::Ethernet;
    p.netdev = "eth1";
    p.gidsKnown = p.gidTypesKnown = true;
    p.gidTableLength = 256;
    p.gids = {gid(0, kLinkLocal, "IB/RoCE v1"), gid(1, kLinkLocal, "RoCE v2"),
              gid(2, kIpv4, "IB/RoCE v1"), gid(3, kIpv4, "RoCE v2")};
  });
  return s;
}

Situation tested(Situation s) {
  s.node.registration.tried = true;
  s.everyDevice([](RdmaDevice& d) {
    RegistrationTest& t = d.registration.emplace();
    t.listed = t.finished = true;
    t.openErrno = t.pdErrno = t.regErrno = t.relaxedErrno = 0;
    t.dmabufErrno = EBADF;
    t.asked = t.registered = 64 << 20;
  });
  return s;
}

// A GPU and the first HCA below one switch whose downstream ports have ACS.
Situation besideGpu() {
  Situation s = ib();
  s.node.gpusKnown = true;
  s.node.gpus = {{"0000:1b:00.0", {}, 0, "nvidia", "/sys/bus/pci/devices/0000:1b:00.0"}};
  RdmaDevice& d = s.node.devices[0];
  d.pciBridges = {"0000:17:01.0", "0000:18:00.0", "0000:19:00.0"};
  d.toGpu = {PciDistance::Pix};
  for (const std::string& bridge : {d.pciBridges[0], d.pciBridges[2]})
    d.acs.push_back({bridge, false, "/sys/bus/pci/devices/" + bridge + "/config"});
  return s;
}

Situation watched(std::string counter) {
  Situation s = ib();
  s.node.watchedSeconds = 10;
  std::string source = s.port(0).source + "/counters/" + counter;
  s.port(0).changes = {{std::move(counter), 1, 4, std::move(source)}};
  return s;
}

Situation shm(std::uint64_t bytes) {
  Situation s = preflight();
  s.node.gpusKnown = true;
  s.node.gpus.resize(8);
  s.node.shm.known = s.node.shm.mounted = true;
  s.node.shm.sizeBytes = bytes;
  s.node.shm.source = "/proc/self/mounts";
  return s;
}

}  // namespace

std::map<std::string, RuleCase> wholeNodeCases() {
  return {
      {"roce-gid-out-of-range",
       {with(roce(), [](auto& s) { s.set("NCCL_IB_GID_INDEX", "256"); }),
        with(roce(), [](auto& s) { s.set("NCCL_IB_GID_INDEX", "255"); })}},
      {"roce-gid-empty",
       {with(roce(), [](auto& s) { s.set("NCCL_IB_GID_INDEX", "5"); }),
        with(roce(), [](auto& s) { s.set("NCCL_IB_GID_INDEX", "3"); })}},
      {"roce-gid-not-in-namespace",
       {with(roce(),
             [](auto& s) {
               s.everyDevice([](auto& d) {
                 for (Gid& g : d.ports[0].gids) g.type.clear();
               });
             }),
        with(roce(),
             [](auto& s) {  // another interface's entry, which NCCL passes over
               s.everyDevice([](auto& d) { d.ports[0].gids[0].type.clear(); });
             })}},
      {"roce-gid-v1",
       {with(roce(), [](auto& s) { s.set("NCCL_IB_GID_INDEX", "2"); }),
        with(roce(), [](auto& s) { s.seen.ncclVersion = 22105; })}},
      {"roce-gid-link-local",
       {with(roce(), [](auto& s) { s.set("NCCL_IB_GID_INDEX", "1"); }),
        with(roce(),
             [](auto& s) {
               s.set("NCCL_IB_ADDR_FAMILY", "AF_INET6");
               s.everyDevice([](auto& d) { d.ports[0].gids.push_back(gid(5, kIpv6, "RoCE v2")); });
             })}},
      {"reg-mr-relaxed-refused",
       {with(
            tested(ib()),
            [](auto& s) { s.everyDevice([](auto& d) { d.registration->relaxedErrno = EINVAL; }); }),
        with(tested(ib()),
             [](auto& s) {  // then NCCL does not ask for it
               s.everyDevice([](auto& d) { d.registration->relaxedErrno = EINVAL; });
               s.set("NCCL_IB_PCI_RELAXED_ORDERING", "0");
             })}},
      {"reg-mr-refused",
       {with(
            tested(ib()),
            [](auto& s) { s.everyDevice([](auto& d) { d.registration->regErrno = EOPNOTSUPP; }); }),
        with(tested(ib()),
             [](auto& s) {  // a device that NCCL_IB_HCA leaves out
               s.node.devices[1].registration->regErrno = EOPNOTSUPP;
               s.set("NCCL_IB_HCA", "=mlx5_0");
             })}},
      {"reg-mr-unfinished",
       {with(tested(ib()),
             [](auto& s) {
               s.node.registration.failure = "The registration test did not end within its time.";
               s.node.devices[1].registration->finished = false;
             }),
        with(ib(),
             [](auto& s) {  // it never came to a device
               s.node.registration.tried = true;
               s.node.registration.failure = "The registration test could not be made: x.";
             })}},
      {"shm-too-small", {shm(64 << 20), shm(1ULL << 30U)}},
      {"device-open-failed-on-some",
       {with(ib(), [](auto& s) { s.node.devices[1].openErrno = EPERM; }),
        with(ib(),
             [](auto& s) {  // a slow NIC is no loss
               s.node.devices[1].openErrno = EPERM;
               s.port(1).rateGbps = 25;
             })}},
      {"verbs-provider-missing-on-some",
       {with(ib(), [](auto& s) { s.node.devices[1].provider = "bnxt_re"; }),
        with(ib(),
             [](auto& s) {
               s.node.devices[1].provider = "bnxt_re";
               s.port(1).state = PortState::Down;
             })}},
      {"acs-redirects-gdr",
       {with(besideGpu(), [](auto& s) { s.node.devices[0].acs[1].redirects = true; }),
        with(besideGpu(),
             [](auto& s) {  // the root port's own setting does not matter below it
               s.node.devices[0].acs[0].redirects = true;
             })}},
      {"port-link-downed", {watched("link_downed"), watched("port_rcv_data")}},
      {"port-errors-growing",
       {watched("symbol_error"),
        with(watched("symbol_error"), [](auto& s) { s.node.watchedSeconds = 0; })}},
      {"devices-not-passed-in",
       {with(ib(), [](auto& s) { s.node.devices[1].nodePresent = false; }),
        with(ib(), [](auto& s) { s.node.devices[1].uverbs.clear(); })}},
      {"verbs-libraries-mixed",
       {with(ib(),
             [](auto& s) {
               s.node.loader.file = "/lib/libibverbs.so.1.14.44.0";
               s.node.loader.rdmaCore = "44.0";
               s.node.loader.providers[0].rdmaCore = "39.0";
             }),
        with(ib(),
             [](auto& s) {  // a provider that no device here needs
               s.node.loader.file = "/lib/libibverbs.so.1.14.44.0";
               s.node.loader.rdmaCore = "44.0";
               s.node.loader.providers.push_back({"efa", "f", "l", "l", "39.0"});
             })}},
      {"iommu-translates",
       {with(besideGpu(), [](auto& s) { s.node.devices[0].iommuType = "DMA-FQ"; }),
        with(besideGpu(), [](auto& s) { s.node.devices[0].iommuType = "identity"; })}},
      {"congestion-seen", {watched("rp_cnp_handled"), watched("port_xmit_packets")}},
  };
}

}  // namespace rdmaguard::engine
