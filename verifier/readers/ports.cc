// See ports.h.
#include "verifier/readers/ports.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "verifier/readers/ports_listing.h"
#include "verifier/readers/ports_tag.h"

namespace rdmaguard::readers {
namespace {

using engine::ListedHardware;
using engine::ListingTool;
using engine::PortListing;
using engine::RdmaDevice;
using engine::RdmaPort;

constexpr std::size_t kMaxLinks = 4096;

std::string text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool isLink(const nlohmann::json& object) {
  if (!object.is_object() || text(object, "ifname").empty() || text(object, "state").empty())
    return false;
  const auto port = object.find("port");
  return port != object.end() && port->is_number_integer();
}

}  // namespace

Claim claimPorts(std::string_view line, bool inside) noexcept {
  const PortLine l = portLine(line, inside);
  if (l.field != PortField::None) return l.begins && !inside ? Claim::Starts : Claim::Continues;
  if (!inside) return Claim::No;
  // Blank lines stand between devices; ibv_devinfo -v has many more fields, all indented.
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return Claim::Continues;
  return indentedField(line) ? Claim::Continues : Claim::No;
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
      const PortLine l = portLine(text.substr(0, end), inside);
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

bool readPortsJson(std::string_view value, Place at, JobFacts& out) noexcept {
  try {
    // Nothing else has both words, and parsing is dear.
    if (value.find("\"ifname\"") == std::string_view::npos ||
        value.find("\"physical_state\"") == std::string_view::npos)
      return false;
    const auto links = nlohmann::json::parse(value, nullptr, false);
    if (!links.is_array() || links.empty()) return false;
    for (const auto& link : links)
      if (!isLink(link)) return false;
    PortListing listing;
    listing.tool = ListingTool::RdmaLink;
    listing.at = at;
    for (const auto& link : links) {
      if (listing.devices.size() >= kMaxLinks) {
        listing.complete = false;
        listing.cutAt = at;
        break;
      }
      const std::string name = text(link, "ifname");
      if (listing.devices.empty() || listing.devices.back().name != name) {
        RdmaDevice d;
        d.name = name;
        d.source = out.source(at);
        listing.devices.push_back(std::move(d));
        ListedHardware h;
        h.at = at;
        listing.hardware.push_back(std::move(h));
      }
      RdmaPort p;
      p.number = link["port"].get<int>();
      p.state = portState(text(link, "state"));
      p.physState = physState(text(link, "physical_state"));
      p.netdev = text(link, "netdev");
      p.source = out.source(at);
      if (link.contains("subnet_prefix")) {
        p.linkLayer = LinkLayer::InfiniBand;
        p.linkLayerText = "InfiniBand";
      } else if (!p.netdev.empty()) {
        p.linkLayer = LinkLayer::Ethernet;
        p.linkLayerText = "Ethernet";
      }
      listing.devices.back().ports.push_back(std::move(p));
    }
    out.ports.listings.push_back(std::move(listing));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace rdmaguard::readers
