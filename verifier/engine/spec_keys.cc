// See spec_keys.h.
#include "verifier/engine/spec_keys.h"

#include <algorithm>
#include <array>
#include <string>

namespace rdmaguard::engine {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

template <typename List>
bool holdsAny(std::string_view text, const List& list) {
  return std::any_of(list.begin(), list.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// Goes over the words of a name: letters, and digits behind them.
template <typename Visit>
bool anyToken(std::string_view name, Visit visit) {
  std::size_t at = 0;
  while (at < name.size()) {
    const auto isPart = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    while (at < name.size() && !isPart(name[at])) ++at;
    std::size_t end = at;
    while (end < name.size() && isPart(name[end])) ++end;
    if (end > at && visit(name.substr(at, end - at))) return true;
    at = end;
  }
  return false;
}

// "ib", "ib0", "ibs1", "ibp0": InfiniBand's short name and device names that begin with it.
bool isIbToken(std::string_view token) {
  if (!token.starts_with("ib")) return false;
  token.remove_prefix(2);
  if (token.empty()) return true;
  if (token[0] == 'p' || token[0] == 's') token.remove_prefix(1);
  return !token.empty() &&
         std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// GPU models that sites name resources after.
constexpr std::array<std::string_view, 22> kGpuModels{
    "a100",  "a800", "h100", "h200", "h800", "h20", "b100", "b200",  "b300",  "gb200",  "gb300",
    "gh200", "l40",  "l40s", "v100", "a10",  "a30", "a40",  "mi250", "mi300", "mi300x", "t4"};

// Devices that no one takes for a NIC.
constexpr std::array<std::string_view, 18> kOther{
    "fuse",    "kvm",    "vhost",    "imex",    "hugepages", "storage",
    "license", "gpumem", "gpucores", "gpu-mem", "gpu-core",  "tun",
    "ppp",     "snd",    "video",    "dri",     "ephemeral", "sgx"};

// One insertion, deletion, replacement or swap of neighbours apart, and not the same.
bool oneSlip(std::string_view a, std::string_view b) {
  if (a == b) return false;
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  std::size_t same = 0;
  while (same < a.size() && a[same] == b[same]) ++same;
  if (a.size() != b.size()) return a.substr(same) == b.substr(same + 1);
  if (a.substr(same + 1) == b.substr(same + 1)) return true;
  return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] &&
         a.substr(same + 2) == b.substr(same + 2);
}

}  // namespace

bool saysRdma(std::string_view name) noexcept {
  const std::string text = lowered(name);
  static constexpr std::array<std::string_view, 4> kWords{"rdma", "roce", "infiniband", "hca"};
  return holdsAny(text, kWords) || anyToken(text, isIbToken);
}

bool holdsWord(std::string_view text, std::string_view word) noexcept {
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

bool looksMistyped(std::string_view key) noexcept {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  return oneSlip(lowered(key.substr(0, slash)), "rdma");
}

ResourceKind resourceKind(std::string_view key) noexcept {
  const std::string text = lowered(key);
  const auto slash = text.find('/');
  // An extended resource has a domain.
  if (slash == std::string::npos)
    return text == "rdma" || text == "ib" || saysRdma(text) ? ResourceKind::Unknown
                                                            : ResourceKind::Plain;
  const std::string domain = text.substr(0, slash);
  const std::string name = text.substr(slash + 1);
  if (domain == "vpc.amazonaws.com" && name == "efa") return ResourceKind::Efa;
  if (text == "rdma/ib") return ResourceKind::Rdma;
  if ((domain == "nvidia.com" || domain == "amd.com") &&
      (name == "gpu" || name.starts_with("gpu.shared") || name.starts_with("mig-") ||
       name == "pgpu"))
    return ResourceKind::Gpu;
  if (looksMistyped(key)) return ResourceKind::Unknown;
  // The address of a GKE network comes beside its device.
  if (name.ends_with(".ip")) return ResourceKind::Plain;
  if (saysRdma(name) || domain == "rdma" || domain.find("rdma") != std::string::npos)
    return ResourceKind::SiteRdma;
  if (holdsAny(name, kOther)) return ResourceKind::Plain;
  const auto isModel = [](std::string_view token) {
    return std::find(kGpuModels.begin(), kGpuModels.end(), token) != kGpuModels.end();
  };
  if (name.find("gpu") != std::string::npos || anyToken(name, isModel) ||
      domain.starts_with("gpu.") || domain == "habana.ai")
    return ResourceKind::SiteGpu;
  return ResourceKind::Unknown;
}

}  // namespace rdmaguard::engine
