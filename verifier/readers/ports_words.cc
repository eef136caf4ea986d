// See ports_words.h.
#include "verifier/readers/ports_words.h"

#include <array>

namespace rdmaguard::readers {
namespace {

using engine::ListingTool;
using engine::PhysState;
using engine::PortState;

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool allDigits(std::string_view s) {
  if (s.empty()) return false;
  for (const char c : s)
    if (!isDigit(c)) return false;
  return true;
}

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool startsWith(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (lower(text[i]) != lower(word[i])) return false;
  return true;
}

bool isOneOf(std::string_view value, std::initializer_list<std::string_view> words) {
  for (const std::string_view w : words)
    if (startsWith(value, w)) return true;
  return false;
}

// What follows a key tells whether a listing may begin with this line: "state:" alone is a word
// of many files, "state: PORT_ACTIVE (4)" is not.
enum class Begins : std::uint8_t { Never, Always, IfState, IfPhysState };

struct Key {
  std::string_view text;
  ListingTool tool;
  PortField field;
  Begins begins = Begins::Never;
};

constexpr auto kStat = ListingTool::Ibstat;
constexpr auto kStatus = ListingTool::Ibstatus;
constexpr auto kInfo = ListingTool::IbvDevinfo;

constexpr std::array kKeys{
    Key{"CA type:", kStat, PortField::Model, Begins::Always},
    Key{"Number of ports:", kStat, PortField::PortCount, Begins::Always},
    Key{"Firmware version:", kStat, PortField::Filler},
    Key{"Hardware version:", kStat, PortField::Filler},
    Key{"Node GUID:", kStat, PortField::Filler},
    Key{"System image GUID:", kStat, PortField::Filler},
    Key{"Physical state:", kStat, PortField::PhysState, Begins::IfPhysState},
    Key{"State:", kStat, PortField::State, Begins::IfState},
    Key{"Rate:", kStat, PortField::Rate},
    Key{"Base lid:", kStat, PortField::Lid},
    Key{"LMC:", kStat, PortField::Filler},
    Key{"SM lid:", kStat, PortField::Filler},
    Key{"Capability mask:", kStat, PortField::Filler},
    Key{"Port GUID:", kStat, PortField::Filler},
    Key{"Link layer:", kStat, PortField::LinkLayer, Begins::Always},
    Key{"phys state:", kStatus, PortField::PhysState, Begins::IfPhysState},
    Key{"default gid:", kStatus, PortField::Filler},
    Key{"link_layer:", kInfo, PortField::LinkLayer, Begins::Always},
    Key{"transport:", kInfo, PortField::Transport},
    Key{"fw_ver:", kInfo, PortField::Filler},
    Key{"node_guid:", kInfo, PortField::Filler},
    Key{"sys_image_guid:", kInfo, PortField::Filler},
    Key{"vendor_id:", kInfo, PortField::Filler},
    Key{"vendor_part_id:", kInfo, PortField::PartId},
    Key{"hw_ver:", kInfo, PortField::Filler},
    Key{"board_id:", kInfo, PortField::Filler},
    Key{"phys_port_cnt:", kInfo, PortField::PortCount, Begins::Always},
    Key{"Device ports:", kInfo, PortField::Filler},
    Key{"port:", kInfo, PortField::PortNumber},
    Key{"max_mtu:", kInfo, PortField::Filler},
    Key{"active_mtu:", kInfo, PortField::Filler},
    Key{"sm_lid:", kInfo, PortField::Filler},
    Key{"port_lid:", kInfo, PortField::Lid},
    Key{"port_lmc:", kInfo, PortField::Filler},
    Key{"active_width:", kInfo, PortField::Filler},
    Key{"active_speed:", kInfo, PortField::Filler},
    Key{"phys_state:", kInfo, PortField::PhysState},
};

// "'mlx5_0'", "mlx5_0": up to the closing quote or blank.
std::string_view quoted(std::string_view s) {
  const auto open = s.find('\'');
  if (open == std::string_view::npos) return {};
  s.remove_prefix(open + 1);
  return s.substr(0, s.find('\''));
}

// "Port 1:" of ibstat, also "Port 1: (mlx5_0)"-like additions.
std::string_view numberedPort(std::string_view s) {
  if (!s.starts_with("Port ")) return {};
  s = trimmed(s.substr(5));
  std::size_t n = 0;
  while (n < s.size() && isDigit(s[n])) ++n;
  return n > 0 && n < s.size() && s[n] == ':' ? s.substr(0, n) : std::string_view{};
}

// "mlx5_0 port 1 ==> eth0 (Up)"
bool isIbdev2netdev(std::string_view s) {
  const auto arrow = s.find("==>");
  return arrow != std::string_view::npos && s.find(" port ") < arrow;
}

// "link mlx5_0/1 state ACTIVE ...", and "1/1: mlx5_0/1: state ACTIVE ..." of older iproute2.
std::string_view rdmaLink(std::string_view s) {
  // Asked of every line of a log: what costs a search comes last.
  if (!isDigit(s[0]) && !s.starts_with("link ")) return {};
  const auto state = s.find(" state ");
  if (state == std::string_view::npos) return {};
  const std::string_view before = s.substr(0, state);
  if (before.find('/') == std::string_view::npos) return {};
  if (s.starts_with("link ")) return trimmed(s.substr(5));
  const auto colon = before.find(": ");
  if (colon == std::string_view::npos) return {};
  return trimmed(s.substr(colon + 2));
}

PortLine untagged(std::string_view s, bool inside) {
  if (s.empty()) return {};
  if (s == "..." || s == "[...]" || s == "\xe2\x80\xa6")
    return {inside ? PortField::Elision : PortField::None, kStat, s, {}, false};
  if (s.starts_with("CA '")) return {PortField::Device, kStat, quoted(s), {}, true};
  if (startsWith(s, "Infiniband device '"))
    return {PortField::Device, kStatus, quoted(s), {}, true};
  if (s.starts_with("hca_id:")) return {PortField::Device, kInfo, trimmed(s.substr(7)), {}, true};
  if (const auto number = numberedPort(s); !number.empty())
    return {PortField::PortNumber, kStat, number, {}, true};
  if (isIbdev2netdev(s)) return {PortField::Ibdev2netdev, ListingTool::Ibdev2netdev, s, {}, true};
  if (const auto link = rdmaLink(s); !link.empty())
    return {PortField::RdmaLink, ListingTool::RdmaLink, link, {}, true};
  if (startsWith(s, "No IB devices found") || startsWith(s, "Failed to get IB devices list"))
    return {PortField::NoDevices, kInfo, s, {}, true};
  if (startsWith(s, "ibpanic:")) return {PortField::Panic, kStat, s, {}, true};
  if (startsWith(s, "ibwarn:")) return {PortField::Filler, kStat, s, {}, true};
  // Each key ends with a colon, and most lines of a log have none there.
  constexpr std::size_t kLongestKey = 24;
  if (s.substr(0, kLongestKey).find(':') == std::string_view::npos) return {};
  for (const Key& key : kKeys) {
    if (!inside && key.begins == Begins::Never) continue;
    if (!startsWith(s, key.text)) continue;
    const std::string_view value = trimmed(s.substr(key.text.size()));
    ListingTool tool = key.tool;
    if (key.field == PortField::State) {
      if (startsWith(value, "PORT_"))
        tool = kInfo;
      else if (!value.empty() && isDigit(value[0]))
        tool = kStatus;
    }
    bool begins = key.begins == Begins::Always && !value.empty();
    if (key.begins == Begins::IfState) begins = portState(value) != PortState::Unknown;
    if (key.begins == Begins::IfPhysState) begins = physState(value) != PhysState::Unknown;
    if (begins || inside) return {key.field, tool, value, {}, begins};
    return {};
  }
  return {};
}

}  // namespace

PortState portState(std::string_view value) noexcept {
  // "4: ACTIVE", "PORT_ACTIVE (4)", "Active", "ACTIVE"
  if (value.size() > 2 && isDigit(value[0]) && value[1] == ':') value = trimmed(value.substr(2));
  if (startsWith(value, "PORT_")) value.remove_prefix(5);
  if (startsWith(value, "ACTIVE_DEFER")) return PortState::ActiveDefer;
  if (isOneOf(value, {"active"})) return PortState::Active;
  if (isOneOf(value, {"armed"})) return PortState::Armed;
  if (isOneOf(value, {"init"})) return PortState::Init;
  if (isOneOf(value, {"down"})) return PortState::Down;
  if (isOneOf(value, {"nop"})) return PortState::Nop;
  return PortState::Unknown;
}

PhysState physState(std::string_view value) noexcept {
  if (value.size() > 2 && isDigit(value[0]) && value[1] == ':') value = trimmed(value.substr(2));
  if (isOneOf(value, {"linkup", "link_up"})) return PhysState::LinkUp;
  if (isOneOf(value, {"polling"})) return PhysState::Polling;
  if (isOneOf(value, {"disabled"})) return PhysState::Disabled;
  if (isOneOf(value, {"sleep"})) return PhysState::Sleep;
  if (isOneOf(value, {"portconfigurationtraining", "port_configuration", "training"}))
    return PhysState::Training;
  if (isOneOf(value, {"linkerrorrecovery", "link_error_recover", "errorrecovery"}))
    return PhysState::ErrorRecovery;
  if (isOneOf(value, {"phytest", "phy_test"})) return PhysState::PhyTest;
  if (isOneOf(value, {"no state change", "nop"})) return PhysState::NoStateChange;
  return PhysState::Unknown;
}

PortLine portLine(std::string_view line, bool inside) noexcept {
  const std::string_view s = trimmed(line);
  PortLine found = untagged(s, inside);
  if (found.field != PortField::None) return found;
  // "0: CA 'mlx5_0'", "node-7: State: Active": a tag has no blank in it.
  const auto colon = s.find(": ");
  if (colon == std::string_view::npos || colon == 0 || colon > 128) return {};
  const std::string_view tag = s.substr(0, colon);
  if (tag.find_first_of(" \t'\"{}()<>=") != std::string_view::npos) return {};
  const std::string_view rest = trimmed(s.substr(colon + 1));
  found = untagged(rest, inside);
  if (!allDigits(tag)) found.host = tag;
  return found;
}

}  // namespace rdmaguard::readers
