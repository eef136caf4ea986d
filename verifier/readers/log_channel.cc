// See log_channel.h. Written for speed: one pass, no allocation.
#include "verifier/readers/log_channel.h"

#include <cstring>

#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {
namespace {

// A cursor that never runs past its end.
struct Cursor {
  const char* at;
  const char* end;

  bool done() const { return at == end; }
  char peek() const { return at == end ? '\0' : *at; }
  std::string_view rest() const { return {at, static_cast<std::size_t>(end - at)}; }

  template <std::size_t N>
  bool words(const char (&text)[N]) {
    constexpr std::size_t n = N - 1;
    if (static_cast<std::size_t>(end - at) < n || std::memcmp(at, text, n) != 0) return false;
    at += n;
    return true;
  }
  /// The rest is a beginning of `text`: it was cut off within.
  template <std::size_t N>
  bool cutWithin(const char (&text)[N]) const {
    const auto left = static_cast<std::size_t>(end - at);
    return left < N - 1 && std::memcmp(at, text, left) == 0;
  }
  bool number(int& out) {
    const char* const first = at;
    unsigned value = 0;
    while (at != end && isDigitChar(*at) && at - first < 9)
      value = value * 10 + static_cast<unsigned>(*at++ - '0');
    out = static_cast<int>(value);
    return at != first && !(at != end && isDigitChar(*at));
  }
  void blanks() {
    while (at != end && *at == ' ') ++at;
  }
};

/// "7[3]", "7[1e000]" or "7": a rank and which GPU it has.
[[gnu::always_inline]] inline bool takeEnd(Cursor& c, int& rank) {
  if (!c.number(rank)) return false;
  if (c.peek() != '[') return true;
  const char* p = c.at + 1;
  while (p != c.end && isHexChar(*p)) ++p;
  if (p == c.end || *p != ']') return false;
  c.at = p + 1;
  return true;
}

/// "NET/IB/0Loading ...", "NET/IB/0/GDRLoading ...": another writer's text stands where the line
/// would say how, or the line ended there.
bool brokeOff(const Cursor& c) {
  const char next = c.peek();
  return (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z') || c.rest().starts_with("/G");
}

/// "IB/0(4)/GDRDMA(PCI)/Shared/flush=Always": the network's name ends where "/<number>" follows.
Parsed takeNetwork(Cursor& c, ChannelLine& out) {
  const char* const first = c.at;
  const char* slash = nullptr;
  for (const char* p = first; p != c.end; ++p) {
    if (*p == '\x1b') return Parsed::Other;
    if (*p != '/') continue;
    slash = p;
    if (p + 1 == c.end || isDigitChar(p[1])) break;
    slash = nullptr;
  }
  if (slash == nullptr || slash == first) return Parsed::Cut;
  out.network = {first, static_cast<std::size_t>(slash - first)};
  c.at = slash + 1;
  if (c.done()) return Parsed::Cut;
  c.number(out.device);
  if (c.peek() == '(') {
    const char* p = c.at + 1;
    while (p != c.end && isDigitChar(*p)) ++p;
    if (p == c.end || *p != ')') return Parsed::Whole;
    out.pxn = true;
    c.at = p + 1;
  }
  if (c.done()) return Parsed::Whole;
  if (c.words("/GDRDMA"))
    out.gdr = true;
  else if (brokeOff(c))
    return Parsed::Cut;
  c.words("(PCI)");
  c.words("/Shared");
  while (c.peek() == '/') {
    const char* p = c.at + 1;
    // A colour stands between: the caller takes those off and asks again.
    while (p != c.end && *p != '/' && *p != ' ' && *p != '\x1b') ++p;
    // "NET/IB/0/" stops before what may be GDRDMA.
    if (p == c.at + 1) return Parsed::Cut;
    if (std::string_view(c.at, static_cast<std::size_t>(p - c.at)) == "/GDRDMA") out.gdr = true;
    c.at = p;
  }
  return Parsed::Whole;
}

bool cutWithinVia(const Cursor& c) {
  return c.cutWithin(" [receive] via NET/") || c.cutWithin(" [send] via NET/") ||
         c.cutWithin(" via NET/") || c.cutWithin(" via P2P/") || c.cutWithin(" via SHM/") ||
         c.cutWithin(" [receive] via COLLNET/") || c.cutWithin(" [send] via COLLNET/");
}

}  // namespace

Parsed parseChannel(std::string_view text, ChannelLine& out) noexcept {
  Cursor c{text.data(), text.data() + text.size()};
  bool collNet = false;
  if (!c.words("Channel ") && !c.words("Ring ")) {
    if (!c.words("CollNet "))
      return !text.empty() && (c.cutWithin("Channel ") || c.cutWithin("CollNet ")) ? Parsed::Cut
                                                                                   : Parsed::Other;
    collNet = true;
  }
  int number = 0;
  if (!c.number(number)) return c.done() ? Parsed::Cut : Parsed::Other;
  if (c.peek() == '/') {
    ++c.at;
    if (!c.number(number)) return c.done() ? Parsed::Cut : Parsed::Other;
  }
  if (!c.words(" : ")) return c.cutWithin(" : ") ? Parsed::Cut : Parsed::Other;
  if (c.peek() == ' ') return Parsed::Other;  // a ring's order
  if (!takeEnd(c, out.from)) return c.done() || c.peek() == '[' ? Parsed::Cut : Parsed::Other;
  if (collNet) {
    out.to = out.from;
  } else {
    if (!c.words(" -> ")) return c.cutWithin(" -> ") ? Parsed::Cut : Parsed::Other;
    if (!takeEnd(c, out.to)) return c.done() || c.peek() == '[' ? Parsed::Cut : Parsed::Other;
  }
  bool named = true;
  if (c.words(" [receive]"))
    out.end = ChannelLine::End::Receive;
  else if (c.words(" [send]"))
    out.end = ChannelLine::End::Send;
  else
    named = false;
  if (!c.words(" via "))
    return cutWithinVia(c) || c.cutWithin(" via ") ? Parsed::Cut : Parsed::Other;
  Parsed parsed = Parsed::Whole;
  if (c.words("NET/")) {
    out.via = ChannelLine::Via::Net;
    if (!named) return Parsed::Other;
    parsed = takeNetwork(c, out);
  } else if (c.words("COLLNET/")) {
    out.via = ChannelLine::Via::CollNet;
    parsed = takeNetwork(c, out);
  } else if (c.words("P2P/") || c.words("SHM/") || c.words("SHM") || c.words("NVLS") ||
             c.words("direct shared memory") || c.words("NVB/")) {
    out.via = ChannelLine::Via::Local;
    out.mnnvl = c.words("MNNVL");
    // "P2P/direct pointer", "SHM/direct/direct", "P2P/indirect/1[1]": how says no more.
    const auto comm = c.rest().find(" comm 0x");
    c.at = comm == std::string_view::npos ? c.end : c.at + comm;
  } else {
    return c.cutWithin("NET/") || c.cutWithin("P2P/") || c.cutWithin("SHM/") ||
                   c.cutWithin("COLLNET/")
               ? Parsed::Cut
               : Parsed::Other;
  }
  if (parsed != Parsed::Whole) return parsed;
  c.blanks();
  out.whole = c.done();
  if (c.words("comm 0x")) {
    const char* const first = c.at - 2;
    while (!c.done() && isHexChar(*c.at)) ++c.at;
    out.comm = {first, static_cast<std::size_t>(c.at - first)};
  }
  return Parsed::Whole;
}

}  // namespace rdmaguard::readers::nccl_log
