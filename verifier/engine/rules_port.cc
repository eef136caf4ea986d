// Rules about whether NCCL would take a port: its state, and NCCL_IB_HCA. Called through the
// table in rules.cc.
#include <algorithm>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

std::string stateWords(const RdmaPort& p) {
  std::string out{name(p.state)};
  if (p.physState != PhysState::Unknown) out += cat("/", name(p.physState));
  return out;
}

const NetInterface* interfaceOf(const Case& c, const RdmaPort& p) {
  if (p.netdev.empty()) return nullptr;
  for (const NetInterface& i : c.node.interfaces)
    if (i.name == p.netdev) return &i;
  return nullptr;
}

// What a fabric engineer would say of a port in this state, and do about it.
struct Diagnosis {
  std::string reason;
  std::string fix;
};

Diagnosis diagnoseEthernet(const Case& c, const RdmaDevice& d, const RdmaPort& p) {
  const NetInterface* i = interfaceOf(c, p);
  const std::string dev = p.netdev.empty() ? std::string("its interface") : p.netdev;
  if (i && !i->up)
    return {cat("the interface ", dev, " is administratively down"),
            cat("Bring the interface up: ip link set dev ", dev, " up.")};
  if (p.physState == PhysState::Disabled)
    return {
        cat(dev, " is down or has no cable"),
        cat("Bring the interface up (ip link set dev ", p.netdev.empty() ? "IFACE" : p.netdev,
            " up; `rdma link show ", d.name, "/", std::to_string(p.number),
            "` names it); if it stays without carrier, check cable, transceiver and switch port.")};
  return {cat(dev, " has no carrier"),
          cat("Check the cable, the transceiver and the switch port of ", dev, " (ethtool ",
              p.netdev.empty() ? "IFACE" : p.netdev, ").")};
}

Diagnosis diagnose(const Case& c, const RdmaDevice& d, const RdmaPort& p) {
  const std::string at = cat(d.name, " port ", std::to_string(p.number));
  if (p.state == PortState::Init)
    return {"the link is up but no subnet manager has configured it",
            cat("Start the subnet manager of this fabric, or find out why it does not reach ", at,
                " (`sminfo`, opensm's log, the switch's SM).")};
  if (p.state == PortState::Armed)
    return {"the subnet manager has not finished with it",
            cat("Wait a moment; if ", at,
                " stays ARMED, restart the subnet manager or look at its log.")};
  if (p.linkLayer == LinkLayer::Ethernet) return diagnoseEthernet(c, d, p);
  switch (p.physState) {
    case PhysState::Disabled:
      return {"it is disabled: no cable, or switched off by an administrator",
              cat("Plug the cable of ", at, " in, or enable the port (ibportstate -C ", d.name,
                  " -P ", std::to_string(p.number), " enable).")};
    case PhysState::Polling:
      return {"it looks for a partner and finds none: cable, transceiver or switch port",
              cat("Check the cable, the transceiver and the switch port behind ", at, ".")};
    case PhysState::Training:
    case PhysState::ErrorRecovery:
      return {"the link does not train: a bad cable or transceiver",
              cat("Replace the cable or transceiver of ", at, " (`mlxlink -d ", d.name,
                  " -m` shows its signal).")};
    default:
      return {"its link is down", cat("Check the cable and the switch port behind ", at, ".")};
  }
}

Evidence portEvidence(const PortView& p) {
  return {cat(portName(p), " is ", stateWords(*p.port), "."), p.port->source, Certainty::Told};
}

void addPort(Finding& f, const Case& c, const PortView& p) {
  f.evidence.push_back(portEvidence(p));
  if (const NetInterface* i = interfaceOf(c, *p.port); i && !(i->up && i->running))
    f.evidence.push_back({cat("Its interface ", i->name,
                              i->up ? " is up without a carrier." : " is administratively down."),
                          i->source, Certainty::Told});
  const Diagnosis d = diagnose(c, *p.device, *p.port);
  // One cause over many ports is said once, for the first of them.
  if (f.fix.empty()) f.fix = d.fix;
}

std::vector<std::string> portNames(const std::vector<const PortView*>& ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const PortView* p : ports) names.push_back(portName(*p));
  return names;
}

// Ports that NCCL_IB_HCA takes and nothing but their state keeps from being used.
std::vector<const PortView*> takenButNotActive(const Case& c) {
  std::vector<const PortView*> out;
  for (const PortView& p : c.ports)
    if (p.reaches(Obstacle::NotActive) && p.hit(Obstacle::NotActive) && !p.hit(Obstacle::Filtered))
      out.push_back(&p);
  return out;
}

// Ports that would be used if NCCL_IB_HCA were not set.
std::vector<const PortView*> usableWithoutFilter(const Case& c) {
  std::vector<const PortView*> out;
  for (const PortView& p : c.ports)
    if (p.reaches(Obstacle::Filtered)) out.push_back(&p);
  return out;
}

std::string filterFix(const Case& c, const std::vector<const PortView*>& wanted) {
  const std::string value = hcaSettingFor(deviceNames(wanted), c.node);
  const Setting& s = *c.hcaSetting;
  std::string fix = value.empty() ? std::string() : cat("Set NCCL_IB_HCA=", value, ", or ");
  fix += undo(s);
  if (!fix.empty() && fix[0] >= 'a' && fix[0] <= 'z')
    fix[0] = static_cast<char>(fix[0] - 'a' + 'A');
  return cat(fix, " to let NCCL take every active port.");
}

MaybeFinding somePort(const Case& c, bool (*holds)(const RdmaPort&)) {
  // Where no port is ACTIVE the missing condition speaks already.
  if (c.oneNode()) return std::nullopt;
  if (!c.listing && c.mayBeOff() && c.blockedAt(Obstacle::NotActive)) return std::nullopt;
  Finding f{.certainty = Certainty::Told};
  std::vector<const PortView*> hit;
  for (const PortView& p : c.ports)
    if (p.port && p.reaches(Obstacle::NotActive) && holds(*p.port)) hit.push_back(&p);
  if (hit.empty()) return std::nullopt;
  for (const PortView* p : hit) addPort(f, c, *p);
  f.what = cat(listed(portNames(hit)), hit.size() == 1 ? " is " : " are ", "not ACTIVE (",
               stateWords(*hit.front()->port),
               "): ", diagnose(c, *hit.front()->device, *hit.front()->port).reason, ".");
  return f;
}

}  // namespace

MaybeFinding portNotActive(const Case& c) {
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::NotActive)) return std::nullopt;
  // Only a whole listing without one ACTIVE port shows that there is none.
  if (c.listing && (!c.listing->complete || !c.usablePorts().empty() ||
                    std::any_of(c.ports.begin(), c.ports.end(), [](const PortView& p) {
                      return p.port && (p.port->state == PortState::Active ||
                                        p.port->state == PortState::Unknown);
                    })))
    return std::nullopt;
  const auto stopped = c.stoppedAt(Obstacle::NotActive);
  Finding f{.certainty = Certainty::Told};
  for (const PortView* p : stopped) addPort(f, c, *p);
  const PortView& first = *stopped.front();
  const std::string reason = diagnose(c, *first.device, *first.port).reason;
  f.what = stopped.size() == 1
               ? cat("The only RDMA port that could be used, ", portName(first), ", is ",
                     stateWords(*first.port), ", not ACTIVE: ", reason, ".")
               : cat("None of the ", std::to_string(stopped.size()), " RDMA ports is ACTIVE (",
                     portName(first), ": ", stateWords(*first.port), ", ", reason, ").");
  return f;
}

MaybeFinding hcaFilterMatchesNothing(const Case& c) {
  if (c.process) return hcaFilterInLog(c);
  if (!c.mayBeOff() || c.ibWorks() || !c.hcaSetting) return std::nullopt;
  if (!c.blockedAt(Obstacle::Filtered) || !takenButNotActive(c).empty()) return std::nullopt;
  auto available = usableWithoutFilter(c);
  const bool someUsable = !available.empty();
  if (!someUsable) available = c.stoppedAt(Obstacle::Filtered);
  const Setting& s = *c.hcaSetting;
  Finding f{.evidence = {settingEvidence(s)}, .certainty = Certainty::Told};
  std::vector<std::string> ports = portNames(available);
  f.what = c.hcaFilter.exclude
               ? cat("NCCL_IB_HCA=", s.value, " excludes every RDMA port ",
                     someUsable ? "that NCCL could use here" : "here", " (", listed(ports), ").")
               : cat("NCCL_IB_HCA=", s.value, " matches none of the RDMA ports ",
                     someUsable ? "that NCCL could use here" : "here", " (", listed(ports), ").");
  f.evidence.push_back({cat("Devices here: ", listed(deviceNames(available)), "."),
                        available.front()->device->source, Certainty::Told});
  if (const auto fault = suspiciousText(s.value))
    f.evidence.push_back({cat("In the value, ", *fault, "."), s.source, Certainty::Told});
  // The list may name a device of the host that this container was not given.
  for (const PortView& p : c.ports)
    if (!p.hit(Obstacle::Filtered) && !p.reaches(Obstacle::NotActive)) {
      f.evidence.push_back({cat("It takes ", p.device->name, ", which this process cannot use."),
                            p.device->source, Certainty::Told});
      break;
    }
  f.fix = filterFix(c, available);
  return f;
}

MaybeFinding hcaFilterPortNotActive(const Case& c) {
  if (!c.mayBeOff() || c.ibWorks() || !c.hcaSetting) return std::nullopt;
  const auto active = usableWithoutFilter(c);
  const auto taken = takenButNotActive(c);
  if (!c.blockedAt(Obstacle::Filtered) || active.empty() || taken.empty()) return std::nullopt;
  const PortView& first = *taken.front();
  Finding f{
      .what = cat("NCCL_IB_HCA=", c.hcaSetting->value, " takes only ports that are not ACTIVE (",
                  portName(first), " is ", stateWords(*first.port), ": ",
                  diagnose(c, *first.device, *first.port).reason, ")."),
      .evidence = {settingEvidence(*c.hcaSetting)},
      .certainty = Certainty::Told};
  for (const PortView* p : taken) addPort(f, c, *p);
  for (const PortView* p : active) f.evidence.push_back(portEvidence(*p));
  f.fix = cat(f.fix, " Or set NCCL_IB_HCA=", hcaSettingFor(deviceNames(active), c.node),
              ", which is ACTIVE.");
  return f;
}

MaybeFinding somePortDown(const Case& c) {
  // A listing is judged port by port: what else is wrong with it is said beside.
  if (c.listing) return somePort(c, [](const RdmaPort& p) { return p.state == PortState::Down; });
  return somePort(c, [](const RdmaPort& p) {
    return p.state == PortState::Down && p.physState != PhysState::Polling &&
           p.physState != PhysState::Disabled;
  });
}

MaybeFinding somePortDisabled(const Case& c) {
  return somePort(c, [](const RdmaPort& p) {
    return p.state == PortState::Down && p.physState == PhysState::Disabled;
  });
}

MaybeFinding somePortPolling(const Case& c) {
  return somePort(c, [](const RdmaPort& p) {
    return p.state == PortState::Down && p.physState == PhysState::Polling;
  });
}

MaybeFinding somePortInitializing(const Case& c) {
  return somePort(c, [](const RdmaPort& p) {
    return p.state == PortState::Init || p.state == PortState::Armed;
  });
}

}  // namespace rdmaguard::engine
