// See log_message_net.h.
#include "verifier/readers/log_message_net.h"

#include <algorithm>

#include "verifier/readers/log_devices.h"
#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {
namespace {

using engine::HcaGdr;
using engine::PairGdr;
using engine::PluginFailure;

constexpr Said kWhole{Parsed::Whole, false};
constexpr Said kCut{Parsed::Cut, false};
constexpr Said kOther{Parsed::Other, false};
constexpr Said kFailure{Parsed::Whole, true};

Said deviceList(Processes& processes, Thread& t, std::string_view net, std::string_view rest,
                Place at) {
  const DeviceList list = parseDevices(rest);
  if (!list.any) {
    const std::string_view text = withoutBlanks(rest);
    return text.empty() || text.starts_with("[") ? kCut : kOther;
  }
  processes.address(t, Processes::AddressOf::Oob, list.address);
  ProcessLog& log = processes.logOf(t);
  if (!list.interface.empty()) log.oobInterface = list.interface;
  log.deviceListSeen = true;
  // An empty list follows "No device found"; one of another transport of the process stays.
  if (!list.devices.empty() && (list.ended || log.devices.empty() || log.deviceListCut)) {
    log.devices = list.devices;
    log.deviceListCut = !list.ended;
    log.deviceListNet = net;
    log.deviceListAt = at;
  } else if (log.devices.empty()) {
    log.deviceListNet = net;
    log.deviceListAt = at;
  }
  return list.ended ? kWhole : kCut;
}

/// Interfaces are listed as devices are, with addresses in place of link layers.
Said interfaceList(Processes& processes, Thread& t, std::string_view rest, Place at) {
  const std::string_view text = withoutBlanks(rest);
  const Interface first = firstInterface(text);
  if (first.address.empty()) return text.empty() || text.starts_with("[") ? kCut : kOther;
  processes.address(t, Processes::AddressOf::Socket, first.address);
  ProcessLog& log = processes.logOf(t);
  if (!log.socketUsing) {
    log.socketUsing = at;
    log.socketInterfaces = text.substr(0, 512);
  }
  return kWhole;
}

/// 2.24 and later make merged NICs of listed ones: "Made virtual device [8] name=a+b speed=.. ".
Said virtualDevice(ProcessLog& log, std::string_view rest) {
  int index = -1;
  if (!takeWords(rest, "[") || !takeDecimal(rest, index) || !takeWords(rest, "]")) return kOther;
  std::string_view names = upTo(after(rest, "name="), " ");
  if (names.find('+') == std::string_view::npos) return kWhole;
  constexpr std::size_t kMaxDevices = 512;
  while (!names.empty() && log.devices.size() < kMaxDevices) {
    const std::string_view name = upTo(names, "+");
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const auto listed = std::find_if(log.devices.begin(), log.devices.end(),
                                     [&](const auto& d) { return d.name == name && !d.merged; });
    const bool known = std::any_of(log.devices.begin(), log.devices.end(), [&](const auto& d) {
      return d.name == name && d.merged && d.index == index;
    });
    if (known || listed == log.devices.end()) continue;
    engine::ListedDevice member = *listed;
    member.index = index;
    member.merged = true;
    log.devices.push_back(std::move(member));
  }
  return kWhole;
}

bool isNoSuchFile(std::string_view reason) {
  return reason.find("cannot open shared object file: No such file") != std::string_view::npos;
}

/// The loader begins its sentence with the file that it could not take.
PluginFailure::Kind kindOf(std::string_view plugin, std::string_view reason) {
  if (!isNoSuchFile(reason)) return PluginFailure::Kind::DlopenFailed;
  const std::string_view missing = upTo(reason, ":");
  return plugin.empty() || missing.find(plugin) != std::string_view::npos ||
                 plugin.find(missing) != std::string_view::npos
             ? PluginFailure::Kind::NotThere
             : PluginFailure::Kind::DlopenFailed;
}

std::string_view inBrackets(std::string_view text) {
  const auto open = text.find('(');
  if (open == std::string_view::npos) return {};
  const auto close = text.find(')', open);
  return close == std::string_view::npos ? std::string_view{}
                                         : text.substr(open + 1, close - open - 1);
}

Said loadFailed(ProcessLog& log, std::string_view plugin, std::string_view reason, Place at) {
  const PluginFailure::Kind kind = kindOf(plugin, reason);
  keepPluginFailure(log, kind, plugin, kind == PluginFailure::Kind::NotThere ? "" : reason, at);
  return kind == PluginFailure::Kind::NotThere ? kWhole : kFailure;
}

}  // namespace

void keepPluginFailure(ProcessLog& log, PluginFailure::Kind kind, std::string_view plugin,
                       std::string_view reason, Place at) {
  constexpr std::size_t kMost = 8;
  for (const PluginFailure& f : log.pluginFailures)
    if (f.kind == kind && f.plugin == plugin) return;
  if (log.pluginFailures.size() >= kMost) return;
  PluginFailure& f = log.pluginFailures.emplace_back();
  f.kind = kind;
  f.plugin = plugin;
  f.reason = reason.substr(0, 512);
  f.at = at;
}

Said gdrMessage(ProcessLog& log, std::string_view net, std::string_view rest, Place at) {
  // "Enabled for HCA 0 'mlx5_0'", "(DMABUF) enabled for HCA 0 'mlx5_0", "Disabled for GPU ...".
  std::string_view how;
  if (rest.starts_with("(")) {
    how = inBrackets(rest);
    rest.remove_prefix(std::min(how.size() + 2, rest.size()));
    rest = withoutBlanks(rest);
  }
  bool enabled = false;
  if (startsWithAnyCase(rest, "enabled"))
    enabled = true;
  else if (!startsWithAnyCase(rest, "disabled"))
    return rest.size() < 8 ? kCut : kOther;
  const auto hca = findAnyCase(rest, "for hca ");
  if (hca != std::string_view::npos) {
    std::string_view name = rest.substr(hca + 8);
    int index = 0;
    takeDecimal(name, index);
    const auto quote = name.find('\'');
    if (quote == std::string_view::npos) return kCut;
    name.remove_prefix(quote + 1);
    // One plugin leaves the closing quote out.
    const std::string_view device = upTo(name, "' \t");
    if (how.empty()) how = inBrackets(name.substr(device.size()));
    const auto same = std::any_of(log.hcaGdr.begin(), log.hcaGdr.end(), [&](const HcaGdr& g) {
      return g.hca == device && g.enabled == enabled && g.net == net;
    });
    if (same || log.hcaGdr.size() >= 256) return kWhole;
    HcaGdr& g = log.hcaGdr.emplace_back();
    g.hca = device;
    g.enabled = enabled;
    g.how = how;
    g.net = net;
    g.at = at;
    return kWhole;
  }
  // "for GPU 87000 / HCA 0 (distance 4 <= 5), read 0"; 2.29: "for GPU/0-b8000 ... (... distance 4".
  const auto distance = rest.find("distance ");
  if (distance == std::string_view::npos) return kCut;
  PairGdr pair;
  pair.enabled = enabled;
  pair.at = at;
  std::string_view numbers = rest.substr(distance + 9);
  if (!takeDecimal(numbers, pair.distance)) return kCut;
  while (!numbers.empty() && !isDigitChar(numbers.front()) && numbers.front() != ')' &&
         numbers.front() != ',')
    numbers.remove_prefix(1);
  takeDecimal(numbers, pair.limit);
  std::string_view ends = rest.substr(0, distance);
  const std::string_view who = after(ends, "for ");
  std::string_view gpu = who;
  takeWords(gpu, "GPU ") || takeWords(gpu, "GPU/");
  pair.gpu = upTo(gpu, " ,(");
  std::string_view device = after(who, "HCA ");
  if (device.empty()) device = after(who, "NET/");
  if (device.empty()) device = after(who, "NIC/");
  pair.hca = upTo(device, " ,(");
  for (PairGdr& p : log.pairGdr)
    if (p.enabled == pair.enabled && p.gpu == pair.gpu && p.hca == pair.hca) {
      ++p.count;
      return kWhole;
    }
  if (log.pairGdr.size() < 64) log.pairGdr.push_back(std::move(pair));
  return kWhole;
}

Said pluginMessage(Processes& processes, Thread& t, std::string_view rest, Place at) {
  Process& process = processes.processOf(t);
  ProcessLog& log = process.log;
  rest = withoutBlanks(rest);
  if (rest.starts_with("Loaded net plugin ")) {
    std::string_view name = rest.substr(std::string_view("Loaded net plugin ").size());
    const auto version = name.rfind(" (v");
    if (version == std::string_view::npos) return kCut;
    name = name.substr(0, version);
    process.netPluginLoaded = true;
    NetworkLine line;
    line.form = NetworkLine::Form::Loaded;
    line.network = name;
    line.at = at;
    processes.network(t, std::move(line));
    return kWhole;
  }
  if (rest.starts_with("Failed to find ncclNetPlugin")) {
    // Each version it knows is looked for; only what is said after the last one ends it.
    if (rest.find("ncclNetPlugin symbol") != std::string_view::npos ||
        rest.find("(>= v") != std::string_view::npos)
      keepPluginFailure(log, PluginFailure::Kind::NoSymbol, "", rest, at);
    else if (rest.find("_v6 symbol") != std::string_view::npos)
      process.symbolMissing = at;
    return kWhole;
  }
  if (rest.starts_with("Plugin name set by env to ")) return kWhole;
  if (const auto found = rest.find("No plugin found"); found != std::string_view::npos) {
    const std::string_view plugin = inBrackets(rest.substr(found));
    // 2.19 puts the loader's sentence in front.
    const std::string_view reason = withoutBlanks(after(rest.substr(0, found), "dlerror="));
    if (!reason.empty()) return loadFailed(log, plugin, reason, at);
    keepPluginFailure(log, PluginFailure::Kind::NotThere, plugin, {}, at);
    return kWhole;
  }
  if (rest.starts_with("Could not find")) {
    std::string_view names = rest.substr(std::string_view("Could not find").size());
    takeWords(names, ":");
    const auto end = names.find(". ");
    if (end != std::string_view::npos) names = names.substr(0, end);
    names = withoutBlanks(names);
    if (names.ends_with('.')) names.remove_suffix(1);
    keepPluginFailure(log, PluginFailure::Kind::NotThere, names, {}, at);
    return kWhole;
  }
  if (rest.starts_with("Plugin load")) {
    // "Plugin load (libnccl-net.so) returned 2 : <loader>[ : when loading libnccl-net.so]"
    std::string_view plugin = inBrackets(upTo(rest, ":"));
    const auto returned = rest.find("returned ");
    if (returned == std::string_view::npos) return kCut;
    std::string_view reason = withoutBlanks(after(rest.substr(returned), ":"));
    if (const auto when = reason.find(" : when loading "); when != std::string_view::npos) {
      plugin = withoutBlanks(reason.substr(when + 16));
      reason = reason.substr(0, when);
    }
    if (plugin.empty()) plugin = "libnccl-net.so";
    return loadFailed(log, plugin, reason, at);
  }
  // "libnccl-net.so: <loader>", since 2.28 "libnccl-net.so: libnccl-net.so: <loader>".
  const std::string_view file = upTo(rest, ": ");
  if (file.find(".so") != std::string_view::npos && file.size() < rest.size()) {
    std::string_view reason = withoutBlanks(rest.substr(file.size() + 1));
    const bool failed = isNoSuchFile(rest) || reason.find("not found") != std::string_view::npos ||
                        reason.find("undefined symbol") != std::string_view::npos ||
                        reason.find("cannot ") != std::string_view::npos ||
                        reason.find("wrong ELF") != std::string_view::npos ||
                        reason.find("invalid ELF") != std::string_view::npos ||
                        reason.find("failed") != std::string_view::npos;
    if (!failed) return kOther;
    if (reason.starts_with("cannot ")) reason = rest;
    return loadFailed(log, file, reason, at);
  }
  return kOther;
}

Said netMessage(Processes& processes, Thread& t, std::string_view rest, Place at) {
  const auto colon = rest.find(':');
  const auto open = rest.find(" GPU Direct");
  if (colon == std::string_view::npos) return rest.size() < 12 ? kCut : kOther;
  const std::string_view net = withoutBlanks(rest.substr(0, std::min(colon, open)));
  ProcessLog& log = processes.logOf(t);
  if (net.empty() || net.size() > 64) return kOther;
  rest = withoutBlanks(rest.substr(colon + 1));
  if (net == "Plugin") return pluginMessage(processes, t, rest, at);
  if (rest.empty()) return kCut;
  if (takeWords(rest, "GPU Direct RDMA ")) return gdrMessage(log, net, rest, at);
  if (std::string_view("GPU Direct RDMA ").starts_with(rest)) return kCut;
  if (rest.starts_with("No device found")) {
    if (net == "Socket") return kOther;
    if (!log.noDevice) log.noDevice = at;
    return kWhole;
  }
  if (takeWords(rest, "Unable to open device ")) {
    const std::string_view device = upTo(rest, " ,\t");
    if (log.openFailed.size() < 64 &&
        std::find(log.openFailed.begin(), log.openFailed.end(), device) == log.openFailed.end())
      log.openFailed.emplace_back(device);
    if (!log.openFailedAt) log.openFailedAt = at;
    return kFailure;
  }
  if (takeWords(rest, "Made virtual device ")) return virtualDevice(log, rest);
  // 2.2 prints the list without "Using".
  if (rest.starts_with("[")) {
    const DeviceList list = parseDevices(rest);
    if (list.devices.empty()) return kOther;
    log.devices = list.devices;
    log.deviceListSeen = true;
    log.deviceListCut = false;
    log.deviceListNet = net;
    log.deviceListAt = at;
    return kWhole;
  }
  if (takeWords(rest, "Using ")) {
    if (rest.starts_with("interface ")) return kWhole;
    // A plugin over TCP lists interfaces, as Socket does.
    if (net == "Socket" || !firstInterface(rest).address.empty())
      return interfaceList(processes, t, rest, at);
    return deviceList(processes, t, net, rest, at);
  }
  if (std::string_view("Using ").starts_with(rest)) return kCut;
  return kOther;
}

}  // namespace rdmaguard::readers::nccl_log
