// What readWholeNode adds of each port: LIDs, GID table, counters. See sources.h. Source: Linux
// Documentation/ABI/stable/sysfs-class-infiniband.
#include <algorithm>
#include <array>

#include "verifier/engine/gid.h"
#include "verifier/engine/text.h"
#include "verifier/probe/numbers.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::Gid;
using engine::PortCounter;
using engine::RdmaPort;

constexpr std::size_t kMostGids = 1024;     // a table has 256 entries at most today
constexpr std::size_t kMostCounters = 512;  // of one folder

std::optional<std::uint32_t> lid(const Tree& tree, const std::string& path) {
  const auto value = hexNumber(tree.line(path));
  if (!value || *value > 0xffffffffU) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// "400 Gb/sec (4X NDR)"
void readWidth(RdmaPort& p) {
  const std::string_view rate = p.rateText;
  const auto open = rate.find('('), times = rate.find("X ", open);
  if (open == std::string_view::npos || times == std::string_view::npos) return;
  p.lanes = leadingNumber(rate.substr(open + 1), 0);
  const std::string_view rest = rate.substr(times + 2);
  p.laneSpeed = rest.substr(0, rest.find(')'));
}

// Most slots are empty: they read as zero, or refuse to be read, and so do their attributes.
void readGids(const Tree& tree, RdmaPort& p) {
  const auto slots = tree.list(cat(p.source, "/gids"));
  if (!slots) return;
  p.gidsKnown = true;
  p.gidTypesKnown = tree.exists(cat(p.source, "/gid_attrs/types"));
  p.gidTableLength = static_cast<int>(slots->size());
  for (std::size_t i = 0; i < slots->size() && i < kMostGids; ++i) {
    const std::string& slot = (*slots)[i];
    const auto bytes = engine::parseGid(tree.line(cat(p.source, "/gids/", slot)));
    Gid g;
    g.index = leadingNumber(slot, -1);
    if (!bytes || g.index < 0) continue;
    g.bytes = *bytes;
    if (engine::isZero(g)) continue;
    g.type = tree.line(cat(p.source, "/gid_attrs/types/", slot));
    g.netdev = tree.line(cat(p.source, "/gid_attrs/ndevs/", slot));
    p.gids.push_back(std::move(g));
  }
}

}  // namespace

std::vector<PortCounter> readCounters(const Tree& tree, const RdmaPort& port, bool& known) {
  std::vector<PortCounter> counters;
  for (const char* folder : {"/counters", "/hw_counters"}) {
    const auto names = tree.list(cat(port.source, folder));
    if (!names) continue;
    known = true;
    for (std::size_t i = 0; i < names->size() && i < kMostCounters; ++i) {
      if ((*names)[i] == "lifespan") continue;  // for how long the kernel keeps what it read
      std::string path = cat(port.source, folder, "/", (*names)[i]);
      if (const auto value = number(tree.line(path)))
        counters.push_back({(*names)[i], *value, std::move(path)});
    }
  }
  return counters;
}

void readPortDetails(const Tree& tree, engine::NodeFacts& node) {
  for (engine::RdmaDevice& d : node.devices) {
    for (RdmaPort& p : d.ports) {
      p.lid = lid(tree, cat(p.source, "/lid"));
      p.smLid = lid(tree, cat(p.source, "/sm_lid"));
      readWidth(p);
      readGids(tree, p);
      p.counters = readCounters(tree, p, p.countersKnown);
    }
  }
}

}  // namespace rdmaguard::probe
