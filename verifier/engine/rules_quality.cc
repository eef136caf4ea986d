// Rules about RDMA that is engaged (or may be) but less than the node allows, and settings
// that do not do what they seem to. Called through the table in rules.cc.
#include <algorithm>
#include <cerrno>
#include <cmath>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// Containers start with 64 KiB, login sessions with 8 MiB. One NCCL connection registers
// more than 4 MiB of host memory (NCCL_BUFFSIZE), and a job has dozens.
constexpr std::uint64_t kEnoughMemlock = 64ULL << 20;
constexpr double kSlowGbps = 10;
constexpr int kRunningOnlySince = 22800;  // IFF_RUNNING is asked for

bool onRdma(const Case& c) {
  return !c.oneNode() &&
         (c.seen.transport == Transport::IB || c.seen.transport == Transport::RoCE ||
          c.seen.transport == Transport::Mixed);
}

// "mlx5_0+mlx5_1_dma" -> mlx5_0, mlx5_1: NICs merged by NCCL, and Data Direct's second face.
std::vector<std::string> partsOf(std::string_view name) {
  std::vector<std::string> parts;
  while (!name.empty()) {
    const auto plus = name.find('+');
    std::string_view part = name.substr(0, plus);
    if (part.ends_with("_dma")) part.remove_suffix(4);
    parts.emplace_back(part);
    name.remove_prefix(plus == std::string_view::npos ? name.size() : plus + 1);
  }
  return parts;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::vector<std::string> devicesListed(const Selection& seen) {
  std::vector<std::string> names;
  for (const DeviceInUse& d : seen.devices)
    for (std::string& part : partsOf(d.name))
      if (!contains(names, part)) names.push_back(std::move(part));
  return names;
}

// The devices that carry traffic where that is known, else all NCCL lists.
std::vector<const DeviceInUse*> inUse(const Selection& seen) {
  std::vector<const DeviceInUse*> all, connected;
  for (const DeviceInUse& d : seen.devices) {
    all.push_back(&d);
    if (d.connected) connected.push_back(&d);
  }
  return connected.empty() ? all : connected;
}

double speedOfOne(const DeviceInUse& d) {
  return d.speedGbps / static_cast<double>(std::max<std::size_t>(1, partsOf(d.name).size()));
}

std::string gbps(double speed) {
  const long tenths = std::lround(speed * 10);
  const std::string whole = std::to_string(tenths / 10);
  return tenths % 10 ? cat(whole, ".", std::to_string(tenths % 10), " Gb/s") : cat(whole, " Gb/s");
}

bool isSoftware(const Case& c, const std::string& device) {
  return std::any_of(c.node.devices.begin(), c.node.devices.end(),
                     [&](const RdmaDevice& d) { return d.software && d.name == device; });
}

// A device on which the registration test ran into a limit that there is.
const RdmaDevice* stoppedByLimit(const Case& c) {
  if (c.node.memlock.softBytes == MemLock::kUnlimited) return nullptr;
  for (const RdmaDevice& d : c.node.devices)
    if (d.registration && d.registration->registeredErrno == ENOMEM) return &d;
  return nullptr;
}

// The registration test got as much as is enough: whatever the limit says, it does not bind.
bool enoughRegistered(const Case& c) {
  return std::any_of(c.node.devices.begin(), c.node.devices.end(), [](const RdmaDevice& d) {
    return d.registration && d.registration->registered >= kEnoughMemlock;
  });
}

std::string bytes(std::uint64_t n) {
  if (n >= 1ULL << 20) return cat(std::to_string(n >> 20), " MiB");
  return cat(std::to_string(n >> 10), " KiB");
}

}  // namespace

MaybeFinding socketIfnameMatchesNothing(const Case& c) {
  const Setting* s = c.setting("NCCL_SOCKET_IFNAME");
  // A communicator that exists found its interface. NCCL ignores a value of one character.
  if (c.seen.transport != Transport::Unknown || !s || s->value.size() < 2) return std::nullopt;
  if (!c.node.interfacesKnown) return std::nullopt;
  const NameFilter filter = parseNameFilter(s->value, kMaxInterfaceEntries, c.seen.ncclVersion);
  const bool mustRun = c.seen.ncclVersion == 0 || c.seen.ncclVersion >= kRunningOnlySince;
  std::vector<std::string> names, unusable;
  for (const NetInterface& i : c.node.interfaces) {
    names.push_back(i.name);
    if (!filter.takes(i.name, -1)) continue;
    if ((!mustRun || i.running) && (!i.addressesKnown || !i.addresses.empty())) return std::nullopt;
    unusable.push_back(i.name);
  }
  Finding f{.evidence = {settingEvidence(*s),
                         {names.empty() ? std::string("There is no interface.")
                                        : cat("Interfaces here: ", listed(names), "."),
                          "/sys/class/net", Certainty::Told}},
            .certainty = Certainty::Told};
  f.what = unusable.empty()
               ? cat("NCCL_SOCKET_IFNAME=", s->value,
                     " matches no interface here: NCCL stops in bootstrap, before it chooses a "
                     "network.")
               : cat("NCCL_SOCKET_IFNAME=", s->value, " matches only ", listed(unusable),
                     ", which has no carrier or no address: NCCL stops in bootstrap.");
  if (const auto fault = suspiciousText(s->value))
    f.evidence.push_back({cat("In the value, ", *fault, "."), s->source, Certainty::Told});
  f.fix =
      "Set NCCL_SOCKET_IFNAME to the interface that reaches the other nodes (`ip -br addr`; a "
      "prefix such as eth is enough), or unset it.";
  return f;
}

MaybeFinding memlockLimited(const Case& c) {
  const MemLock& m = c.node.memlock;
  if (c.oneNode() || !m.known || m.ipcLock.value_or(false)) return std::nullopt;
  const RdmaDevice* stopped = stoppedByLimit(c);
  if (!stopped && (m.softBytes >= kEnoughMemlock || enoughRegistered(c))) return std::nullopt;
  if (c.node.devicesKnown && c.node.devices.empty()) return std::nullopt;
  if (c.seen.transport == Transport::Socket || c.seen.transport == Transport::External)
    return std::nullopt;
  for (const DeviceInUse& d : c.seen.devices)
    if (d.connected) return std::nullopt;  // its buffers are registered: the limit was enough
  Finding f{.what = cat("This process may lock only ", bytes(m.softBytes),
                        " of memory: NCCL will take RDMA and then fail to register its buffers "
                        "(ibv_reg_mr: Cannot allocate memory)."),
            .evidence = {{cat("The limit on locked memory is ", bytes(m.softBytes), " (hard: ",
                              m.hardBytes == MemLock::kUnlimited ? "unlimited" : bytes(m.hardBytes),
                              "), and CAP_IPC_LOCK is ", m.ipcLock ? "not held." : "not known."),
                          m.source, Certainty::Told}},
            .certainty = Certainty::Told};
  if (stopped) {
    f.certainty = Certainty::Observed;
    f.evidence.push_back(
        {cat("Registering ", bytes(stopped->registration->asked), " with ", stopped->name,
             " stops after ", bytes(stopped->registration->registered), ": ENOMEM."),
         "registration test in a child process", Certainty::Observed});
  }
  if (!c.node.container.empty())
    f.fix =
        "Give the container CAP_IPC_LOCK (Kubernetes: securityContext.capabilities.add: "
        "[IPC_LOCK]) or an unlimited memlock (docker run --ulimit memlock=-1).";
  else
    f.fix =
        "Raise it: ulimit -l unlimited in the job script; to let users do so, `* - memlock "
        "unlimited` in /etc/security/limits.conf, and LimitMEMLOCK=infinity for slurmd.";
  return f;
}

MaybeFinding softwareRdma(const Case& c) {
  if (!onRdma(c) && c.seen.transport != Transport::Unknown) return std::nullopt;
  if (c.oneNode()) return std::nullopt;
  std::vector<std::string> names = devicesListed(c.seen);
  if (names.empty()) names = deviceNames(c.usablePorts());
  if (names.empty() || !std::all_of(names.begin(), names.end(),
                                    [&](const std::string& n) { return isSoftware(c, n); }))
    return std::nullopt;
  Finding f{.what = cat(listed(names), names.size() == 1 ? " is" : " are",
                        " software RDMA: the kernel moves the bytes over an ordinary interface, at "
                        "a fraction of an HCA's speed."),
            .fix =
                "Good for tests. For a real job use the node's HCAs: `rdma link` shows whether "
                "there are any.",
            .certainty = Certainty::Told};
  for (const RdmaDevice& d : c.node.devices)
    if (contains(names, d.name))
      f.evidence.push_back({cat("The kernel drives ", d.name, " with ",
                                d.kernelDriver.empty() ? "a software driver" : d.kernelDriver, "."),
                            d.source, Certainty::Told});
  return f;
}

MaybeFinding fewerHcas(const Case& c) {
  if (!onRdma(c) || c.seen.devices.empty()) return std::nullopt;
  const std::vector<std::string> used = devicesListed(c.seen);
  double fastest = 0;
  for (const PortView& p : c.ports)
    if (p.port && contains(used, p.device->name)) fastest = std::max(fastest, p.port->rateGbps);
  if (fastest <= 0) return std::nullopt;
  std::vector<const PortView*> leftOut;
  // A slower port that is left out is there for management or storage: as it should be.
  for (const PortView& p : c.ports)
    if (p.port && p.reaches(Obstacle::Filtered) && p.port->rateGbps >= fastest &&
        !contains(used, p.device->name))
      leftOut.push_back(&p);
  if (leftOut.empty()) return std::nullopt;
  const std::vector<std::string> names = deviceNames(leftOut);
  Finding f{.what = cat("NCCL uses ", std::to_string(used.size()), " of ",
                        std::to_string(used.size() + names.size()),
                        " HCAs that are ACTIVE and as fast: ", listed(names),
                        names.size() == 1 ? " is" : " are", " left out."),
            .evidence = {{cat("NCCL lists ", listed(used), "."),
                          "getProperties of NCCL's IB transport", Certainty::Observed}},
            .certainty = Certainty::Told};
  for (const PortView* p : leftOut)
    f.evidence.push_back({cat(portName(*p), " is ACTIVE at ", gbps(p->port->rateGbps), "."),
                          p->port->source, Certainty::Told});
  const bool filtered = std::any_of(leftOut.begin(), leftOut.end(),
                                    [](const PortView* p) { return p->hit(Obstacle::Filtered); });
  if (filtered && c.hcaSetting) {
    f.evidence.push_back(settingEvidence(*c.hcaSetting));
    f.fix = cat("Add ", listed(names), " to NCCL_IB_HCA, or use a prefix that takes them all.");
  } else {
    f.fix = cat("Run `ibv_devinfo -d ", names.front(),
                "` in the job's container and look for NCCL's \"NET/IB : Unable to\" lines with "
                "NCCL_DEBUG=INFO.");
  }
  return f;
}

MaybeFinding mixedLinkLayers(const Case& c) {
  if (c.oneNode()) return std::nullopt;
  if (c.listing) return mixedInListing(c);
  std::vector<std::string> ib, ethernet;
  if (!c.seen.devices.empty()) {
    for (const DeviceInUse* d : inUse(c.seen)) {
      if (d->linkLayer == LinkLayer::InfiniBand) ib.push_back(d->name);
      if (d->linkLayer == LinkLayer::Ethernet) ethernet.push_back(d->name);
    }
  } else if (c.mayBeOff() || c.seen.transport == Transport::Mixed) {
    for (const PortView* p : c.usablePorts()) {
      if (p->port && p->port->linkLayer == LinkLayer::InfiniBand) ib.push_back(p->device->name);
      if (p->port && p->port->linkLayer == LinkLayer::Ethernet) ethernet.push_back(p->device->name);
    }
  }
  if (ib.empty() || ethernet.empty() || c.seen.transport == Transport::Socket) return std::nullopt;
  const std::string value = hcaSettingFor(ib, c.node);
  return Finding{
      .what = cat("NCCL takes ports of both link layers: InfiniBand (", listed(ib),
                  ") and Ethernet (", listed(ethernet),
                  "). They do not reach each other, and ranks that pair them hang "
                  "or fail."),
      .evidence = {{cat(ib.front(), " is InfiniBand, ", ethernet.front(), " is Ethernet."),
                    c.process                ? c.job->source(c.process->deviceListAt)
                    : c.seen.devices.empty() ? "/sys/class/infiniband"
                                             : "getProperties of NCCL's IB transport",
                    c.process || c.seen.devices.empty() ? Certainty::Told : Certainty::Observed}},
      .fix = cat("Name the ones meant for the job: NCCL_IB_HCA=", value, " keeps InfiniBand."),
      .certainty = Certainty::Told};
}

MaybeFinding slowNic(const Case& c) {
  if (!onRdma(c)) return std::nullopt;
  if (c.process) return slowNicInLog(c);
  const auto used = inUse(c.seen);
  double fastest = 0;
  for (const DeviceInUse* d : used) fastest = std::max(fastest, speedOfOne(*d));
  std::vector<std::string> slow, fast;
  Finding f{.certainty = Certainty::Observed};
  for (const DeviceInUse* d : used) {
    const double speed = speedOfOne(*d);
    if (speed <= 0 || isSoftware(c, d->name)) continue;
    if (speed * 2 >= fastest && fastest > kSlowGbps) {
      for (const std::string& part : partsOf(d->name)) fast.push_back(part);
      continue;
    }
    slow.push_back(d->name);
    f.evidence.push_back({cat(d->name, " runs at ", gbps(speed),
                              d->connected ? " and carries traffic of this communicator." : "."),
                          "getProperties of NCCL's IB transport", Certainty::Observed});
  }
  if (slow.empty()) return std::nullopt;
  if (fast.empty()) {
    f.what = cat("The fastest RDMA port NCCL uses runs at ", gbps(fastest), " (", listed(slow),
                 "): RDMA is engaged, on a slow network.");
    f.fix =
        "If the node has faster HCAs, find out why NCCL does not take them (`rdmaguard "
        "preflight`, `ibv_devinfo`).";
  } else {
    f.what = cat("NCCL takes ", listed(slow), " beside ports of ", gbps(fastest),
                 ": a management or storage NIC among the fast ones slows every collective that "
                 "runs over it.");
    f.fix = cat("Leave it out: NCCL_IB_HCA=", hcaSettingFor(fast, c.node), ".");
  }
  return f;
}

MaybeFinding hcaPrefixMatchesMore(const Case& c) {
  if (!c.hcaSetting || c.hcaFilter.exact || c.hcaFilter.exclude) return std::nullopt;
  for (const NameFilter::Entry& e : c.hcaFilter.entries) {
    bool whole = false;
    std::vector<std::string> more;
    for (const RdmaDevice& d : c.node.devices) {
      whole = whole || d.name == e.prefix;
      if (d.name != e.prefix && d.name.starts_with(e.prefix)) more.push_back(d.name);
    }
    if (!whole || more.empty()) continue;
    return Finding{
        .what = cat("NCCL_IB_HCA holds ", e.prefix, ", which takes ", listed(more),
                    " too: names are prefixes unless the list starts with '='."),
        .evidence = {settingEvidence(*c.hcaSetting)},
        .fix = cat("Write NCCL_IB_HCA==", e.prefix, ",... if only ", e.prefix, " is meant."),
        .certainty = Certainty::Told};
  }
  return std::nullopt;
}

MaybeFinding ibDisableNotANumber(const Case& c) {
  const Setting* s = c.setting("NCCL_IB_DISABLE");
  if (!s || s->value.empty() || numberValue(s->value).value_or(1) != 0) return std::nullopt;
  if (s->value.find_first_of("0123456789") != std::string::npos) return std::nullopt;
  return Finding{.what = cat("NCCL_IB_DISABLE=", s->value,
                             " has no effect: NCCL reads a number, and a word is 0."),
                 .evidence = {settingEvidence(*s)},
                 .fix = "Write NCCL_IB_DISABLE=1 to switch the IB transport off, or remove it.",
                 .certainty = Certainty::Told};
}

}  // namespace rdmaguard::engine
