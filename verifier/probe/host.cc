// The node around the devices: limits, GPUDirect RDMA's needs, container, interfaces. See
// sources.h.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "verifier/engine/text.h"
#include "verifier/probe/numbers.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::MemLock;
using engine::NetInterface;

constexpr unsigned kIpcLockBit = 14;  // CAP_IPC_LOCK, linux/capability.h

std::string_view afterBlanks(std::string_view s) {
  s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
  return s;
}

// The rest of the line that begins with `key`.
std::optional<std::string_view> lineOf(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(key)) return afterBlanks(line.substr(key.size()));
    at = end + 1;
  }
  return std::nullopt;
}

void readMemlock(const Tree& tree, MemLock& m) {
  m.source = "/proc/self/limits";
  const std::string limits = tree.read(m.source).value_or("");
  const auto line = lineOf(limits, "Max locked memory");
  if (!line) return;
  const auto value = [](std::string_view word) {
    return word.starts_with("unlimited") ? MemLock::kUnlimited : number(word).value_or(0);
  };
  const std::string_view hard = afterBlanks(line->substr(std::min(line->find(' '), line->size())));
  m.softBytes = value(*line);
  m.hardBytes = value(hard);
  m.known = true;
  const std::string status = tree.read("/proc/self/status").value_or("");
  if (const auto caps = lineOf(status, "CapEff:"))
    if (const auto bits = number(*caps, 16)) m.ipcLock = (*bits >> kIpcLockBit) & 1u;
}

// "580.82.07" in either form of the driver's own line.
std::string driverVersion(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    const auto end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos)
      return std::string(word);
    at = end + 1;
  }
  return {};
}

void readGdr(const Tree& tree, engine::GdrFacts& g) {
  g.known = tree.exists("/sys/module");
  for (const char* path :
       {"/sys/module/nvidia_peermem/version", "/sys/kernel/mm/memory_peers/nv_mem/version",
        "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
        "/sys/kernel/mm/memory_peers/nvidia-peermem/version"})
    if (tree.exists(path)) g.peermem.emplace_back(path);
  const std::string version = tree.line("/proc/driver/nvidia/version");
  if (!version.empty()) {
    g.nvidiaDriver = driverVersion(version);
    g.openModules = version.find("Open Kernel Module") != std::string::npos;
  }
  if (const auto gpus = tree.list("/proc/driver/nvidia/gpus"))
    g.gpus = static_cast<int>(gpus->size());
}

std::string containerOf(const Tree& tree, const ProbeOptions& options) {
  if (!environmentValue(options, "KUBERNETES_SERVICE_HOST").empty() ||
      tree.exists("/var/run/secrets/kubernetes.io"))
    return "kubernetes";
  if (!environmentValue(options, "APPTAINER_CONTAINER").empty() ||
      !environmentValue(options, "SINGULARITY_CONTAINER").empty())
    return "apptainer";
  if (tree.exists("/.dockerenv")) return "docker";
  if (tree.exists("/run/.containerenv")) return "podman";
  return environmentValue(options, "container");
}

std::string addressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  else if (address->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof text);
  return text;
}

struct FreeAddresses {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

void addAddresses(engine::NodeFacts& node) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  const std::unique_ptr<ifaddrs, FreeAddresses> list(first);
  for (NetInterface& i : node.interfaces) i.addressesKnown = true;
  for (const ifaddrs* a = first; a; a = a->ifa_next) {
    if (!a->ifa_addr) continue;
    const auto i = std::find_if(node.interfaces.begin(), node.interfaces.end(),
                                [a](const NetInterface& n) { return n.name == a->ifa_name; });
    if (i == node.interfaces.end()) continue;
    i->running = a->ifa_flags & IFF_RUNNING;
    if (std::string text = addressText(a->ifa_addr); !text.empty())
      i->addresses.push_back(std::move(text));
  }
}

}  // namespace

void readHost(const Tree& tree, const ProbeOptions& options, engine::NodeFacts& node) {
  node.hostname = tree.line("/proc/sys/kernel/hostname");
  node.kernelRelease = tree.line("/proc/sys/kernel/osrelease");
  node.container = containerOf(tree, options);
  readMemlock(tree, node.memlock);
  readGdr(tree, node.gdr);
}

void readInterfaces(const Tree& tree, engine::NodeFacts& node) {
  const auto names = tree.list("/sys/class/net");
  if (!names) return;
  node.interfacesKnown = true;
  for (const std::string& name : *names) {
    NetInterface i;
    i.name = name;
    i.source = cat("/sys/class/net/", name);
    if (!tree.exists(cat(i.source, "/flags"))) continue;  // bonding_masters is a file
    const std::string flags = tree.line(cat(i.source, "/flags"));
    const std::string state = tree.line(cat(i.source, "/operstate"));
    i.up = number(std::string_view(flags).substr(std::min<std::size_t>(2, flags.size())), 16)
               .value_or(0) &
           IFF_UP;
    // sysfs never shows IFF_RUNNING; the kernel makes it of these two.
    i.running = i.up && (state == "up" || state == "unknown");
    if (const auto speed = number(tree.line(cat(i.source, "/speed"))))
      i.speedMbps = static_cast<std::int64_t>(*speed);
    node.interfaces.push_back(std::move(i));
  }
  if (tree.live()) addAddresses(node);
}

}  // namespace rdmaguard::probe
