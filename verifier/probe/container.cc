// What readWholeNode adds of the container: /dev/shm, and whether the device cgroup lets it have
// the device nodes. See sources.h. Sources: Linux Documentation/filesystems/tmpfs.rst and
// admin-guide/cgroup-v1/devices.rst. The device filter of cgroup v2 is a BPF program, which
// nothing in the file system shows.
#include <sys/statvfs.h>

#include <algorithm>
#include <array>

#include "verifier/engine/text.h"
#include "verifier/probe/numbers.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::SharedMemory;

constexpr std::string_view kShm = "/dev/shm";
constexpr std::string_view kMounts = "/proc/self/mounts";
constexpr std::string_view kCgroup = "/sys/fs/cgroup/devices";

std::string_view takeWord(std::string_view& line, char separator) {
  const auto end = line.find(separator);
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

struct Mount {
  std::string_view type, options;
};

// The last line counts: it lies over the ones before.
std::optional<Mount> mountAt(std::string_view table, std::string_view where) {
  std::optional<Mount> found;
  while (!table.empty()) {
    std::string_view line = takeWord(table, '\n');
    takeWord(line, ' ');
    if (takeWord(line, ' ') != where) continue;
    Mount m;
    m.type = takeWord(line, ' ');
    m.options = takeWord(line, ' ');
    found = m;
  }
  return found;
}

// The kernel writes "size=65536k"; a tmpfs without it may fill half of the memory.
std::optional<std::uint64_t> tmpfsSize(const Tree& tree, std::string_view options) {
  while (!options.empty()) {
    const std::string_view option = takeWord(options, ',');
    if (!option.starts_with("size=") || !option.ends_with('k')) continue;
    if (const auto kib = number(option.substr(5)); kib && *kib < UINT64_MAX >> 10U)
      return *kib << 10U;
  }
  const std::string memory = tree.line("/proc/meminfo");
  if (!memory.starts_with("MemTotal:")) return std::nullopt;
  const auto kib =
      number(memory.substr(std::min(memory.find_first_of("0123456789"), memory.size())));
  if (!kib || *kib >= UINT64_MAX >> 10U) return std::nullopt;
  return (*kib << 10U) / 2;
}

void readShm(const Tree& tree, SharedMemory& shm) {
  const auto table = tree.read(kMounts, 1 << 20);
  if (!table) return;
  shm.known = true;
  shm.source = kMounts;
  const auto mount = mountAt(*table, kShm);
  shm.mounted = mount.has_value();
  if (mount && mount->type == "tmpfs") shm.sizeBytes = tmpfsSize(tree, mount->options);
  struct statvfs s {};
  if (!tree.live() || statvfs(kShm.data(), &s) != 0) return;
  shm.source = cat("statvfs(", kShm, ")");
  shm.sizeBytes = static_cast<std::uint64_t>(s.f_frsize) * s.f_blocks;
  shm.freeBytes = static_cast<std::uint64_t>(s.f_frsize) * s.f_bavail;
}

// "4:devices:/kubepods/pod1" -> "/kubepods/pod1"; nothing where no v1 hierarchy holds devices.
std::optional<std::string> devicesGroup(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = takeWord(text, '\n');
    takeWord(line, ':');
    std::string_view controllers = takeWord(line, ':');
    while (!controllers.empty())
      if (takeWord(controllers, ',') == "devices") return std::string(line);
  }
  return std::nullopt;
}

bool covers(std::string_view pattern, std::string_view value) {
  return pattern == "*" || pattern == value;
}

// "a *:* rwm" or "c 231:192 rw"; NCCL opens nodes for reading and writing.
bool allows(std::string_view list, std::string_view node) {
  std::string_view major = node;
  const std::string_view wantedMajor = takeWord(major, ':'), wantedMinor = major;
  while (!list.empty()) {
    std::string_view line = takeWord(list, '\n');
    const std::string_view kind = takeWord(line, ' ');
    std::string_view numbers = takeWord(line, ' ');
    const std::string_view first = takeWord(numbers, ':');
    const bool both =
        line.find('r') != std::string_view::npos && line.find('w') != std::string_view::npos;
    if (kind == "a" && covers(first, wantedMajor)) return true;
    if (kind == "c" && both && covers(first, wantedMajor) && covers(numbers, wantedMinor))
      return true;
  }
  return false;
}

void readDeviceCgroup(const Tree& tree, engine::NodeFacts& node) {
  const auto group = devicesGroup(tree.read("/proc/self/cgroup").value_or(""));
  if (!group) return;
  // In a container its own group is often mounted as the whole hierarchy.
  for (const std::string& folder : {cat(kCgroup, *group), std::string(kCgroup)}) {
    const std::string path = cat(folder, folder.ends_with('/') ? "" : "/", "devices.list");
    const auto list = tree.read(path);
    if (!list) continue;
    node.cgroupDevices = path;
    for (engine::RdmaDevice& d : node.devices)
      if (!d.nodeNumber.empty()) d.cgroupAllows = allows(*list, d.nodeNumber);
    return;
  }
}

}  // namespace

void readContainer(const Tree& tree, engine::NodeFacts& node) {
  for (engine::RdmaDevice& d : node.devices) {
    if (d.uverbs.empty()) continue;
    const std::string verbs = cat("/sys/class/infiniband_verbs/", d.uverbs);
    d.nodeNumber = tree.line(cat(verbs, "/dev"));
    d.driverAbi = leadingNumber(tree.line(cat(verbs, "/abi_version")), 0);
  }
  readShm(tree, node.shm);
  readDeviceCgroup(tree, node);
}

}  // namespace rdmaguard::probe
