// See exchange_meeting.h.
#include "verifier/nccl/exchange_meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rdmaguard::nccl {
namespace {

// The other side introduces itself as soon as it is connected.
constexpr std::chrono::seconds kHelloLimit{5};

Meeting exchangeHellos(Control control, const Hello& mine, Deadline until) {
  control.send(toJson(mine), until);
  auto theirs = helloOf(control.receive(until));
  if (!theirs)
    throw PeerFailure(
        fmt::format("The other side ({}) did not begin with a hello.", control.peer()));
  return {std::move(control), std::move(*theirs)};
}

}  // namespace

Meeting awaitPeer(const Listener& listener, const Hello& mine, Deadline until) {
  const auto begun = Clock::now();
  std::size_t strangers = 0;
  std::string last;
  for (;;) {
    try {
      Control control = acceptFrom(listener, until);
      try {
        return exchangeHellos(std::move(control), mine,
                              std::min<Deadline>(until, Clock::now() + kHelloLimit));
      } catch (const OtherProtocol&) {
        throw;
      } catch (const PeerFailure& stranger) {
        ++strangers;
        last = stranger.what();
      }
    } catch (const OtherProtocol&) {
      throw;
    } catch (const PeerFailure&) {
      if (strangers == 0) throw;
      throw PeerFailure(fmt::format(
          "No other side came to port {} within {}; {} came that did not introduce itself. {}",
          listener.port, secondsText(Clock::now() - begun),
          strangers == 1 ? std::string("one") : std::to_string(strangers), last));
    }
  }
}

Meeting visitPeer(const std::string& host, int port, const Hello& mine, Deadline until) {
  return exchangeHellos(connectTo(host, port, until), mine, until);
}

}  // namespace rdmaguard::nccl
