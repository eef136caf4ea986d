// See ports_words.h.
#include "verifier/readers/ports_words.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "verifier/readers/event_prefix.h"
#include "verifier/readers/ports_tag.h"

namespace rdmaguard::readers {
namespace {

using engine::ListingTool;
using engine::PhysState;
using engine::PortState;

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool allDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), isDigit);
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
  return std::any_of(words.begin(), words.end(),
                     [value](std::string_view w) { return startsWith(value, w); });
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
constexpr auto kDevices = ListingTool::IbvDevices;
constexpr auto kLink = ListingTool::RdmaLink;
constexpr auto kNetdev = ListingTool::Ibdev2netdev;
constexpr auto kDev = ListingTool::RdmaDev;
constexpr auto kGids = ListingTool::ShowGids;

constexpr std::array kKeys{
    Key{"CA type:", kStat, PortField::Model, Begins::Always},
    Key{"iWARP RNIC type:", kStat, PortField::Model, Begins::Always},
    Key{"Number of ports:", kStat, PortField::PortCount, Begins::Always},
    Key{"Firmware version:", kStat, PortField::Filler},
    Key{"Hardware version:", kStat, PortField::Filler},
    Key{"Node GUID:", kStat, PortField::Filler},
    Key{"System image GUID:", kStat, PortField::Filler},
    Key{"Physical state:", kStat, PortField::PhysState, Begins::IfPhysState},
    Key{"State:", kStat, PortField::State, Begins::IfState},
    Key{"Rate:", kStat, PortField::Rate},
    Key{"Effective speed:", kStat, PortField::Filler},
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
    Key{"active_width:", kInfo, PortField::Width},
    Key{"active_speed:", kInfo, PortField::Speed},
    Key{"phys_state:", kInfo, PortField::PhysState},
    Key{"GID[", kInfo, PortField::Gid},
    Key{"n_gids_found=", kGids, PortField::Filler},
};
// Of the keys that a listing may begin with, with the colon.
constexpr std::size_t kLongestKey = 24;

struct Head {
  std::string_view text;
  ListingTool tool;
};

// Lines with a device's name in quotes. ibstat names the kind of node in front, with a colon where
// it was asked for one port.
constexpr std::array kHeads{Head{"CA '", kStat}, Head{"CA: '", kStat}, Head{"iWARP RNIC '", kStat},
                            Head{"iWARP RNIC: '", kStat}, Head{"Infiniband device '", kStatus}};

// What libibverbs' programs and ibstatus say where there is no device at all.
constexpr std::array kNoDevices{
    Head{"No IB devices found", kInfo}, Head{"Failed to get IB devices list", kInfo},
    Head{"0 HCAs found", kInfo}, Head{"Fatal error:  No devices", kStatus},
    Head{"Fatal error: No devices", kStatus}};

constexpr std::array kCommands{Head{"ibstat", kStat},      Head{"ibstatus", kStatus},
                               Head{"ibv_devinfo", kInfo}, Head{"ibv_devices", kDevices},
                               Head{"rdma link", kLink},   Head{"ibdev2netdev", kNetdev},
                               Head{"rdma dev", kDev},     Head{"show_gids", kGids}};

// "'mlx5_0'": up to the closing quote.
std::string_view quoted(std::string_view s) {
  const auto open = s.find('\'');
  if (open == std::string_view::npos) return {};
  s.remove_prefix(open + 1);
  return s.substr(0, s.find('\''));
}

int numberIn(std::string_view digits) {
  int n = 0;
  for (const char c : digits.substr(0, 6)) n = isDigit(c) ? n * 10 + (c - '0') : n;
  return n;
}

// "Port 1:" of ibstat, also "Port 1: (mlx5_0)"-like additions.
std::string_view numberedPort(std::string_view s) {
  if (!s.starts_with("Port ")) return {};
  s = trimmed(s.substr(5));
  std::size_t n = 0;
  while (n < s.size() && isDigit(s[n])) ++n;
  return n > 0 && n < s.size() && s[n] == ':' ? s.substr(0, n) : std::string_view{};
}

// "mlx5_0 port 1 ==> eth0 (Up)", with -v "0000:02:00.0 mlx5_0 (MT4115 - ...) ... fw 12.23.1020
// port 1 (ACTIVE) ==> eth0 (Up)"
bool isIbdev2netdev(std::string_view s) {
  if (!s.ends_with(')')) return false;
  const auto arrow = s.find("==>");
  if (arrow == std::string_view::npos) return false;
  const auto port = s.substr(0, arrow).rfind(" port ");
  return port != std::string_view::npos && port > 0 && isDigit(s[port + 6]);
}

// "link mlx5_0/1 state ACTIVE ...", and "1/1: mlx5_0/1: state ACTIVE ..." of older iproute2.
std::string_view rdmaLink(std::string_view s) {
  if (!s.starts_with("link ") && !isDigit(s.front())) return {};
  const auto state = s.find(" state ");
  if (state == std::string_view::npos) return {};
  const std::string_view before = s.substr(0, state);
  if (before.find('/') == std::string_view::npos) return {};
  if (portState(wordAfter(s, "state")) == PortState::Unknown) return {};
  if (s.front() == 'l') return trimmed(s.substr(5));
  const auto colon = before.find(": ");
  return colon == std::string_view::npos ? std::string_view{} : trimmed(s.substr(colon + 2));
}

// ibv_devices: "device          	   node GUID"
bool isTableHead(std::string_view s) {
  constexpr std::string_view kEnd = "node GUID";
  return s.starts_with("device") && s.ends_with(kEnd) && s.size() > 6 + kEnd.size() &&
         s.substr(6, s.size() - 6 - kEnd.size()).find_first_not_of(" \t") == std::string_view::npos;
}

// ibv_devices: "mlx5_0           b83fd20300a1b2c4"
std::string_view tableRow(std::string_view s) {
  const auto blank = s.find_first_of(" \t");
  if (blank == std::string_view::npos) return {};
  const std::string_view guid = trimmed(s.substr(blank));
  return guid.size() == 16 && std::all_of(guid.begin(), guid.end(), isHex) ? s.substr(0, blank)
                                                                           : std::string_view{};
}

// "0: mlx5_0: node_type ca fw 28.39.1002 node_guid ..." of `rdma dev`.
std::string_view rdmaDevice(std::string_view s) {
  if (!isDigit(s.front())) return {};
  const auto type = s.find(": node_type ");
  if (type == std::string_view::npos) return {};
  const std::string_view before = s.substr(0, type);
  const auto colon = before.find(": ");
  if (colon == std::string_view::npos || !allDigits(before.substr(0, colon))) return {};
  const std::string_view name = before.substr(colon + 2);
  return name.find(' ') == std::string_view::npos ? name : std::string_view{};
}

// show_gids: "DEV     PORT    INDEX   GID       IPv4   VER     DEV"
bool isGidHead(std::string_view s) {
  if (!s.starts_with("DEV")) return false;
  s = trimmed(s.substr(3));
  if (!s.starts_with("PORT")) return false;
  s = trimmed(s.substr(4));
  return s.starts_with("INDEX") && trimmed(s.substr(5)).starts_with("GID");
}

// show_gids: "mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:c000:0205 192.0.2.5  v2 eth2"
bool isGidRow(std::string_view s) {
  const auto port = s.find_first_of(" \t");
  if (port == std::string_view::npos) return false;
  std::string_view rest = trimmed(s.substr(port));
  for (int numbers = 0; numbers < 2; ++numbers) {
    const auto end = rest.find_first_of(" \t");
    if (end == std::string_view::npos || !allDigits(rest.substr(0, end))) return false;
    rest = trimmed(rest.substr(end));
  }
  const std::string_view gid = rest.substr(0, rest.find_first_of(" \t"));
  return std::count(gid.begin(), gid.end(), ':') >= 2 &&
         std::all_of(gid.begin(), gid.end(),
                     [](char c) { return isHex(c) || c == ':' || c == '.'; });
}

// The host of "user@node-3:~$" and "[root@node-3 ~]#"; empty where the prompt has none.
std::string_view promptHost(std::string_view prompt) {
  const auto at = prompt.find('@');
  if (at == std::string_view::npos) return {};
  prompt.remove_prefix(at + 1);
  return prompt.substr(0, prompt.find_first_of(": ]~$#/"));
}

// "$ ibstat", "root@node-3:~# ibv_devinfo -v", "$ ssh node-3 ibstat -s"
PortLine command(std::string_view s) {
  constexpr std::size_t kLongestPrompt = 80;
  const std::string_view start = s.substr(0, kLongestPrompt);
  if (start.front() != '$' && start.find('@') == std::string_view::npos) return {};
  const auto mark = start.find_first_of("$#");
  if (mark == std::string_view::npos || mark + 2 >= s.size() || s[mark + 1] != ' ') return {};
  std::string_view words = trimmed(s.substr(mark + 1));
  std::string_view host = promptHost(s.substr(0, mark));
  if (words.starts_with("ssh ")) {
    words = trimmed(words.substr(4));
    host = words.substr(0, words.find(' '));
    words = trimmed(words.substr(host.size()));
  }
  if (words.starts_with("sudo ")) words = trimmed(words.substr(5));
  for (const Head& c : kCommands) {
    if (!words.starts_with(c.text)) continue;
    const char next = words.size() == c.text.size() ? ' ' : words[c.text.size()];
    if (next == ' ' || next == ';' || next == '|')
      return {PortField::Command, c.tool, words, true, host};
  }
  return {};
}

// "...", "[...]", "<snip>", "(output omitted)": something was left out.
bool isElision(std::string_view s) {
  if (s == "..." || s == "[...]" || s == "\xe2\x80\xa6") return true;
  if (s.size() > 32 || s.find_first_of(":=") != std::string_view::npos) return false;
  const auto first = s.find_first_not_of("<[(-* .");
  if (first == 0 || first == std::string_view::npos) return false;
  return isOneOf(s.substr(first), {"snip", "cut", "truncated", "omitted", "output omitted",
                                   "output truncated", "skipped", "more"});
}

PortLine keyLine(std::string_view s, bool inside) {
  // Most lines of a log have no colon there.
  if (!inside && s.substr(0, kLongestKey).find(':') == std::string_view::npos) return {};
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
    if (begins || inside) return {key.field, tool, value, begins};
    break;
  }
  return {};
}

// The lines of a listing that begins or goes on, by what they begin with.
PortLine headLine(std::string_view s, bool inside) {
  for (const Head& h : kHeads) {
    if (!startsWith(s, h.text)) continue;
    PortLine found{PortField::Device, h.tool, quoted(s), true};
    found.number = numberIn(wordAfter(s, "port"));
    return found;
  }
  if (s.starts_with("hca_id:")) return {PortField::Device, kInfo, trimmed(s.substr(7)), true};
  if (const auto number = numberedPort(s); !number.empty())
    return {PortField::PortNumber, kStat, number, true};
  if (const auto link = rdmaLink(s); !link.empty()) return {PortField::RdmaLink, kLink, link, true};
  for (const Head& h : kNoDevices)
    if (startsWith(s, h.text)) return {PortField::NoDevices, h.tool, s, true};
  if (startsWith(s, "ibpanic:")) return {PortField::Panic, kStat, s, true};
  if (startsWith(s, "ibwarn:")) return {PortField::Filler, kStat, s, true};
  if (isTableHead(s)) return {PortField::TableHead, kDevices, s, true};
  if (isGidHead(s)) return {PortField::TableHead, kGids, s, true};
  if (const auto name = rdmaDevice(s); !name.empty()) return {PortField::Device, kDev, name, true};
  if (!inside) return {};
  if (isElision(s)) return {PortField::Elision, kStat, s};
  if (const auto name = tableRow(s); !name.empty()) return {PortField::TableRow, kDevices, name};
  if (isGidRow(s)) return {PortField::GidRow, kGids, s};
  // grep's and ibv_devices' rules.
  if (s.find_first_not_of("- \t") == std::string_view::npos) return {PortField::Filler, kStat, s};
  return {};
}

// Bytes that the words of headLine() begin with: every line that is nobody's comes here.
constexpr std::string_view kFirstBytes = "CcIihHPplNnFfDd0123456789";

PortLine untagged(std::string_view s, bool inside) {
  if (s.empty()) return {};
  if (inside || kFirstBytes.find(s.front()) != std::string_view::npos)
    if (const PortLine found = headLine(s, inside); found.field != PortField::None) return found;
  if (isIbdev2netdev(s)) return {PortField::Ibdev2netdev, kNetdev, s, true};
  if (const PortLine found = keyLine(s, inside); found.field != PortField::None) return found;
  return command(s);
}

}  // namespace

long numberAt(std::string_view s, int base) noexcept {
  if (s.starts_with("0x")) {
    s.remove_prefix(2);
    base = 16;
  }
  long n = -1;
  const auto end = std::from_chars(s.data(), s.data() + s.size(), n, base);
  return end.ec == std::errc() ? n : -1;
}

std::string_view wordAfter(std::string_view line, std::string_view key) noexcept {
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

PortState portState(std::string_view value) noexcept {
  // "4: ACTIVE", "PORT_ACTIVE (4)", "Active", "ACTIVE"
  if (value.size() > 2 && isDigit(value[0]) && value[1] == ':') value = trimmed(value.substr(2));
  if (startsWith(value, "PORT_")) value.remove_prefix(5);
  value = value.substr(0, value.find_first_of(" \t(,;"));
  struct Word {
    std::string_view text;
    PortState state;
  };
  static constexpr std::array kWords{
      Word{"active", PortState::Active},    Word{"active_defer", PortState::ActiveDefer},
      Word{"armed", PortState::Armed},      Word{"init", PortState::Init},
      Word{"initialize", PortState::Init},  Word{"initializing", PortState::Init},
      Word{"initialized", PortState::Init}, Word{"down", PortState::Down},
      Word{"nop", PortState::Nop},
  };
  for (const Word& w : kWords)
    if (value.size() == w.text.size() && startsWith(value, w.text)) return w.state;
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
  if (isOneOf(value, {"phytest", "phy_test", "phy test"})) return PhysState::PhyTest;
  if (isOneOf(value, {"no state change", "nop"})) return PhysState::NoStateChange;
  return PhysState::Unknown;
}

PortLine portLine(std::string_view line, bool inside) noexcept {
  const std::string_view s = trimmed(line);
  PortLine found = untagged(s, inside);
  if (found.field != PortField::None || s.empty()) return found;
  if (!inside && !mayBeTagged(s)) return {};
  const TaggedLine t = tagOf(s);
  if (t.rest.size() == s.size()) return {};
  found = untagged(trimmed(t.rest), inside);
  if (!inside && (found.field == PortField::Filler || found.field == PortField::Command)) return {};
  if (found.host.empty()) found.host = t.host;
  found.tag = t.tag;
  return found;
}

}  // namespace rdmaguard::readers
