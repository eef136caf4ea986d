// Events of a node: NVIDIA's driver, RDMA and Ethernet links, storage. The words are those of
// the kernel's log.
#include <algorithm>
#include <array>

#include "verifier/readers/event_pattern.h"

namespace rdmaguard::readers {
namespace {

using engine::Event;
using engine::Phase;

bool isPciChar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
         c == '.';
}

// "NVRM: Xid (PCI:0000:1b:00): 79, pid=3301, name=python3, GPU has fallen off the bus."
// "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
bool readXid(std::string_view text, Event& e) {
  const bool nvswitch = has(text, "SXid");
  std::string_view behind = after(text, nvswitch ? "SXid (" : "Xid (");
  if (behind.starts_with("PCI:")) behind.remove_prefix(4);
  const std::string_view device = upTo(behind, ")");
  if (device.size() > 20 || !std::all_of(device.begin(), device.end(), isPciChar)) return false;
  behind.remove_prefix(std::min(behind.size(), device.size() + 1));
  while (!behind.empty() && (behind.front() == ':' || behind.front() == ' '))
    behind.remove_prefix(1);
  const long number = numberAt(behind);
  if (number < 0 || number > 999'999) return false;
  e.id = (nvswitch ? "sxid-" : "xid-") + std::to_string(number);
  e.device = std::string(device);
  std::string_view words = after(behind, ", ");
  for (const std::string_view key : {"pid=", "name="})
    if (words.starts_with(key)) {
      if (key == "pid=") e.pid = std::max(0L, numberAt(words.substr(key.size()), 0));
      words = after(words, ", ");
    }
  e.detail = brief(words);
  return true;
}

// Drivers of NICs that carry RDMA.
constexpr std::array<std::string_view, 10> kRdmaDrivers{
    "mlx5_core", "mlx5_ib", "mlx4_core", "mlx4_en", "bnxt_en",
    "bnxt_re",   "ice",     "irdma",     "ionic",   "hns3"};

// "mlx5_core 0002:03:00.0 net4: Link down", "bnxt_en 0000:17:00.0 ens1f0np0: NIC Link is Down",
// "mlx5_core 0000:0c:00.0: Port module event: module 0, Cable unplugged". Only drivers that may
// carry RDMA: what a container's veth or a front-end port does is another matter.
bool readLink(std::string_view text, Event& e) {
  std::string_view driver, rest;
  for (const std::string_view name : kRdmaDrivers) {
    const auto at = text.find(name);
    if (at == std::string_view::npos || (at > 0 && text[at - 1] != ' ' && text[at - 1] != ']'))
      continue;
    rest = text.substr(at + name.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != ':')) continue;
    driver = name;
    break;
  }
  if (driver.empty()) return false;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const std::string_view pci = upTo(rest, " ");
  // "0002:03:00.0 net4: ..." names the interface, "0000:0c:00.0: ..." does not.
  std::string_view name = after(rest, " ");
  name = upTo(name, ": ");
  const bool named = !pci.ends_with(':') && !name.empty() && name.size() < 32;
  e.device = named ? std::string(name)
                   : std::string(pci.substr(0, pci.size() - (pci.ends_with(':') ? 1 : 0)));
  e.detail = std::string(driver) + " " + std::string(pci);
  if (e.detail.ends_with(':')) e.detail.pop_back();
  return true;
}

bool readRest(std::string_view text, Event& e) {
  e.detail = brief(text);
  return true;
}

bool readHung(std::string_view text, Event& e) {
  e.detail = brief(after(text, "task "));
  return true;
}

constexpr auto kNode = Family::Node;
constexpr auto kOther = Phase::Other;
constexpr std::array kPatterns{
    Pattern{"", kNode, kOther, "Xid (", {}, {}, true, readXid},
    Pattern{"nvswitch-fault", kNode, kOther, "NVSwitch", "fatal", {}, true, readRest},
    Pattern{"nvswitch-fault", kNode, kOther, "nv-fabricmanager", "rror", {}, true, readRest},
    Pattern{
        "gpu-fell-off-bus", kNode, kOther, "GPU has fallen off the bus", {}, "Xid", true, readRest},
    Pattern{"link-down", kNode, kOther, "Link down", {}, {}, true, readLink},
    Pattern{"link-down", kNode, kOther, "link down", {}, {}, true, readLink},
    Pattern{"link-down", kNode, kOther, "Link is Down", {}, {}, true, readLink},
    Pattern{"link-down", kNode, kOther, "Cable unplugged", {}, {}, true, readLink},
    Pattern{"link-up", kNode, kOther, "Link up", {}, {}, false, readLink},
    Pattern{"link-up", kNode, kOther, "link up", {}, {}, false, readLink},
    Pattern{"link-up", kNode, kOther, "Link is Up", {}, {}, false, readLink},
    Pattern{"link-up", kNode, kOther, "Cable plugged", {}, {}, false, readLink},
    Pattern{"nic-firmware-fault", kNode, kOther, "health compromised", {}, {}, true, readLink},
    Pattern{"nic-firmware-fault", kNode, kOther, "irmware fatal", "mlx", {}, true, readRest},
    Pattern{"storage-stalled", kNode, kOther, "not responding", "nfs", {}, true, readRest},
    Pattern{"storage-stalled", kNode, kOther, "Lustre", "was lost", {}, true, readRest},
    Pattern{"storage-stalled", kNode, kOther, "tale file handle", {}, {}, true, readRest},
    Pattern{"hung-task", kNode, kOther, "blocked for more than", "task ", {}, true, readHung},
};

}  // namespace

std::span<const Pattern> nodePatterns() noexcept {
  return kPatterns;
}

}  // namespace rdmaguard::readers
