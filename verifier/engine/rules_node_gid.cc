// Rules about the GID that NCCL would take on each RoCE port it could use. Called through the
// table in rules_node.h.
#include <algorithm>

#include "verifier/engine/gid.h"
#include "verifier/engine/rules_node.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

enum class Fault : std::uint8_t { None, OutOfRange, Empty, NotInNamespace, RoceV1, LinkLocal };

struct Taken {
  const PortView* port;
  GidChoice choice;
  const Gid* gid;
  Fault fault;
};

Fault faultOf(const RdmaPort& port, const GidChoice& choice, const Gid* gid) {
  if (choice.index >= port.gidTableLength) return Fault::OutOfRange;
  if (!gid) return Fault::Empty;
  if (port.gidTypesKnown && gid->type.empty()) return Fault::NotInNamespace;
  if (roceVersion(*gid) == 1) return Fault::RoceV1;
  return isLinkLocal(*gid) ? Fault::LinkLocal : Fault::None;
}

bool listedByNccl(const Case& c, const RdmaDevice& d) {
  // A name may be "mlx5_0+mlx5_1".
  return c.seen.devices.empty() ||
         std::any_of(c.seen.devices.begin(), c.seen.devices.end(), [&d](const DeviceInUse& u) {
           return u.name == d.name || u.name.find(cat(d.name, "+")) != std::string::npos ||
                  u.name.ends_with(cat("+", d.name));
         });
}

std::vector<Taken> takenGids(const Case& c) {
  std::vector<Taken> out;
  const bool connected = std::any_of(c.seen.devices.begin(), c.seen.devices.end(),
                                     [](const DeviceInUse& d) { return d.connected; });
  if (c.oneNode() || connected || c.seen.transport == Transport::Socket ||
      c.seen.transport == Transport::External)
    return out;
  for (const PortView* p : c.usablePorts()) {
    if (!p->port || p->port->linkLayer != LinkLayer::Ethernet || p->device->iwarp) continue;
    if (!listedByNccl(c, *p->device)) continue;
    const auto choice = chosenGid(*p->port, c.node.settings, c.seen.ncclVersion);
    if (!choice) continue;
    const Gid* gid = gidAt(*p->port, choice->index);
    out.push_back({p, *choice, gid, faultOf(*p->port, *choice, gid)});
  }
  return out;
}

std::string_view why(const GidChoice& choice) {
  switch (choice.by) {
    case GidChoice::By::Setting:
      return "which NCCL_IB_GID_INDEX names";
    case GidChoice::By::Default:
      return "which NCCL releases before 2.21 take unless NCCL_IB_GID_INDEX says otherwise";
    case GidChoice::By::Search:
      return "which NCCL finds by itself";
    case GidChoice::By::Fallback:
      break;
  }
  return choice.ipv6 ? "which NCCL takes because it finds no RoCE v2 entry with an IPv6 address"
                     : "which NCCL takes because it finds no RoCE v2 entry with an IPv4 address";
}

Evidence evidenceOf(const Taken& t) {
  const RdmaPort& port = *t.port->port;
  const std::string index = std::to_string(t.choice.index);
  if (t.fault == Fault::OutOfRange)
    return {cat("The GID table of ", portName(*t.port), " has ",
                std::to_string(port.gidTableLength), " entries."),
            cat(port.source, "/gids"), Certainty::Told};
  const std::string at = cat("GID ", index, " of ", portName(*t.port));
  if (!t.gid) return {cat(at, " is empty."), cat(port.source, "/gids/", index), Certainty::Told};
  if (t.gid->type.empty())
    return {cat(at, " is ", gidText(*t.gid), ", and its type cannot be read here."),
            cat(port.source, "/gid_attrs/types/", index), Certainty::Told};
  return {cat(at, " is ", gidText(*t.gid), ", ", t.gid->type,
              t.gid->netdev.empty() ? "" : cat(", of ", t.gid->netdev), "."),
          cat(port.source, "/gids/", index), Certainty::Told};
}

// An index that is a routable RoCE v2 entry on every port; NCCL's own search, without the setting.
std::optional<int> goodIndex(const std::vector<Taken>& all, const Case& c) {
  std::vector<Setting> settings;
  for (const Setting& s : c.node.settings)
    if (s.name != "NCCL_IB_GID_INDEX") settings.push_back(s);
  std::optional<int> common;
  for (const Taken& t : all) {
    const auto choice = chosenGid(*t.port->port, settings, 0);
    if (!choice || choice->by != GidChoice::By::Search) return std::nullopt;
    if (common && *common != choice->index) return std::nullopt;
    common = choice->index;
  }
  return common;
}

// How to come to a good GID: the setting that is in the way, else the address that is missing.
std::string remedy(const std::vector<Taken>& all, const std::vector<const Taken*>& hit,
                   const Case& c) {
  const auto good = goodIndex(all, c);
  const Setting* set = c.setting("NCCL_IB_GID_INDEX");
  const GidChoice& choice = hit.front()->choice;
  if (set && choice.by == GidChoice::By::Setting) {
    std::string fix = undo(*set);
    fix[0] = static_cast<char>(fix[0] - 'a' + 'A');
    fix += ": NCCL 2.21 and later look for the RoCE v2 entry themselves";
    return good ? cat(fix, ". For older ones set it to ", std::to_string(*good), ".")
                : cat(fix, ".");
  }
  if (choice.by == GidChoice::By::Default)
    return good ? cat("Set NCCL_IB_GID_INDEX=", std::to_string(*good),
                      ", or use NCCL 2.21 or later, which looks for it.")
                : "Use NCCL 2.21 or later, which looks for the RoCE v2 entry of each port.";
  const std::string netdev = hit.front()->port->port->netdev;
  return cat("Give ", netdev.empty() ? "the port's interface" : netdev,
             choice.ipv6 ? " an IPv6" : " an IPv4", " address (`ip -br addr`)",
             choice.ipv6 ? "." : ", or set NCCL_IB_ADDR_FAMILY=AF_INET6 where the fabric is IPv6.");
}

MaybeFinding gidFault(const Case& c, Fault fault, std::string_view words) {
  const std::vector<Taken> all = takenGids(c);
  std::vector<const Taken*> hit;
  std::vector<std::string> names;
  for (const Taken& t : all) {
    if (t.fault != fault) continue;
    hit.push_back(&t);
    names.push_back(portName(*t.port));
  }
  if (hit.empty()) return std::nullopt;
  Finding f{.certainty = Certainty::Told};
  f.what = cat("On ", listed(names), ", GID index ", std::to_string(hit.front()->choice.index),
               ", ", why(hit.front()->choice), ", ", words, ".");
  for (const Taken* t : hit) f.evidence.push_back(evidenceOf(*t));
  if (const Setting* set = c.setting("NCCL_IB_GID_INDEX"))
    f.evidence.push_back(settingEvidence(*set));
  f.fix = remedy(all, hit, c);
  return f;
}

}  // namespace

MaybeFinding gidOutOfRange(const Case& c) {
  return gidFault(c, Fault::OutOfRange,
                  "is past the end of the port's table: NCCL takes the device and then fails to "
                  "connect");
}

MaybeFinding gidEmpty(const Case& c) {
  return gidFault(c, Fault::Empty,
                  "is an empty slot: NCCL takes the device and then fails to connect "
                  "(ibv_modify_qp)");
}

MaybeFinding gidNotInNamespace(const Case& c) {
  auto f = gidFault(c, Fault::NotInNamespace,
                    "belongs to an interface that is not in this network namespace: NCCL takes "
                    "the device and then fails to connect (ibv_modify_qp)");
  if (f)
    f->fix =
        "Give the container the interface that belongs to the device (its Multus network, or the "
        "host's network), then look again.";
  return f;
}

MaybeFinding gidRoceV1(const Case& c) {
  return gidFault(c, Fault::RoceV1,
                  "is of RoCE v1, which no router forwards and a peer on RoCE v2 does not answer");
}

MaybeFinding gidLinkLocal(const Case& c) {
  return gidFault(c, Fault::LinkLocal,
                  "is a link-local address, which reaches no port behind a router");
}

}  // namespace rdmaguard::engine
