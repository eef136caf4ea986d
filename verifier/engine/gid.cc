// See gid.h.
#include "verifier/engine/gid.h"

#include <arpa/inet.h>

#include <algorithm>

#include "verifier/engine/settings.h"

namespace rdmaguard::engine {
namespace {

constexpr int kSearchSince = 22100;  // before, NCCL_IB_GID_INDEX is 0 unless set
constexpr std::size_t kTextLength = 39;

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool zeroBetween(const Gid& gid, std::size_t from, std::size_t to) {
  return std::all_of(gid.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                     gid.bytes.begin() + static_cast<std::ptrdiff_t>(to),
                     [](std::uint8_t b) { return b == 0; });
}

// NCCL's validGid: configured, and not link-local.
bool valid(const Gid* gid) {
  return gid && !isZero(*gid) && !isLinkLocal(*gid);
}

bool ipv4(const Gid* gid) {
  return gid && isIpv4(*gid);
}

int version(const Gid* gid) {
  return gid ? roceVersion(*gid) : 0;
}

}  // namespace

std::optional<std::array<std::uint8_t, 16>> parseGid(std::string_view text) noexcept {
  if (text.size() != kTextLength) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 5 == 4) {
      if (text[i] != ':') return std::nullopt;
      continue;
    }
    const int digit = hexDigit(text[i]);
    if (digit < 0) return std::nullopt;
    bytes[digits / 2] = static_cast<std::uint8_t>(bytes[digits / 2] * 16 + digit);
    ++digits;
  }
  return bytes;
}

std::string gidText(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, gid.bytes.data(), text.data(), text.size()) ? text.data() : "?";
}

bool isZero(const Gid& gid) noexcept {
  return zeroBetween(gid, 0, 16);
}

bool isLinkLocal(const Gid& gid) noexcept {
  return gid.bytes[0] == 0xfe && gid.bytes[1] == 0x80 && zeroBetween(gid, 2, 8);
}

bool isIpv4(const Gid& gid) noexcept {
  return gid.bytes[10] == 0xff && gid.bytes[11] == 0xff && zeroBetween(gid, 0, 10);
}

int roceVersion(const Gid& gid) noexcept {
  if (gid.type.starts_with("IB/RoCE v1") || gid.type.starts_with("RoCE v1")) return 1;
  return gid.type.starts_with("RoCE v2") ? 2 : 0;
}

const Gid* gidAt(const RdmaPort& port, int index) noexcept {
  const auto at = std::find_if(port.gids.begin(), port.gids.end(),
                               [index](const Gid& g) { return g.index == index; });
  return at == port.gids.end() ? nullptr : &*at;
}

std::optional<GidChoice> chosenGid(const RdmaPort& port, std::span<const Setting> settings,
                                   int ncclVersion) {
  const auto number = [settings](std::string_view name, long long otherwise) {
    const Setting* s = find(settings, name);
    return s ? numberValue(s->value).value_or(otherwise) : otherwise;
  };
  if (!port.gidsKnown) return std::nullopt;
  const bool searches = ncclVersion == 0 || ncclVersion >= kSearchSince;
  const Setting* set = find(settings, "NCCL_IB_GID_INDEX");
  const long long wanted = number("NCCL_IB_GID_INDEX", searches ? -1 : 0);
  if (!searches && !set) return GidChoice{0, GidChoice::By::Default, false};
  if (wanted >= 0)
    return GidChoice{static_cast<int>(std::min<long long>(wanted, 1 << 30)), GidChoice::By::Setting,
                     false};
  if (!searches) return std::nullopt;  // a negative index reaches ibv_query_gid as it is
  const Setting* range = find(settings, "NCCL_IB_ADDR_RANGE");
  if ((range && !range->value.empty()) || !port.gidTypesKnown) return std::nullopt;

  const Setting* family = find(settings, "NCCL_IB_ADDR_FAMILY");
  GidChoice choice;
  choice.ipv6 = family && family->value == "AF_INET6";
  const auto wantedFamily = [&choice](const Gid* gid) { return ipv4(gid) != choice.ipv6; };
  const long long wantedVersion = number("NCCL_IB_ROCE_VERSION_NUM", 2);
  for (const Gid& candidate : port.gids) {
    if (candidate.index == 0) continue;
    const Gid* current = gidAt(port, choice.index);
    const bool familyChanges = ipv4(&candidate) != ipv4(current);
    bool take = familyChanges && wantedFamily(&candidate);
    if (!take && wantedFamily(&candidate) && valid(&candidate))
      take = (version(current) != version(&candidate) || !valid(current)) &&
             version(&candidate) == wantedVersion;
    if (take) choice.index = candidate.index;
  }
  const Gid* taken = gidAt(port, choice.index);
  if (valid(taken) && wantedFamily(taken) && version(taken) == wantedVersion)
    choice.by = GidChoice::By::Search;
  return choice;
}

}  // namespace rdmaguard::engine
