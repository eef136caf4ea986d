// See exchange_hca.h.
#include "verifier/nccl/exchange_hca.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "verifier/nccl/exchange_link.h"

namespace rdmaguard::nccl {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

// The other side may be as late as its own limit, and needs a moment to say so.
constexpr milliseconds kSlack{3000};
constexpr std::uint64_t kWholeMessages = 16;  // compared byte for byte before anything is timed
constexpr std::uint64_t kFirstPings = 50;
constexpr std::uint64_t kMostPings = 100'000;
constexpr std::uint64_t kMostMessages = 1ULL << 24;  // of a round
constexpr int kMostRounds = 16;
constexpr std::size_t kMostEarly = 8;  // messages that the other side is ahead
constexpr double kPingShare = 0.2;     // of the measured seconds

/// The other side gave this HCA up.
struct OtherSideFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string hexOf(const ListenHandle& handle) {
  std::string out;
  for (const char c : handle) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<ListenHandle> handleOf(const std::string& hex) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  ListenHandle handle{};
  if (hex.size() != 2 * handle.size()) return std::nullopt;
  for (std::size_t i = 0; i < handle.size(); ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    handle[i] = static_cast<char>(high * 16 + low);
  }
  return handle;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// One HCA, one side.
class HcaExchange {
 public:
  HcaExchange(Net& net, Control& control, const HcaTask& task)
      : control_(control),
        connecting_(task.connecting),
        index_(task.index),
        shape_(task.shape),
        link_(net, task.device, task.index, task.connecting, task.shape.bytes, task.shape.timeout) {
  }

  /// From the listening to the closing. Throws PeerFailure alone.
  void run(HcaResult& out) {
    const Counting counting{*this, out};
    try {
      connect();
      if (connecting_)
        lead();
      else
        follow();
      out.failure = sentence(link_.traffic().wrong);
      clean_ = true;
    } catch (const PeerFailure&) {
      throw;
    } catch (const std::exception& e) {
      out.failure = sentence(e.what());
    }
    say({{"is", "end"},
         {"failure", out.failure},
         {"gbps", bandwidthGbps_},
         {"us", latencyUs_},
         {"clean", clean_}});
    settle(out);
  }

  bool closed() const { return closed_; }

 private:
  /// The counts belong to the result however the exchange ends.
  struct Counting {
    const HcaExchange& of;
    HcaResult& out;
    ~Counting() {
      const Traffic& t = of.link_.traffic();
      out.sentBytes = t.sentBytes;
      out.receivedBytes = t.receivedBytes;
      out.sentMessages = t.sentMessages;
      out.receivedMessages = t.receivedMessages;
    }
  };

  void say(Json message) {
    message["hca"] = index_;
    control_.send(message, Clock::now() + shape_.timeout);
  }

  /// Looks at a message that came while this side was busy: the other one may have given up, or be
  /// a step ahead.
  void hear(Json message) {
    if (textOf(message, "is") == "end" && isMine(message)) {
      end_ = std::move(message);
      const std::string why = textOf(*end_, "failure");
      if (!why.empty()) throw OtherSideFailed(theirWords(why));
      return;
    }
    if (early_.size() >= kMostEarly)
      throw PeerFailure(
          fmt::format("The other side ({}) does not wait for this one.", control_.peer()));
    early_.push_back(std::move(message));
  }

  bool isMine(const Json& message) const {
    return numberOf(message, "hca", -1) == static_cast<double>(index_);
  }

  static std::string theirWords(const std::string& failure) {
    return fmt::format("On the other side: {}", failure.substr(0, 500));
  }

  /// This HCA's next message, which must be `one`. Nothing: the other side ended the exchange.
  std::optional<Json> expect(std::string_view one) {
    if (early_.empty() && !end_) hear(control_.receive(Clock::now() + shape_.timeout + kSlack));
    if (early_.empty()) return std::nullopt;
    Json message = std::move(early_.front());
    early_.pop_front();
    const std::string is = textOf(message, "is");
    if (is != one || !isMine(message))
      throw PeerFailure(
          fmt::format("The other side ({}) is out of step: \"{}\" came where \"{}\" "
                      "was due.",
                      control_.peer(), is.substr(0, 20), one));
    return message;
  }

  /// As expect, where the other side may not end it yet.
  Json require(std::string_view one) {
    auto message = expect(one);
    if (!message)
      throw PeerFailure(
          fmt::format("The other side ({}) ended early, without a reason.", control_.peer()));
    return std::move(*message);
  }

  /// Waits for the other side's end, whatever it says before; closes where no request is open.
  void settle(HcaResult& out) {
    while (!end_) {
      Json message = control_.receive(Clock::now() + shape_.timeout + kSlack);
      if (textOf(message, "is") == "end" && isMine(message)) end_ = std::move(message);
    }
    const std::string theirs = textOf(*end_, "failure");
    if (out.failure.empty() && !theirs.empty()) out.failure = theirWords(theirs);
    if (!connecting_) {
      bandwidthGbps_ = std::max(0.0, numberOf(*end_, "gbps"));
      latencyUs_ = std::max(0.0, numberOf(*end_, "us"));
    }
    out.verified = out.failure.empty();
    out.bandwidthGbps = bandwidthGbps_;
    out.latencyUs = latencyUs_;
    if (!clean_ || !flagOf(*end_, "clean")) return;
    try {
      link_.close();
      closed_ = true;
    } catch (const std::exception& e) {
      out.failure = sentence(e.what());
    }
  }

  void connect() {
    say({{"is", "handle"}, {"handle", hexOf(link_.listen())}});
    const auto theirs = handleOf(textOf(require("handle"), "handle"));
    if (!theirs)
      throw PeerFailure(
          fmt::format("The other side ({}) sent no handle of this NCCL.", control_.peer()));
    link_.connect(*theirs, idle_);
    link_.registerMemory();
    say({{"is", "connected"}});
    require("connected");
  }

  /// Both sides run `round`; the leading one's seconds.
  double runRound(Round round, bool ping, std::vector<double>* halves = nullptr) {
    link_.prepareRound(round);
    say({{"is", "round"},
         {"number", round.number},
         {"count", round.count},
         {"ping", ping},
         {"whole", round.whole},
         {"back", round.receives}});
    require("ready");
    double seconds = 0;
    if (ping)
      *halves = link_.pingPong(round, idle_);
    else
      seconds = link_.stream(round, idle_);
    theyAreRight_ = textOf(require("ran"), "wrong").empty();
    return seconds;
  }

  Round next(std::uint64_t count, bool back, bool whole) {
    return {++rounds_, count, true, back, whole};
  }

  bool right() const { return theyAreRight_ && link_.traffic().wrong.empty(); }

  void lead() {
    runRound(next(kWholeMessages, true, true), false);
    if (right()) measureLatency();
    if (right()) measureBandwidth();
  }

  void measureLatency() {
    const double seconds = shape_.seconds * kPingShare;
    std::vector<double> halves;
    runRound(next(kFirstPings, true, false), true, &halves);
    const double each = 2e-6 * median(halves);
    const double more = each > 0 ? seconds / each : 0;
    if (more > static_cast<double>(kFirstPings))
      runRound(next(static_cast<std::uint64_t>(std::min(more, static_cast<double>(kMostPings))),
                    true, false),
               true, &halves);
    latencyUs_ = median(halves);
  }

  struct Timed {
    double seconds = 0;
    std::uint64_t messages = 0;

    double messagesIn(double time) const {
      return seconds > 0 ? static_cast<double>(messages) * time / seconds : 1;
    }
  };

  /// Rounds that grow until they fill the time. The first one warms up, unless it fills the time
  /// alone.
  void measureBandwidth() {
    constexpr double kEnough = 0.9;
    constexpr double kGrowth = 8;  // no longer extrapolation from what was seen
    const double wanted = kEnough * shape_.seconds * (1 - kPingShare);
    const auto timed = [&](std::uint64_t count) {
      return Timed{runRound(next(count, shape_.bidirectional, false), false), count};
    };
    const Timed first = timed(kWholeMessages);
    Timed all = first.seconds >= wanted ? first : Timed{};
    for (int i = 0; i < kMostRounds && all.seconds < wanted && right(); ++i) {
      const Timed& known = all.messages > 0 ? all : first;
      const double due = known.messagesIn(wanted / kEnough - all.seconds);
      const double most = std::min(kGrowth * static_cast<double>(known.messages),
                                   static_cast<double>(kMostMessages));
      const Timed one = timed(static_cast<std::uint64_t>(std::clamp(due, 1.0, most)));
      all.seconds += one.seconds;
      all.messages += one.messages;
    }
    if (all.seconds > 0)
      bandwidthGbps_ = all.messagesIn(1) * static_cast<double>(shape_.bytes) * 8 / 1e9;
  }

  /// Runs what the leading side asks for, until it ends.
  void follow() {
    while (const auto message = expect("round")) {
      const double count = numberOf(*message, "count");
      const double number = numberOf(*message, "number");
      if (!(count >= 1 && count <= static_cast<double>(kMostMessages)) ||
          !(number >= 0 && number <= 1e9))
        throw PeerFailure(fmt::format("The other side ({}) asked for a round of {:g} messages.",
                                      control_.peer(), count));
      const bool ping = flagOf(*message, "ping");
      const Round round{static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(count),
                        ping || flagOf(*message, "back"), true, flagOf(*message, "whole")};
      link_.prepareRound(round);
      say({{"is", "ready"}});
      if (ping)
        link_.pingPong(round, idle_);
      else
        link_.stream(round, idle_);
      say({{"is", "ran"}, {"wrong", link_.traffic().wrong}});
    }
  }

  Control& control_;
  bool connecting_;
  std::uint64_t index_;
  ExchangeShape shape_;
  Link link_;
  std::uint64_t rounds_ = 0;
  double bandwidthGbps_ = 0;
  double latencyUs_ = 0;
  bool theyAreRight_ = true;
  bool clean_ = false;  ///< no request of this side is open
  bool closed_ = false;
  std::deque<Json> early_;
  std::optional<Json> end_;  ///< the other side's
  Link::Idle idle_ = [this] {
    while (auto message = control_.poll()) hear(std::move(*message));
  };
};

}  // namespace

bool exchangeHca(Net& net, Control& control, const HcaTask& task, HcaResult& out) {
  HcaExchange one(net, control, task);
  one.run(out);
  return one.closed();
}

}  // namespace rdmaguard::nccl
