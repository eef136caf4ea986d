// GIDs of `ibv_devinfo -v` and show_gids: see ports_listing.h.
#include <algorithm>

#include "verifier/readers/event_prefix.h"
#include "verifier/readers/ports_listing.h"

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxGids = 8192;  // of one device
constexpr long kMaxGidIndex = 65535;
constexpr long kMaxPortNumber = 255;

}  // namespace

void ListingBuilder::addGid(engine::ListedGid gid) {
  auto& gids = now_->listing.hardware.back().gids;
  if (gids.size() < kMaxGids) gids.push_back(std::move(gid));
}

// "  3]:\t\t::ffff:192.0.2.5, RoCE v2"; before rdma-core 29 without the type.
void ListingBuilder::gid(const PortLine& l, Place at) {
  const std::string_view digits =
      l.value.substr(std::min(l.value.find_first_not_of(' '), l.value.size()));
  const auto colon = l.value.find("]:");
  const long index = numberAt(digits);
  if (colon == std::string_view::npos || index < 0 || index > kMaxGidIndex) return;
  const std::string_view value = trimmed(l.value.substr(colon + 2));
  const std::string_view type = value.substr(std::min(value.find(", "), value.size()));
  engine::ListedGid g;
  hardware(l, at);
  const auto& ports = now_->listing.devices.back().ports;
  g.port = ports.empty() ? 1 : ports.back().number;
  g.index = static_cast<int>(index);
  g.gid = value.substr(0, value.find_first_of(", \t"));
  if (type.ends_with("RoCE v1")) g.roceVersion = 1;
  if (type.ends_with("RoCE v2")) g.roceVersion = 2;
  g.at = at;
  addGid(std::move(g));
}

// "mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:c000:0205 192.0.2.5  v2 eth2"
void ListingBuilder::gidRow(const PortLine& l, Place at) {
  std::string_view rest = l.value;
  const auto next = [&rest] {
    rest = trimmed(rest);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    return word;
  };
  const std::string_view name = next();
  engine::ListedGid g;
  g.port = static_cast<int>(std::clamp(numberAt(next()), 1L, kMaxPortNumber));
  g.index = static_cast<int>(std::clamp(numberAt(next()), 0L, kMaxGidIndex));
  g.gid = next();
  g.at = at;
  for (std::string_view word = next(); !word.empty(); word = next()) {
    if (word == "v1") g.roceVersion = 1;
    if (word == "v2") g.roceVersion = 2;
  }
  const auto& devices = now_->listing.devices;
  if (devices.empty() || devices.back().name != name) device(l, name, at);
  if (!now_->open || now_->listing.devices.empty()) return;
  addGid(std::move(g));
}

}  // namespace rdmaguard::readers
