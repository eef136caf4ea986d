// See log_devices.h.
#include "verifier/readers/log_devices.h"

#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {
namespace {

using engine::ListedDevice;

bool isNameChar(char c) {
  return isHostNameChar(c) || c == '+' || c == '@';
}

LinkLayer linkLayerOf(std::string_view text) {
  // NCCL writes "RoCE" for every link layer that is not InfiniBand; plugins write the kernel's
  // word.
  if (startsWithAnyCase(text, "roce") || startsWithAnyCase(text, "ethernet"))
    return LinkLayer::Ethernet;
  if (text == "IB" || text.starts_with("IB/") || startsWithAnyCase(text, "infiniband"))
    return LinkLayer::InfiniBand;
  return LinkLayer::Unknown;
}

/// "mlx5_0:1/RoCE", since 2.30.7 also "mlx5_0:1:rail/RoCE" and "mlx5_0:1:rail:plane/RoCE".
bool takeDevice(std::string_view& s, ListedDevice& out) {
  std::string_view rest = s;
  std::size_t n = 0;
  while (n < rest.size() && isNameChar(rest[n])) ++n;
  if (n == 0) return false;
  out.name = rest.substr(0, n);
  rest.remove_prefix(n);
  if (!takeWords(rest, ":")) return false;
  if (!takeDecimal(rest, out.port)) return false;
  for (int more = 0; more < 2 && takeWords(rest, ":"); ++more) {
    int ignored = 0;
    takeDecimal(rest, ignored);
  }
  if (!takeWords(rest, "/")) return false;
  const std::string_view layer = upTo(rest, " ,};\t[");
  if (layer.empty()) return false;
  rest.remove_prefix(layer.size());
  out.linkLayerText = upTo(layer, "/");
  out.linkLayer = linkLayerOf(layer);
  s = rest;
  return true;
}

std::string_view withoutLeadingBlanks(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == ','))
    s.remove_prefix(1);
  return s;
}

}  // namespace

DeviceList parseDevices(std::string_view text) {
  DeviceList list;
  int merged = -1;  // the number of the merged NIC whose members follow
  while (!text.empty()) {
    text = withoutLeadingBlanks(text);
    if (takeWords(text, "}")) {
      merged = -1;
      continue;
    }
    if (takeWords(text, "[RO]")) {
      list.relaxedOrdering = list.ended = list.any = true;
      continue;
    }
    if (takeWords(text, ";")) continue;
    if (takeWords(text, "OOB")) {
      list.ended = list.any = true;
      const Interface oob = firstInterface(text);
      list.interface = oob.name;
      list.address = oob.address;
      break;
    }
    std::string_view item = text;
    int index = -1;
    if (takeWords(item, "[")) {
      if (!takeDecimal(item, index) || !takeWords(item, "]")) break;
      if (takeWords(item, "={")) {
        merged = index;
        text = item;
        continue;
      }
      item = withoutLeadingBlanks(item);
    } else if (merged < 0) {
      break;
    }
    ListedDevice device;
    if (!takeDevice(item, device)) break;
    device.index = merged >= 0 ? merged : index;
    device.merged = merged >= 0;
    list.devices.push_back(std::move(device));
    list.any = true;
    text = item;
  }
  return list;
}

DeviceList parseDeviceTail(std::string_view text) {
  const auto item = text.find('[');
  if (item == std::string_view::npos || text.find("; OOB ") == std::string_view::npos) return {};
  DeviceList list = parseDevices(text.substr(item));
  list.any = list.ended && !list.devices.empty();
  return list;
}

Interface firstInterface(std::string_view text) noexcept {
  text = withoutBlanks(text);
  if (takeWords(text, "[")) {
    int index = 0;
    if (!takeDecimal(text, index) || !takeWords(text, "]")) return {};
  }
  Interface out;
  out.name = upTo(text, ":< \t");
  text.remove_prefix(out.name.size());
  if (!takeWords(text, ":")) return out;
  const auto port = text.find('<');
  // An IPv6 address holds colons; its scope is no part of who it is.
  if (port != std::string_view::npos && text.substr(0, port).find(' ') == std::string_view::npos)
    out.address = upTo(text.substr(0, port), "%");
  return out;
}

}  // namespace rdmaguard::readers::nccl_log
