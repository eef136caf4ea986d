// See ports_listing.h.
#include "verifier/readers/ports_listing.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rdmaguard::readers {
namespace {

using engine::ListedHardware;
using engine::ListingTool;
using engine::PortListing;
using engine::PortState;
using engine::RdmaDevice;
using engine::RdmaPort;

constexpr std::size_t kMaxListings = 1024;
constexpr std::size_t kMaxSpeakers = 4096;
constexpr std::size_t kMaxDevices = 4096;  // of one listing
constexpr std::size_t kMaxPorts = 256;     // of one device

double rateOf(std::string_view value) {
  double rate = 0;
  std::from_chars(value.data(), value.data() + value.size(), rate);
  return rate >= 0 && rate < 1e6 ? rate : 0;
}

LinkLayer linkLayerOf(std::string_view value) {
  if (value.starts_with("InfiniBand") || value == "IB") return LinkLayer::InfiniBand;
  if (value.starts_with("Ethernet")) return LinkLayer::Ethernet;
  return LinkLayer::Unknown;
}

}  // namespace

void ListingBuilder::take(const PortLine& l, Place at) {
  const auto known = speakers_.find(l.tag);
  if (known != speakers_.end()) {
    now_ = &known->second;
  } else {
    if (speakers_.size() >= kMaxSpeakers) return;
    now_ = &speakers_.try_emplace(std::string(l.tag)).first->second;
  }
  switch (l.field) {
    case PortField::None:
    case PortField::Filler:
      // By itself a filler ("ibwarn: ...") begins no listing.
      return;
    case PortField::Elision:
      if (now_->open) missing(at);
      return;
    case PortField::Command:
      close();
      now_->host = l.host;
      return;
    case PortField::Device:
      device(l, l.value, at);
      return;
    case PortField::TableHead:
      close();
      listing(l, at);
      now_->table = true;
      return;
    case PortField::TableRow:
      if (now_->table) device(l, l.value, at);
      return;
    case PortField::Gid:
      gid(l, at);
      return;
    case PortField::GidRow:
      if (now_->table) gidRow(l, at);
      return;
    case PortField::PortNumber:
      port(l, static_cast<int>(std::min(numberAt(l.value), 1L << 20)), at);
      return;
    case PortField::PortCount:
      hardware(l, at).portsSaid = static_cast<int>(std::min(numberAt(l.value), 1L << 20));
      return;
    case PortField::Model:
      hardware(l, at).model = l.value;
      return;
    case PortField::PartId:
      hardware(l, at).model = "MT" + std::string(l.value);
      return;
    case PortField::Transport:
      hardware(l, at);
      now_->transport = l.value;
      return;
    case PortField::State:
    case PortField::PhysState:
    case PortField::Rate:
    case PortField::Width:
    case PortField::Speed:
    case PortField::Lid:
    case PortField::LinkLayer:
      portField(l, at);
      return;
    case PortField::RdmaLink:
      rdmaLink(l, at);
      return;
    case PortField::Ibdev2netdev:
      ibdev2netdev(l, at);
      return;
    case PortField::NoDevices:
      listing(l, at).noDevices = at;
      close();
      return;
    case PortField::Panic: {
      PortListing& here = listing(l, at);
      here.panic = at;
      here.complete = false;
      here.cutAt = at;
      close();
      return;
    }
  }
}

void ListingBuilder::finish(bool cut, Place last) {
  if (now_ && now_->open && cut && !wholeLastPort()) missing(last);
  for (auto& [tag, open] : speakers_) {
    now_ = &open;
    close();
  }
  now_ = nullptr;
}

PortListing& ListingBuilder::listing(const PortLine& l, Place at) {
  // ibstatus and ibv_devinfo share field names with ibstat: what is open goes on.
  const bool heads = l.field == PortField::Device || l.field == PortField::NoDevices;
  if (now_->open && heads && l.tool != now_->listing.tool) close();
  if (!now_->open) {
    now_->listing = PortListing{};
    now_->listing.tool = l.tool;
    now_->listing.at = at;
    now_->listing.host = l.host.empty() ? std::string_view(now_->host) : l.host;
    now_->open = true;
    now_->transport.clear();
  }
  return now_->listing;
}

void ListingBuilder::device(const PortLine& l, std::string_view name, Place at) {
  if (now_->open && l.tool == now_->listing.tool && !name.empty()) {
    const auto& devices = now_->listing.devices;
    // ibstatus has a heading for each port of a device, and `ibstat CA PORT` is run for each.
    const bool again = std::any_of(devices.begin(), devices.end(),
                                   [&](const RdmaDevice& d) { return d.name == name; });
    if (again && l.tool == ListingTool::Ibstatus && devices.back().name == name) {
      port(l, l.number, at);
      return;
    }
    if (again) close();  // the same device again: another host, or another run of the tool
  }
  PortListing& here = listing(l, at);
  now_->transport.clear();
  if (here.devices.size() >= kMaxDevices) {
    here.complete = false;
    return;
  }
  RdmaDevice d;
  d.name = name;
  d.source = out_.source(at);
  here.devices.push_back(std::move(d));
  ListedHardware h;
  h.named = !name.empty();
  h.at = at;
  here.hardware.push_back(std::move(h));
  now_->lid = -1;
  if (l.number > 0) port(l, l.number, at);
}

RdmaDevice& ListingBuilder::deviceNow(const PortLine& l, Place at) {
  listing(l, at);
  if (now_->listing.devices.empty()) {
    // The head of the listing was cut off, or grep left it out.
    device(l, "", at);
    missing(at);
  }
  return now_->listing.devices.back();
}

ListedHardware& ListingBuilder::hardware(const PortLine& l, Place at) {
  deviceNow(l, at);
  return now_->listing.hardware.back();
}

void ListingBuilder::port(const PortLine& l, int number, Place at) {
  number = number > 0 ? number : 1;
  RdmaDevice* d = &deviceNow(l, at);
  const auto has = [](const RdmaDevice& of, int n) {
    return std::any_of(of.ports.begin(), of.ports.end(),
                       [n](const RdmaPort& p) { return p.number == n; });
  };
  // Without their names, two ports of one number are of two devices.
  if (d->name.empty() && has(*d, number)) {
    device(l, "", at);
    d = &now_->listing.devices.back();
  }
  if (d->ports.size() >= kMaxPorts) return;
  RdmaPort p;
  p.number = number;
  p.source = out_.source(at);
  d->ports.push_back(std::move(p));
  now_->lid = -1;
  now_->laneGbps = 0;
  now_->lanes = 0;
}

void ListingBuilder::portField(const PortLine& l, Place at) {
  RdmaDevice& first = deviceNow(l, at);
  if (first.ports.empty()) {
    port(l, 1, at);
  } else if (l.field == PortField::State && first.ports.back().state != PortState::Unknown) {
    // grep left out what stands between: of a device without a name the next is another device.
    port(l, first.name.empty() ? 1 : first.ports.back().number + 1, at);
  }
  RdmaDevice& d = now_->listing.devices.back();
  if (d.ports.empty()) return;
  RdmaPort& p = d.ports.back();
  switch (l.field) {
    case PortField::State:
      p.state = portState(l.value);
      p.source = out_.source(at);
      break;
    case PortField::PhysState:
      p.physState = physState(l.value);
      break;
    case PortField::Rate:
      p.rateText = l.value;
      p.rateGbps = rateOf(l.value);
      break;
    case PortField::Width:
      now_->lanes = static_cast<int>(rateOf(l.value));
      setRate(p);
      break;
    case PortField::Speed:
      now_->laneGbps = rateOf(l.value);
      setRate(p);
      break;
    case PortField::Lid:
      now_->lid = numberAt(l.value);
      break;
    default:
      setLinkLayer(p, l.value);
  }
  if (p.linkLayer == LinkLayer::Ethernet && now_->lid == 0 && p.state == PortState::Active)
    now_->listing.hardware.back().zeroLidPort = p.number;
}

void ListingBuilder::setRate(RdmaPort& p) const {
  if (now_->lanes <= 0 || now_->laneGbps <= 0) return;
  p.rateGbps = now_->lanes * now_->laneGbps;
  p.rateText = std::to_string(std::llround(p.rateGbps)) + " Gb/s";
}

void ListingBuilder::setLinkLayer(RdmaPort& p, std::string_view value) const {
  // An iWARP or other device has Ethernet ports too; what it speaks is its transport.
  const std::string& t = now_->transport;
  const bool verbs = t.empty() || t.find("InfiniBand") != std::string::npos;
  p.linkLayer = verbs ? linkLayerOf(value) : LinkLayer::Unknown;
  p.linkLayerText = verbs ? std::string(value) : t.substr(0, t.find(' '));
}

// A device and its port on one line.
RdmaPort* ListingBuilder::oneLine(const PortLine& l, std::string_view name, int number, Place at) {
  if (now_->open && now_->listing.tool != l.tool) close();
  listing(l, at);
  const auto& devices = now_->listing.devices;
  if (devices.empty() || devices.back().name != name) {
    device(l, name, at);
  } else if (std::any_of(devices.back().ports.begin(), devices.back().ports.end(),
                         [number](const RdmaPort& p) { return p.number == number; })) {
    close();
    device(l, name, at);
  }
  if (!now_->open || now_->listing.devices.empty()) return nullptr;
  port(l, number, at);
  auto& ports = now_->listing.devices.back().ports;
  return ports.empty() ? nullptr : &ports.back();
}

void ListingBuilder::rdmaLink(const PortLine& l, Place at) {
  const std::string_view name = l.value.substr(0, l.value.find('/'));
  const auto number = l.value.substr(std::min(l.value.find('/') + 1, l.value.size()));
  RdmaPort* p = oneLine(l, name, static_cast<int>(std::min(numberAt(number), 1L << 20)), at);
  if (!p) return;
  p->state = portState(wordAfter(l.value, "state"));
  p->physState = physState(wordAfter(l.value, "physical_state"));
  p->netdev = wordAfter(l.value, "netdev");
  // The tool does not name the link layer; a RoCE port has a netdev, and an InfiniBand port a
  // subnet prefix and a LID.
  if (!wordAfter(l.value, "subnet_prefix").empty()) {
    p->linkLayer = LinkLayer::InfiniBand;
    p->linkLayerText = "InfiniBand";
  } else if (!p->netdev.empty()) {
    p->linkLayer = LinkLayer::Ethernet;
    p->linkLayerText = "Ethernet";
  }
}

void ListingBuilder::ibdev2netdev(const PortLine& l, Place at) {
  // With -v the PCI address comes first, and the port's own state stands behind its number.
  std::string_view rest = l.value;
  const auto first = rest.substr(0, rest.find(' '));
  if (first.find(':') != std::string_view::npos)
    rest = rest.substr(std::min(first.size() + 1, rest.size()));
  const std::string_view name = rest.substr(0, rest.find(' '));
  const auto arrow = rest.find("==>");
  const auto portAt = rest.substr(0, arrow).rfind(" port ");
  if (portAt == std::string_view::npos) return;
  const std::string_view port = rest.substr(portAt + 6, arrow - portAt - 6);
  RdmaPort* p = oneLine(l, name, static_cast<int>(std::min(numberAt(port), 1L << 20)), at);
  if (!p) return;
  p->netdev = wordAfter(rest, "==>");
  const auto open = port.find('(');
  if (open != std::string_view::npos)
    p->state = portState(port.substr(open + 1, port.find_first_of(" )", open) - open - 1));
  const auto model = rest.find("(MT");
  if (model < portAt)
    now_->listing.hardware.back().model = rest.substr(model + 1, rest.find(' ', model) - model - 1);
}

bool ListingBuilder::wholeLastPort() const {
  const PortListing& here = now_->listing;
  if (here.devices.empty() || !engine::listsStates(here.tool)) return true;
  const RdmaDevice& d = here.devices.back();
  return !d.ports.empty() && d.ports.back().state != PortState::Unknown &&
         (!d.ports.back().linkLayerText.empty() || here.tool == ListingTool::RdmaLink);
}

void ListingBuilder::missing(Place at) {
  now_->listing.complete = false;
  if (!now_->listing.cutAt) now_->listing.cutAt = at;
}

void ListingBuilder::close() {
  if (!now_->open) return;
  now_->open = false;
  PortListing& here = now_->listing;
  for (std::size_t i = 0; i < here.devices.size() && engine::listsStates(here.tool); ++i) {
    const auto ports = static_cast<int>(here.devices[i].ports.size());
    if (here.tool != ListingTool::RdmaLink && (ports == 0 || ports < here.hardware[i].portsSaid))
      missing(here.hardware[i].at);
    for (const RdmaPort& p : here.devices[i].ports)
      if (p.state == PortState::Unknown) missing(here.hardware[i].at);
  }
  // libibverbs found none where the table of ibv_devices has no row.
  if (now_->table && here.devices.empty() && here.tool == ListingTool::IbvDevices)
    here.noDevices = here.at;
  now_->table = false;
  if (out_.ports.listings.size() < kMaxListings) out_.ports.listings.push_back(std::move(here));
  now_->listing = PortListing{};
}

}  // namespace rdmaguard::readers
