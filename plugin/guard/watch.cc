// See watch.h.
#include "plugin/guard/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plugin/guard/block.h"
#include "plugin/guard/once_per_node.h"
#include "plugin/report/text.h"
#include "plugin/tap/tap.h"
#include "verifier/engine/rules.h"
#include "verifier/probe/probe.h"

namespace rdmaguard::guard {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kNodeFactsAge = 5s;      // ports and devices change; a job makes comms in bursts
constexpr auto kSettleWithin = 2s;      // then the line is said with what is known
constexpr auto kUnsettledLook = 1s;     // traffic alone is no news from the tap
constexpr auto kGiveUpAfter = 600s;     // a communicator that never moves a byte stays unknown
constexpr auto kFlushBeforeAbort = 1s;  // the process ends anyway; the reason must get out

std::string joinedDevices(const std::vector<engine::DeviceInUse>& devices) {
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  for (const auto& d : devices) {
    names.push_back(d.name);
    std::string kind = report::portRate(static_cast<std::int64_t>(d.speedGbps * 1000));
    if (d.linkLayer != LinkLayer::Unknown) kind += fmt::format(" {}", name(d.linkLayer));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::string out = report::deviceRange(names);
  for (std::size_t i = 0; i < kinds.size(); ++i) out += (i == 0 ? " (" : ", ") + kinds[i];
  return kinds.empty() ? out : out + ")";
}

std::string transportWord(const engine::Verdict& v) {
  return v.transport == Transport::External && !v.externalName.empty()
             ? v.externalName
             : std::string(name(v.transport));
}

}  // namespace

Watch::Watch(const Policy& policy)
    : policy_(policy),
      wanted_(engine::parseRequirement(policy.require).value_or(engine::Requirement{})) {}

const engine::NodeFacts& Watch::node(int ncclVersion) {
  const auto now = Clock::now();
  if (nodeRead_ == Clock::time_point{} || now - nodeRead_ > kNodeFactsAge) {
    probe::ProbeOptions options;
    options.ncclVersion = ncclVersion;
    node_ = probe::readNode(options);
    nodeRead_ = now;
  }
  return node_;
}

void Watch::begin(collective::Communicator* communicator, const CommunicatorFacts& facts,
                  const TapState& tap) {
  std::optional<std::string> lastWords;
  {
    const std::scoped_lock lock(mutex_);
    auto watched = std::make_unique<Watched>();
    watched->communicator = communicator;
    watched->facts = facts;
    watched->tap = tap;
    watched->begun = Clock::now();
    Look look;
    judge(*watched, look);
    watched_.push_back(std::move(watched));
    lastWords = act(*watched_.back());
  }
  // Without the lock: the report thread looks before it writes.
  if (lastWords) reporter_->abortProcess(*lastWords, policy_.exitCode, kFlushBeforeAbort);
}

void Watch::end(collective::Communicator* communicator) {
  const std::scoped_lock lock(mutex_);
  const auto it = std::find_if(watched_.begin(), watched_.end(),
                               [&](const auto& w) { return w->communicator == communicator; });
  if (it == watched_.end()) return;
  Look look;
  judge(**it, look);
  announce(**it);
  watched_.erase(it);
}

void Watch::look() {
  const std::scoped_lock lock(mutex_);
  if (watched_.empty()) return;
  const auto now = Clock::now();
  const std::uint64_t changes = tap::changes();
  const bool unsettled = std::any_of(watched_.begin(), watched_.end(), [&](const auto& w) {
    return !w->announced || (!w->settled && now - w->begun < kGiveUpAfter);
  });
  if (changes == seenChanges_ && !(unsettled && now - looked_ > kUnsettledLook)) return;
  seenChanges_ = changes;
  looked_ = now;
  Look look;
  for (const auto& watched : watched_) {
    if (watched->aborting) continue;
    const bool news = judge(*watched, look);
    if (!news) {
      if (now - watched->begun > kSettleWithin) announce(*watched);
      continue;
    }
    if (auto lastWords = act(*watched))
      reporter_->abortProcess(*lastWords, policy_.exitCode, kFlushBeforeAbort);
    if (watched->settled || now - watched->begun > kSettleWithin) announce(*watched);
  }
}

const TransportSigns& Watch::signsOf(const TapState& tap, Look& look) {
  for (const auto& [state, signs] : look.signs)
    if (state == tap) return signs;
  look.signs.emplace_back(
      tap, readSigns(tap, look.snapshot, node_, tap.installed ? -1 : openVerbsDevices()));
  return look.signs.back().second;
}

bool Watch::judge(Watched& w, Look& look) {
  if (!w.signs) node(w.tap.ncclVersion);
  const TransportSigns& signs = signsOf(w.tap, look);
  if (w.signs && same(*w.signs, signs)) return false;
  const engine::NodeFacts& facts = node(w.tap.ncclVersion);
  w.signs = signs;
  const engine::Selection seen = observe(w.facts, signs, facts);
  w.verdict = engine::judge(facts, seen, wanted_);
  w.devices.clear();
  for (const auto& d : signs.devices) w.devices.push_back(d.name);
  w.deviceText = joinedDevices(signs.devices);
  const bool needsNoNetwork = w.verdict.engaged == engine::Engaged::NotNeeded;
  w.settled = needsNoNetwork ||
              (seen.certainty == Certainty::Observed &&
               (w.verdict.gdr != Gdr::Unknown || w.verdict.engaged == engine::Engaged::No));
  reporter_->tag(w.communicator, {transportWord(w.verdict), std::string(name(w.verdict.gdr)),
                                  needsNoNetwork ? std::vector<std::string>{} : w.devices});
  return true;
}

std::optional<std::string> Watch::act(Watched& w) {
  const bool violated = w.verdict.requirement == engine::Met::Violated;
  const bool acts = violated && policy_.onFallback != OnFallback::Off && !w.acted;
  const bool aborts = acts && policy_.onFallback == OnFallback::Abort;
  const std::string action = aborts                                              ? "abort"
                             : violated && policy_.onFallback != OnFallback::Off ? "warn"
                                                                                 : "none";
  // One record each time what it says has changed, not each time it was looked at.
  const std::string key =
      fmt::format("{} {} {} {} {}", transportWord(w.verdict), name(w.verdict.gdr),
                  static_cast<int>(w.verdict.requirement), w.deviceText, action);
  if (key != w.recorded) {
    w.recorded = key;
    reporter_->record(
        w.communicator, [verdict = w.verdict, devices = report::deviceRange(w.devices), action,
                         code = policy_.exitCode](const report::Records& records) {
          return records.verdict(verdict, devices, action, code, report::unixMicroseconds());
        });
  }
  if (!acts) return std::nullopt;
  w.acted = true;
  w.aborting = aborts;
  std::string said = words(w);
  if (aborts) return said;
  if (!said.empty()) reporter_->warn(std::move(said));
  return std::nullopt;
}

// A job makes communicators by the hundred, and all of them share the cause.
std::string Watch::words(const Watched& w) {
  const std::string cause =
      fmt::format("{}.{}", transportWord(w.verdict),
                  w.verdict.missing.empty() ? w.verdict.violation : w.verdict.missing[0].ruleId);
  if (std::find(said_.begin(), said_.end(), cause) != said_.end())
    return w.aborting ? violationLine(w.facts, w.verdict, policy_) : "";
  said_.push_back(cause);
  // Without an id, another job on this node could be taken for this one.
  const bool speaks = w.facts.id == 0 || firstOnNode(fmt::format("{:x}.{}", w.facts.id, cause));
  return speaks ? violationBlock(w.facts, w.verdict, w.tap.versionText, w.deviceText, policy_)
                : violationLine(w.facts, w.verdict, policy_);
}

void Watch::announce(Watched& w) {
  if (std::exchange(w.announced, true)) return;
  const bool good =
      w.verdict.engaged == engine::Engaged::Yes || w.verdict.engaged == engine::Engaged::NotNeeded;
  // Rank 0 speaks for those that are as it is; a violation has had its words.
  if (w.facts.rank > 0 && (good || w.acted)) return;
  std::string line = fmt::format(
      "comm {}{} transport={} devices={} gdr={}", report::commId(w.facts.id),
      w.facts.label.empty() ? "" : " \"" + w.facts.label + "\"", transportWord(w.verdict),
      w.verdict.engaged == engine::Engaged::NotNeeded ? "none needed" : w.deviceText,
      name(w.verdict.gdr));
  const auto number = [](int n) { return n > 0 ? std::to_string(n) : std::string("unknown"); };
  line += fmt::format(" nodes={} ranks={} rank={}", number(w.facts.nNodes), number(w.facts.nRanks),
                      w.facts.rank >= 0 ? std::to_string(w.facts.rank) : "unknown");
  if (!w.tap.versionText.empty()) line += " nccl=" + w.tap.versionText;
  reporter_->info(std::move(line));
}

std::vector<report::DeviceTraffic> Watch::traffic() const {
  std::vector<report::DeviceTraffic> out;
  for (const tap::InstanceView& nccl : tap::snapshot().instances)
    for (const tap::NetView* net : {&nccl.ib, &nccl.socket})
      for (const tap::DeviceView& d : net->devices)
        if (d.traffic.sends + d.traffic.receives + d.traffic.failures > 0)
          out.push_back({std::string(name(net->net)),
                         d.known ? d.info.name : std::to_string(d.info.index), d.traffic.bytesSent,
                         d.traffic.bytesReceived, d.traffic.failures});
  return out;
}

}  // namespace rdmaguard::guard
