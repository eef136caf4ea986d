// See rules_listing.h. What a listing as a whole comes to is at the end: listingOutlook.
#include "verifier/engine/rules_listing.h"

#include <algorithm>
#include <set>

#include "verifier/engine/judge_job.h"
#include "verifier/engine/rules_env.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// Cards that are sold for the front-end network: ConnectX-4 Lx, -6 Lx, -6 Dx (PCI ids of mlx5).
constexpr std::array<std::string_view, 3> kFrontendModels{"MT4117", "MT4127", "MT4125"};
// More devices than that, all of one such model, are the node's rails after all.
constexpr std::size_t kFewDevices = 2;
// A compute rail is at least this fast where a front-end port is beside it, in Gb/s.
constexpr double kFrontendGbps = 100;
constexpr std::size_t kMaxEvidence = 8;

struct ListedPort {
  const PortListing& listing;
  const RdmaDevice& device;
  const ListedHardware& hardware;
  const RdmaPort& port;
};

template <typename Take>
void eachPort(const JobFacts& job, const Take& take) {
  for (const PortListing& l : job.ports.listings)
    for (std::size_t i = 0; i < l.devices.size() && i < l.hardware.size(); ++i)
      for (const RdmaPort& p : l.devices[i].ports)
        take(ListedPort{l, l.devices[i], l.hardware[i], p});
}

bool usableLayer(const RdmaPort& p) {
  return p.linkLayer != LinkLayer::Unknown || p.linkLayerText.empty();
}

bool down(const RdmaPort& p) {
  return p.state != PortState::Unknown && p.state != PortState::Active;
}

double fastest(const PortListing& l, LinkLayer layer) {
  double most = 0;
  for (const RdmaDevice& d : l.devices)
    for (const RdmaPort& p : d.ports)
      if (p.state == PortState::Active && (layer == LinkLayer::Unknown || p.linkLayer == layer))
        most = std::max(most, p.rateGbps);
  return most;
}

std::size_t devicesOf(const PortListing& l, LinkLayer layer) {
  return static_cast<std::size_t>(
      std::count_if(l.devices.begin(), l.devices.end(), [layer](const RdmaDevice& d) {
        return std::any_of(d.ports.begin(), d.ports.end(),
                           [layer](const RdmaPort& p) { return p.linkLayer == layer; });
      }));
}

bool hasInfiniBand(const PortListing& l) {
  return devicesOf(l, LinkLayer::InfiniBand) > 0;
}

bool frontendModel(const PortListing& l, const ListedHardware& h) {
  if (std::find(kFrontendModels.begin(), kFrontendModels.end(), h.model) == kFrontendModels.end())
    return false;
  return l.hardware.size() <= kFewDevices ||
         std::any_of(l.hardware.begin(), l.hardware.end(),
                     [&](const ListedHardware& other) { return other.model != h.model; });
}

// An Ethernet port on a front-end card, or the odd one out beside faster or InfiniBand rails.
bool looksFrontend(const ListedPort& p) {
  if (p.port.linkLayer != LinkLayer::Ethernet || p.device.ports.size() > 1) return false;
  if (frontendModel(p.listing, p.hardware)) return true;
  // A port that is down lists a rate that says nothing of it (mlx5 then says 40, ibstat 10).
  if (p.port.state != PortState::Active)
    return devicesOf(p.listing, LinkLayer::Ethernet) < devicesOf(p.listing, LinkLayer::InfiniBand);
  const bool slow = p.port.rateGbps > 0 && p.port.rateGbps <= kFrontendGbps;
  return slow && (hasInfiniBand(p.listing) ||
                  fastest(p.listing, LinkLayer::Unknown) >= 2 * p.port.rateGbps);
}

std::string nameOf(const ListedPort& p) {
  const std::string device = p.device.name.empty() ? "a device without a name" : p.device.name;
  return cat(device, " port ", std::to_string(p.port.number));
}

template <typename Holds>
MaybeFinding overPorts(const Case& c, const Holds& holds, std::string_view one,
                       std::string_view many) {
  if (!c.job) return std::nullopt;
  Finding f{.certainty = Certainty::Told};
  std::vector<std::string> names;
  eachPort(*c.job, [&](const ListedPort& p) {
    if (!holds(p)) return;
    names.push_back(nameOf(p));
    if (f.evidence.size() < kMaxEvidence)
      f.evidence.push_back(
          {cat(nameOf(p), ": ", name(p.port.state), ", ", name(p.port.physState),
               p.port.rateText.empty() ? "" : ", rate ", p.port.rateText,
               p.port.linkLayerText.empty() ? "" : ", ", p.port.linkLayerText, "."),
           p.port.source, Certainty::Told});
  });
  if (names.empty()) return std::nullopt;
  f.what = cat(listed(names), " ", names.size() == 1 ? one : many);
  return f;
}

template <typename Holds>
MaybeFinding overListings(const Case& c, const Holds& holds, std::string_view what) {
  if (!c.job) return std::nullopt;
  Finding f{.what = std::string(what), .certainty = Certainty::Told};
  for (const PortListing& l : c.job->ports.listings) {
    const Place at = holds(l);
    if (at && f.evidence.size() < kMaxEvidence)
      f.evidence.push_back(
          {cat("Output of ", name(l.tool), l.host.empty() ? "" : cat(" on ", l.host), "."),
           c.job->source(at), Certainty::Told});
  }
  if (f.evidence.empty()) return std::nullopt;
  return f;
}

bool slowRail(const ListedPort& p) {
  if (p.port.state != PortState::Active || p.port.rateGbps <= 0 || looksFrontend(p)) return false;
  return p.port.rateGbps * 2 <= fastest(p.listing, p.port.linkLayer);
}

}  // namespace

MaybeFinding slowListedPort(const Case& c) {
  return overPorts(c, slowRail, "is ACTIVE at half the rate of its siblings or less.",
                   "are ACTIVE at half the rate of their siblings or less.");
}

MaybeFinding possibleFrontendPort(const Case& c) {
  return overPorts(
      c, [](const ListedPort& p) { return down(p.port) && looksFrontend(p); },
      "is not ACTIVE and is probably a front-end port, which NCCL's collectives do not need.",
      "are not ACTIVE and are probably front-end ports, which NCCL's collectives do not need.");
}

MaybeFinding frontendEthernetHca(const Case& c) {
  return overPorts(
      c,
      [](const ListedPort& p) {
        return p.port.state == PortState::Active && hasInfiniBand(p.listing) && looksFrontend(p);
      },
      "is an Ethernet port beside InfiniBand rails: probably the front-end network.",
      "are Ethernet ports beside InfiniBand rails: probably the front-end network.");
}

MaybeFinding roceLidZero(const Case& c) {
  return overListings(
      c,
      [](const PortListing& l) {
        for (const ListedHardware& h : l.hardware)
          if (h.zeroLidPort > 0) return h.at;
        return Place{};
      },
      "LID and SM LID are 0: normal on Ethernet, which has no subnet manager. An ACTIVE port does "
      "not yet prove a usable GID (`show_gids`, `ibv_devinfo -v`).");
}

MaybeFinding ibpanicIncomplete(const Case& c) {
  return overListings(
      c, [](const PortListing& l) { return l.panic; },
      "The tool stopped at an error: devices it does not list may well be there.");
}

MaybeFinding truncatedListing(const Case& c) {
  return overListings(
      c, [](const PortListing& l) { return l.panic || l.complete ? Place{} : l.cutAt; },
      "The listing is incomplete: a device or port that it does not show is unknown, not down.");
}

MaybeFinding unknownLinkLayer(const Case& c) {
  return overPorts(
      c, [](const ListedPort& p) { return !usableLayer(p.port); },
      "is neither InfiniBand nor RoCE: NCCL's IB transport cannot use it.",
      "are neither InfiniBand nor RoCE: NCCL's IB transport cannot use them.");
}

MaybeFinding netdevStateOnly(const Case& c) {
  return overListings(
      c,
      [](const PortListing& l) {
        // With -v it prints both.
        const bool states =
            std::any_of(l.devices.begin(), l.devices.end(), [](const RdmaDevice& d) {
              return std::any_of(d.ports.begin(), d.ports.end(),
                                 [](const RdmaPort& p) { return p.state != PortState::Unknown; });
            });
        return l.tool == ListingTool::Ibdev2netdev && !states ? l.at : Place{};
      },
      "ibdev2netdev prints the state of the network interface: (Down) on an InfiniBand port is an "
      "IPoIB interface that is not up, and says nothing of the port.");
}

MaybeFinding ibstatReadsSysfs(const Case& c) {
  if (!c.job) return std::nullopt;
  const auto cannotUse = [](const ProcessLog& p) {
    return static_cast<bool>(p.noDevice) || static_cast<bool>(p.openFailedAt) ||
           static_cast<bool>(p.libibverbsFailed);
  };
  bool refused = std::any_of(c.job->log.processes.begin(), c.job->log.processes.end(), cannotUse);
  for (const PortListing& l : c.job->ports.listings)
    refused = refused || static_cast<bool>(l.noDevices);
  if (!refused) return std::nullopt;
  return overListings(
      c,
      [](const PortListing& l) {
        const bool sysfs = l.tool == ListingTool::Ibstat || l.tool == ListingTool::Ibstatus;
        return sysfs && !l.devices.empty() ? l.at : Place{};
      },
      "The devices are listed from sysfs, which shows the host's devices even in a container that "
      "was given none of them.");
}

MaybeFinding deviceNameMissing(const Case& c) {
  return overListings(
      c,
      [](const PortListing& l) {
        for (const ListedHardware& h : l.hardware)
          if (!h.named) return h.at;
        return Place{};
      },
      "The name of a device is cut off: which HCA these lines speak of is not known.");
}

MaybeFinding mixedInListing(const Case& c) {
  const PortListing& l = *c.listing;
  std::set<std::string> layers;
  Finding f{.certainty = Certainty::Told};
  for (std::size_t i = 0; i < l.devices.size() && i < l.hardware.size(); ++i)
    for (const RdmaPort& p : l.devices[i].ports) {
      if (p.linkLayer == LinkLayer::Unknown) continue;
      if (looksFrontend({l, l.devices[i], l.hardware[i], p})) continue;
      if (layers.insert(std::string(name(p.linkLayer))).second)
        f.evidence.push_back({cat(l.devices[i].name, " port ", std::to_string(p.number), " is ",
                                  name(p.linkLayer), "."),
                              p.source, Certainty::Told});
    }
  if (layers.size() < 2) return std::nullopt;
  f.what = "The listing holds InfiniBand and Ethernet ports: NCCL would take both kinds.";
  return f;
}

namespace {

// What the ports of all listings come to.
struct Tally {
  std::size_t ports = 0, down = 0, frontendDown = 0;
  bool whole = true;    // the listings are complete
  bool unsaid = false;  // a device is listed and the state of its port is not
  bool slow = false, mixed = false;
  const PortListing* none = nullptr;  // no device at all
};

Tally tallyOf(const JobFacts& job) {
  Tally t;
  eachPort(job, [&](const ListedPort& p) {
    if (!usableLayer(p.port) || p.port.state == PortState::Unknown) return;
    ++t.ports;
    t.slow = t.slow || slowRail(p);
    if (!down(p.port)) return;
    ++t.down;
    t.frontendDown += looksFrontend(p) ? 1 : 0;
  });
  const NodeFacts nothing;
  const Selection unknown;
  for (const PortListing& l : job.ports.listings) {
    t.whole = t.whole && l.complete;
    if (l.noDevices) t.none = &l;
    if (listsStates(l.tool))
      for (const RdmaDevice& d : l.devices)
        t.unsaid = t.unsaid || d.ports.empty() ||
                   std::any_of(d.ports.begin(), d.ports.end(),
                               [](const RdmaPort& p) { return p.state == PortState::Unknown; });
    Case c(nothing, unknown, &job);
    c.listing = &l;
    t.mixed = t.mixed || mixedInListing(c).has_value();
  }
  return t;
}

int exitCodeOf(const Tally& t) {
  constexpr int kGood = 0, kDegraded = 1, kUnknown = 3;
  if (t.ports == 0) return kUnknown;
  // What is missing, or on another network, may be what the job uses.
  if (t.down == t.ports && !t.unsaid) return kUnknown;
  if (t.down > 0 || t.slow || t.mixed) return kDegraded;
  return t.whole ? kGood : kUnknown;
}

Outlook impossible(std::string_view why, std::string source) {
  Outlook out;
  out.engaged = Engaged::No;
  out.transport = Transport::None;
  out.exitCode = 2;
  out.evidence.push_back({std::string(why), std::move(source), Certainty::Told});
  std::string reason(why);
  if (reason[0] >= 'A' && reason[0] <= 'Z') reason[0] = static_cast<char>(reason[0] - 'A' + 'a');
  out.sentence = cat("RDMA is not possible where this was printed: ", reason,
                     " NCCL falls back to TCP sockets there, or fails.");
  return out;
}

}  // namespace

std::optional<Outlook> listingOutlook(const JobFacts& job) {
  if (const Setting* absent = uverbsAbsent(job); absent && job.ports.listings.empty())
    return impossible("No uverbs device is in /dev/infiniband.", absent->source);
  if (job.ports.listings.empty()) return std::nullopt;
  const Tally t = tallyOf(job);
  if (t.none) return impossible("libibverbs finds no RDMA device.", job.source(t.none->noDevices));
  const std::string source = job.source(job.ports.listings.front().at);
  if (t.ports > 0 && t.down == t.ports && t.whole && t.frontendDown < t.ports)
    return impossible("Every port listed is not ACTIVE.", source);
  Outlook out;
  out.exitCode = exitCodeOf(t);
  if (t.ports > 0)
    out.evidence.push_back({cat(std::to_string(t.ports - t.down), " of ", counted(t.ports, "port"),
                                " listed ", t.ports == 1 ? "is" : "are", " ACTIVE."),
                            source, Certainty::Told});
  return out;
}

}  // namespace rdmaguard::engine
