// See exchange_session.h.
#include "verifier/nccl/exchange_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>

namespace rdmaguard::nccl {
namespace {

using std::chrono::milliseconds;

// Of what blocks within the transport: an emulated link is slow with the largest messages.
constexpr milliseconds kLongestHca{120'000};

milliseconds longestHca(milliseconds timeout, double seconds) {
  return kLongestHca + 2 * timeout + milliseconds(std::llround(seconds * 3000));
}

ExchangeHca hcaAt(const std::vector<ExchangeHca>& all, int index) {
  return index >= 0 ? all[static_cast<std::size_t>(index)] : ExchangeHca{};
}

/// Why this pair need not be tried; empty: it is.
std::string hopeless(const HcaResult& r, const ExchangeHca& mine, const ExchangeHca& theirs,
                     const SessionSide& side) {
  if (r.peerName.empty())
    return fmt::format("The other side ({}) has no HCA left for it: {} there, {} here.",
                       side.theirs.host, side.theirs.hcas.size(), side.mine.hcas.size());
  if (r.name.empty())
    return fmt::format("This side has no HCA left for it: {} here, {} on {}.",
                       side.mine.hcas.size(), side.theirs.hcas.size(), side.theirs.host);
  if (!mine.linkLayer.empty() && !theirs.linkLayer.empty() && mine.linkLayer != theirs.linkLayer)
    return fmt::format("They are on two kinds of network: {} is {}, {} on {} is {}.",
                       portName(mine), mine.linkLayer, portName(theirs), side.theirs.host,
                       theirs.linkLayer);
  return "";
}

HcaResult resultFor(const ExchangeHca& mine, const ExchangeHca& theirs) {
  HcaResult r;
  r.name = mine.name;
  r.port = mine.port;
  r.peerName = theirs.name;
  r.peerPort = theirs.port;
  const int slower = mine.speedMbps > 0 && theirs.speedMbps > 0
                         ? std::min(mine.speedMbps, theirs.speedMbps)
                         : std::max(mine.speedMbps, theirs.speedMbps);
  r.lineRateGbps = slower / 1000.0;
  return r;
}

}  // namespace

milliseconds longestSession(milliseconds timeout, double seconds) {
  return static_cast<int>(kMostHcas) * longestHca(timeout, seconds);
}

bool runSession(Net& net, Control& control, const SessionSide& side, const OnStep& step,
                const OnResult& result) {
  const Hello& connecting = side.connecting ? side.mine : side.theirs;
  const Hello& listening = side.connecting ? side.theirs : side.mine;
  const ExchangeShape& shape = connecting.shape;
  const milliseconds most = longestHca(shape.timeout, shape.seconds);
  bool allClosed = true;
  std::exception_ptr lost;  // the other side is; the rest is only named
  std::uint64_t index = 0;
  for (const HcaPair& pair : pairUp(connecting.hcas, listening.hcas)) {
    const int own = side.connecting ? pair.connecting : pair.listening;
    const int other = side.connecting ? pair.listening : pair.connecting;
    const ExchangeHca mine = hcaAt(side.mine.hcas, own);
    const ExchangeHca theirs = hcaAt(side.theirs.hcas, other);
    HcaResult r = resultFor(mine, theirs);
    r.failure = hopeless(r, mine, theirs, side);
    if (lost) {
      r.failure = "Not tried: the other side was lost before.";
    } else if (r.failure.empty()) {
      step(fmt::format("{} and {} of {} exchanged messages", portName(mine), portName(theirs),
                       side.theirs.host),
           most);
      try {
        const HcaTask task{side.devices[static_cast<std::size_t>(own)], index, side.connecting,
                           shape};
        allClosed = exchangeHca(net, control, task, r) && allClosed;
      } catch (const PeerFailure& e) {
        r.failure = e.what();
        lost = std::current_exception();
      }
    }
    result(r);
    ++index;
  }
  if (lost) std::rethrow_exception(lost);
  return allClosed;
}

}  // namespace rdmaguard::nccl
