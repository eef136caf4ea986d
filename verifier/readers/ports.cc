// See ports.h.
#include "verifier/readers/ports.h"

#include <charconv>
#include <exception>
#include <string>

#include "verifier/readers/ports_words.h"

namespace rdmaguard::readers {
namespace {

using engine::ListedHardware;
using engine::ListingTool;
using engine::PortListing;
using engine::PortState;
using engine::RdmaDevice;
using engine::RdmaPort;

constexpr std::size_t kMaxListings = 1024;
constexpr std::size_t kMaxDevices = 4096;  // of one listing
constexpr std::size_t kMaxPorts = 256;     // of one device

long numberAt(std::string_view s, int base = 10) {
  if (s.starts_with("0x")) {
    s.remove_prefix(2);
    base = 16;
  }
  long n = -1;
  const auto end = std::from_chars(s.data(), s.data() + s.size(), n, base);
  return end.ec == std::errc() ? n : -1;
}

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

// "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0" -> the word after `key`.
std::string_view wordAfter(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos;
       at = line.find(key, at + key.size())) {
    const bool whole = (at == 0 || line[at - 1] == ' ') && at + key.size() < line.size() &&
                       line[at + key.size()] == ' ';
    if (!whole) continue;
    line = line.substr(at + key.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return line.substr(0, line.find(' '));
  }
  return {};
}

/// Builds listings out of the lines of one region.
class ListingBuilder {
 public:
  explicit ListingBuilder(JobFacts& out) : out_(out) {}

  void take(const PortLine& l, Place at) {
    switch (l.field) {
      case PortField::None:
        return;
      case PortField::Filler:
        listing(l, at);
        return;
      case PortField::Elision:
        if (open_) missing(at);
        return;
      case PortField::Device:
        device(l, l.value, at);
        return;
      case PortField::PortNumber:
        port(l, static_cast<int>(numberAt(l.value)), at);
        return;
      case PortField::PortCount:
        hardware(l, at).portsSaid = static_cast<int>(numberAt(l.value));
        return;
      case PortField::Model:
        hardware(l, at).model = l.value;
        return;
      case PortField::PartId:
        hardware(l, at).model = "MT" + std::string(l.value);
        return;
      case PortField::Transport:
        transport_ = l.value;
        hardware(l, at);
        return;
      case PortField::State:
      case PortField::PhysState:
      case PortField::Rate:
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
        return;
      case PortField::Panic: {
        PortListing& here = listing(l, at);
        here.panic = at;
        here.complete = false;
        here.cutAt = at;
        return;
      }
    }
  }

  void finish(bool cut, Place last) {
    if (!open_) return;
    if (cut && !wholeLastPort()) missing(last);
    close();
  }

 private:
  PortListing& listing(const PortLine& l, Place at) {
    // ibstatus and ibv_devinfo share field names with ibstat: what is open goes on.
    const bool other = open_ && l.begins && l.tool != now_.tool && l.field == PortField::Device;
    const bool otherHost = open_ && !l.host.empty() && !now_.host.empty() && l.host != now_.host;
    if (other || otherHost) close();
    if (!open_) {
      now_ = PortListing{};
      now_.tool = l.tool;
      now_.at = at;
      now_.host = l.host;
      open_ = true;
    }
    return now_;
  }

  void device(const PortLine& l, std::string_view name, Place at) {
    if (open_ && l.tool == now_.tool) {
      // ibstatus has a heading for each port of a device.
      if (l.tool == ListingTool::Ibstatus && !now_.devices.empty() &&
          now_.devices.back().name == name) {
        return;
      }
      for (const RdmaDevice& d : now_.devices)
        if (d.name == name && l.tool != ListingTool::Ibstatus) {
          close();  // the same device again: another host, or another run of the tool
          break;
        }
    }
    PortListing& here = listing(l, at);
    transport_.clear();
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
    lid_ = -1;
  }

  RdmaDevice& deviceNow(const PortLine& l, Place at) {
    listing(l, at);
    if (now_.devices.empty()) {
      // The head of the listing was cut off.
      PortLine nameless = l;
      nameless.begins = false;
      device(nameless, "", at);
      missing(at);
    }
    return now_.devices.back();
  }

  ListedHardware& hardware(const PortLine& l, Place at) {
    deviceNow(l, at);
    return now_.hardware.back();
  }

  void port(const PortLine& l, int number, Place at) {
    RdmaDevice& d = deviceNow(l, at);
    if (d.ports.size() >= kMaxPorts) return;
    RdmaPort p;
    p.number = number > 0 ? number : 1;
    p.source = out_.source(at);
    d.ports.push_back(std::move(p));
    lid_ = -1;
  }

  void portField(const PortLine& l, Place at) {
    RdmaDevice& d = deviceNow(l, at);
    if (d.ports.empty()) port(l, 1, at);
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
      case PortField::Lid:
        lid_ = numberAt(l.value);
        break;
      default:
        setLinkLayer(p, l.value);
    }
    if (p.linkLayer == LinkLayer::Ethernet && lid_ == 0 && p.state == PortState::Active)
      now_.hardware.back().zeroLidPort = p.number;
  }

  void setLinkLayer(RdmaPort& p, std::string_view value) const {
    // An iWARP or other device has Ethernet ports too; what it speaks is its transport.
    const bool verbs = transport_.empty() || transport_.find("InfiniBand") != std::string::npos;
    p.linkLayer = verbs ? linkLayerOf(value) : LinkLayer::Unknown;
    p.linkLayerText = verbs ? std::string(value) : transport_.substr(0, transport_.find(' '));
  }

  // A device and its port on one line.
  RdmaPort* oneLine(const PortLine& l, std::string_view name, int number, Place at) {
    if (open_ && now_.tool != l.tool) close();
    listing(l, at);
    if (now_.devices.empty() || now_.devices.back().name != name) device(l, name, at);
    if (!open_ || now_.devices.empty()) return nullptr;
    port(l, number, at);
    return now_.devices.back().ports.empty() ? nullptr : &now_.devices.back().ports.back();
  }

  void rdmaLink(const PortLine& l, Place at) {
    const std::string_view name = l.value.substr(0, l.value.find('/'));
    const auto number = l.value.substr(std::min(l.value.find('/') + 1, l.value.size()));
    RdmaPort* p = oneLine(l, name, static_cast<int>(numberAt(number)), at);
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

  void ibdev2netdev(const PortLine& l, Place at) {
    const std::string_view name = l.value.substr(0, l.value.find(' '));
    RdmaPort* p = oneLine(l, name, static_cast<int>(numberAt(wordAfter(l.value, "port"))), at);
    if (p) p->netdev = wordAfter(l.value, "==>");
  }

  bool wholeLastPort() const {
    if (now_.devices.empty()) return true;
    const RdmaDevice& d = now_.devices.back();
    if (now_.tool == ListingTool::Ibdev2netdev) return true;
    return !d.ports.empty() && d.ports.back().state != PortState::Unknown &&
           (!d.ports.back().linkLayerText.empty() || now_.tool == ListingTool::RdmaLink);
  }

  void missing(Place at) {
    now_.complete = false;
    if (!now_.cutAt) now_.cutAt = at;
  }

  void close() {
    if (!open_) return;
    open_ = false;
    for (std::size_t i = 0; i < now_.devices.size(); ++i) {
      const auto ports = static_cast<int>(now_.devices[i].ports.size());
      if (now_.tool != ListingTool::Ibdev2netdev && now_.tool != ListingTool::RdmaLink &&
          (ports == 0 || ports < now_.hardware[i].portsSaid))
        missing(now_.hardware[i].at);
      for (const RdmaPort& p : now_.devices[i].ports)
        if (p.state == PortState::Unknown && now_.tool != ListingTool::Ibdev2netdev)
          missing(now_.hardware[i].at);
    }
    if (out_.ports.listings.size() < kMaxListings) out_.ports.listings.push_back(std::move(now_));
    now_ = PortListing{};
  }

  JobFacts& out_;
  PortListing now_;
  bool open_ = false;
  long lid_ = -1;
  std::string transport_;
};

}  // namespace

Claim claimPorts(std::string_view line, bool inside) noexcept {
  const PortLine l = portLine(line, inside);
  if (l.field != PortField::None) return l.begins && !inside ? Claim::Starts : Claim::Continues;
  if (!inside) return Claim::No;
  // Blank lines stand between devices; ibv_devinfo -v has many more fields, all indented.
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return Claim::Continues;
  return line[0] == '\t' || line.starts_with("    ") ? Claim::Continues : Claim::No;
}

void readPorts(std::string_view text, Place first, bool cut, JobFacts& out) noexcept {
  try {
    ListingBuilder builder(out);
    Place at = first;
    Place last = first;
    // A region may begin with an elision: "..." before the first device.
    bool inside = false;
    while (!text.empty()) {
      const auto end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      const PortLine l = portLine(line, inside);
      if (l.field != PortField::None) {
        builder.take(l, at);
        last = at;
        inside = true;
      }
      ++at.line;
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    builder.finish(cut, last);
  } catch (const std::exception&) {
    // Out of memory: what was read stands.
  }
}

}  // namespace rdmaguard::readers
