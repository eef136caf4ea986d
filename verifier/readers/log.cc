// See log.h. The common case is a channel or an operation of a thread that spoke before: it costs
// one look-up of its raw prefix and one pass over the message. All else goes through slowLine().
#include "verifier/readers/log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "verifier/readers/clean.h"
#include "verifier/readers/event_prefix.h"
#include "verifier/readers/log_devices.h"
#include "verifier/readers/log_finish.h"
#include "verifier/readers/log_header.h"
#include "verifier/readers/log_markup.h"
#include "verifier/readers/log_message.h"
#include "verifier/readers/log_processes.h"
#include "verifier/readers/log_text.h"
#include "verifier/readers/log_thread_cache.h"

namespace rdmaguard::readers {
namespace {

using nccl_log::ChannelLine;
using nccl_log::Header;
using nccl_log::Marker;
using nccl_log::Messages;
using nccl_log::Parsed;
using nccl_log::Process;
using nccl_log::Processes;
using nccl_log::Said;
using nccl_log::Thread;
using nccl_log::ThreadCache;

// A half of a line waits this long for the other one.
constexpr std::uint64_t kMaxGap = 8;
constexpr std::size_t kMaxFragment = 8192;

}  // namespace

struct LogReader::State {
  State(JobFacts& facts, EventReader& reader)
      : out(facts), events(reader), processes(facts.log), messages(processes, facts, facts.log) {}

  JobFacts& out;
  EventReader& events;
  Processes processes;
  Messages messages;
  ThreadCache cache;
  std::uint32_t cacheGeneration = 0;
  std::uint32_t file = ~0U;

  // The first half of a line whose other half may follow: from its header on.
  std::string fragment;
  Place fragmentAt;

  // The last line, in case that the file ends within it.
  Process* last = nullptr;
  engine::NetEdges* lastEdges = nullptr;  ///< counted without GDR, which may have been cut off
  bool lastReceive = false;

  std::string controls, links;

  bool line(std::string_view text, Place at);
  bool fastLine(std::string_view text, Place at);
  bool slowLine(std::string_view text, Place at);
  bool markedLine(std::string_view text, Marker marker, Place at);
  bool bareLine(std::string_view text, Place at);
  bool joinedWith(std::string_view rest, Place at);
  bool knownLine(const ThreadCache::Found& speaker, std::string_view key, std::string_view text,
                 Marker marker, Place at);
  /// `header`: called for the few messages that need the whole header.
  template <typename HeaderOf>
  Parsed message(Thread& t, HeaderOf&& header, Marker::Level level, std::string_view text,
                 Place at);
  Thread& threadOf(const Header& header, std::string_view lead, Place at);
  void unglue(Header& header, Place at) const;
  bool listTail(std::string_view text, std::string_view lead, Place at);
  void hold(std::string_view half, Place at);
};

void LogReader::State::hold(std::string_view half, Place at) {
  if (half.size() > kMaxFragment) return;
  fragment = half;
  fragmentAt = at;
}

bool LogReader::State::fastLine(std::string_view text, Place at) {
  // "host:pid:tid [0] NCCL INFO Channel ..."; launchers' tags may stand before.
  const Marker m = nccl_log::findMarker(text, 0);
  if (m.level != Marker::Level::Info || m.begin < 2 || m.end >= text.size()) return false;
  const char c = text[m.end];
  if (c < 'A' || c > 'Z') return false;
  const std::string_view key = ThreadCache::keyOf(text.substr(0, m.begin));
  if (key.empty()) return false;
  const ThreadCache::Found speaker = cache.find(key);
  if (speaker.thread == nullptr) return false;
  // With a thousand ranks in one log each line's counts are far away: they arrive meanwhile.
  __builtin_prefetch(speaker.process);
  __builtin_prefetch(speaker.thread->target.edges);
  __builtin_prefetch(speaker.thread->target.comm);
  const std::string_view message = text.substr(m.end);
  ChannelLine channel;
  const Parsed parsed =
      c == 'C' || c == 'R' ? nccl_log::parseChannel(message, channel) : Parsed::Other;
  if (parsed == Parsed::Whole) {
    if (!channel.whole || !channel.comm.empty()) return false;
    lastEdges = processes.channel(*speaker.thread, channel, at);
    if (channel.gdr) lastEdges = nullptr;
    lastReceive = channel.end == ChannelLine::End::Receive;
  } else if (parsed == Parsed::Other && messages.takeOperation(*speaker.process, message)) {
    lastEdges = nullptr;
  } else {
    return knownLine(speaker, key, text, m, at);
  }
  last = speaker.process;
  speaker.process->infoSeen = true;
  processes.said(*speaker.process);
  return true;
}

/// Any message of a thread that spoke before, where the line holds nothing but its tags, its
/// header and one message.
bool LogReader::State::knownLine(const ThreadCache::Found& speaker, std::string_view key,
                                 std::string_view text, Marker marker, Place at) {
  if (text.find('\x1b') != std::string_view::npos || text.find('\0') != std::string_view::npos ||
      text.find("](http") != std::string_view::npos ||
      nccl_log::findMarker(text, marker.end).level != Marker::Level::None)
    return false;
  if (key.data() != text.data() && takePrefix(text.substr(0, marker.end)).rest.data() != key.data())
    return false;
  lastEdges = nullptr;
  const Parsed parsed = message(
      *speaker.thread, [&] { return nccl_log::headerAtEnd(text.substr(0, marker.begin)); },
      marker.level, text.substr(marker.end), at);
  processes.said(*speaker.thread->process);
  if (parsed == Parsed::Cut)
    hold(text.substr(static_cast<std::size_t>(key.data() - text.data())), at);
  return true;
}

bool LogReader::State::line(std::string_view text, Place at) {
  if (at.file != file || processes.generation() != cacheGeneration) {
    cache.forget();
    file = at.file;
    cacheGeneration = processes.generation();
  }
  if (fragment.empty() && fastLine(text, at)) return true;
  last = nullptr;
  lastEdges = nullptr;
  return slowLine(text, at);
}

bool LogReader::State::slowLine(std::string_view text, Place at) {
  if (!fragment.empty() && (at.file != fragmentAt.file || at.line - fragmentAt.line > kMaxGap))
    fragment.clear();
  // Before a marker is looked for: what is taken off would move it.
  text = withoutFrame(withoutControls(text, controls));
  if (text.empty()) return false;
  Marker marker = nccl_log::findMarker(text, 0);
  if (marker.level == Marker::Level::None) marker = nccl_log::findBareMarker(text);
  if (marker.level == Marker::Level::None) return bareLine(text, at);
  if (text.find("](http") != std::string_view::npos && nccl_log::withoutLinks(text, links)) {
    text = links;
    marker = nccl_log::findMarker(text, 0);
    if (marker.level == Marker::Level::None) marker = nccl_log::findBareMarker(text);
    if (marker.level == Marker::Level::None) return false;
  }
  return markedLine(text, marker, at);
}

Thread& LogReader::State::threadOf(const Header& header, std::string_view lead, Place at) {
  std::string tag;
  LinePrefix prefix;
  if (!lead.empty()) prefix = takePrefix(lead);
  if (header.host.empty() && prefix.rank >= 0) tag = std::to_string(prefix.rank);
  Thread& t = processes.threadOf(header, tag, at.file);
  engine::ProcessLog& log = processes.logOf(t);
  if (log.launcherRank < 0 && prefix.rank >= 0) {
    log.launcherRank = prefix.rank;
    // torchrun's "[default3]:" counts within the node.
    t.rankTagIsLocal = lead.find("[default") != std::string_view::npos;
  }
  return t;
}

template <typename HeaderOf>
Parsed LogReader::State::message(Thread& t, HeaderOf&& header, Marker::Level level,
                                 std::string_view text, Place at) {
  text = nccl_log::withoutRepeated(nccl_log::withoutDivider(text), out.log.repeatedAcrossCluster);
  if (level != Marker::Level::Warn) t.process->infoSeen = true;
  if (level == Marker::Level::Call) return Parsed::Other;
  ChannelLine channel;
  last = t.process;
  switch (nccl_log::parseChannel(text, channel)) {
    case Parsed::Cut:
      return Parsed::Cut;
    case Parsed::Whole: {
      engine::NetEdges* const edges = processes.channel(t, channel, at);
      lastEdges = channel.gdr || !channel.whole ? nullptr : edges;
      lastReceive = channel.end == ChannelLine::End::Receive;
      return Parsed::Whole;
    }
    case Parsed::Other:
      break;
  }
  const Said said = messages.take(t, text, at);
  const bool warn = level == Marker::Level::Warn;
  if (warn || said.failure || (said.parsed == Parsed::Other && nccl_log::namesFailure(text))) {
    const Header from = header();
    Speaker who;
    who.host = from.host;
    who.pid = from.pid;
    who.rank = processes.rankOf(t);
    who.location = from.location;
    who.warn = warn;
    if (!from.before.empty()) who.time = takePrefix(from.before).time;
    if (!text.empty()) events.nccl(who, text, at);
  }
  return said.parsed;
}

bool LogReader::State::markedLine(std::string_view text, Marker marker, Place at) {
  std::size_t from = 0;  // where the text before the marker begins
  bool first = true;
  while (marker.level != Marker::Level::None) {
    Header header = nccl_log::headerAtEnd(text.substr(from, marker.begin - from));
    std::string_view lead;
    if (first) {
      unglue(header, at);
      lead = text.substr(0, marker.end);
      // What stands between the launcher's tags and the header.
      const std::string_view rest = takePrefix(text.substr(0, marker.end)).rest;
      const auto tags =
          rest.empty() ? header.begin : static_cast<std::size_t>(rest.data() - text.data());
      const std::string_view head =
          tags < header.begin ? nccl_log::withoutBlanks(text.substr(tags, header.begin - tags))
                              : std::string_view{};
      if (header.host.empty()) {
        // The rest of a line that another one broke into.
        if (!fragment.empty() && joinedWith(text.substr(tags), at)) return true;
      } else if (!head.empty()) {
        // The same, and a further line behind it; or the beginning of a line that breaks here.
        const bool joined = !fragment.empty() && joinedWith(head, at);
        const Header half = nccl_log::headerAtEnd(head);
        if (!joined && !half.host.empty())
          hold(head.substr(half.begin), at);
        else if (!joined)
          listTail(head, {}, at);
      }
    }
    Thread& t = threadOf(header, lead, at);
    const Marker next = nccl_log::findMarker(text, marker.end);
    std::size_t end = text.size();
    if (next.level != Marker::Level::None) {
      Header h = nccl_log::headerAtEnd(text.substr(marker.end, next.begin - marker.end));
      unglue(h, at);
      end = marker.end + h.begin;
    }
    const std::string_view said = text.substr(marker.end, end - marker.end);
    const Parsed parsed = message(
        t, [&] { return header; }, marker.level, said, at);
    processes.said(*t.process);
    if (first && next.level == Marker::Level::None && header.found) {
      const std::string_view key = ThreadCache::keyOf(text.substr(0, marker.begin));
      if (!key.empty() && !header.host.empty() && key.find(header.host) != std::string_view::npos)
        cache.put(key, t);
    }
    if (parsed == Parsed::Cut && fragment.empty())
      hold(text.substr(from + header.begin, end - from - header.begin), at);
    from = end;
    marker = next;
    first = false;
  }
  return true;
}

/// The end of a line that lost its newline is no part of the next one's host.
void LogReader::State::unglue(Header& header, Place at) const {
  if (header.host.empty() || header.begin == 0) return;
  const std::size_t glued = processes.gluedToHost(header, at.file);
  header.host.remove_prefix(glued);
  header.begin += glued;
}

/// Whether `rest` continues the half that waits; then the whole was read.
bool LogReader::State::joinedWith(std::string_view rest, Place at) {
  if (rest.empty()) return false;
  // A line that broke between two words may have lost the blank there.
  for (const std::string_view between : {"", " "}) {
    std::string whole = fragment;
    whole += between;
    whole += rest;
    const Marker m = nccl_log::findMarker(whole, 0);
    if (m.level == Marker::Level::None) continue;
    if (nccl_log::findMarker(whole, m.end).level != Marker::Level::None) return false;
    const std::string_view text = nccl_log::withoutBlanks(std::string_view(whole).substr(m.end));
    ChannelLine channel;
    const bool halfSaidNothing = nccl_log::withoutBlanks(fragment).ends_with("WARN");
    const bool fits = m.level == Marker::Level::Warn
                          ? halfSaidNothing
                          : nccl_log::parseChannel(text, channel) == Parsed::Whole ||
                                Messages::isUnmistakable(text);
    if (!fits) continue;
    const Header header = nccl_log::headerAtEnd(std::string_view(whole).substr(0, m.begin));
    const std::string half = std::move(fragment);
    fragment.clear();
    Thread& t = threadOf(header, {}, at);
    const Parsed parsed = message(
        t, [&] { return header; }, m.level, text, at);
    if (parsed == Parsed::Whole || m.level == Marker::Level::Warn) {
      processes.said(*t.process);
      return true;
    }
    // A long device list may be broken more than once.
    if (parsed == Parsed::Cut && rest.find(":1/") != std::string_view::npos) {
      hold(whole, at);
      return true;
    }
    fragment = half;
  }
  return false;
}

/// A line without "NCCL INFO": the message alone, or the other half of one.
bool LogReader::State::bareLine(std::string_view text, Place at) {
  const LinePrefix prefix = takePrefix(text);
  const std::string_view rest = nccl_log::withoutRepeated(nccl_log::withoutDivider(prefix.rest),
                                                          out.log.repeatedAcrossCluster);
  if (rest.empty()) return false;
  if (!fragment.empty() && joinedWith(rest, at)) return true;
  if (messages.takeVersion(rest, at)) {
    ++out.log.lines;
    return true;
  }
  const auto tags = static_cast<std::size_t>(prefix.rest.data() - text.data());
  // Some tags are known for what they are only by a word behind them.
  const std::string_view lead = text.substr(0, tags + 1);
  if (!Messages::isUnmistakable(rest)) return listTail(rest, lead, at);
  Thread& t = threadOf({}, lead, at);
  if (message(
          t, [] { return Header{}; }, Marker::Level::Info, rest, at) != Parsed::Whole)
    return false;
  processes.said(*t.process);
  return true;
}

/// A device list that lost its beginning, and with it its speaker.
bool LogReader::State::listTail(std::string_view text, std::string_view lead, Place at) {
  nccl_log::DeviceList list = nccl_log::parseDeviceTail(text);
  if (!list.any) return false;
  Thread& t = threadOf({}, lead, at);
  engine::ProcessLog& log = processes.logOf(t);
  if (log.devices.empty()) {
    log.devices = std::move(list.devices);
    log.deviceListSeen = log.deviceListCut = true;
    log.deviceListNet = "IB";
    log.deviceListAt = at;
  }
  t.process->infoSeen = true;
  processes.said(*t.process);
  return true;
}

LogReader::LogReader(JobFacts& out, EventReader& events) : state_(new State(out, events)) {}
LogReader::~LogReader() = default;

bool LogReader::line(std::string_view text, Place at) {
  return state_->line(text, at);
}

void LogReader::endOfFile(bool cut) {
  State& s = *state_;
  if (cut) {
    if (s.last != nullptr) {
      s.last->log.cut = true;
      s.out.log.cut = true;
    }
    if (s.lastEdges != nullptr) {
      // "/GDRDMA" may have been cut off.
      std::uint64_t& count = s.lastReceive ? s.lastEdges->receives : s.lastEdges->sends;
      if (count > 0) --count;
      if (s.lastEdges->sends + s.lastEdges->receives ==
          s.lastEdges->sendsGdr + s.lastEdges->receivesGdr)
        s.lastEdges->firstWithoutGdr = {};
    }
  }
  s.last = nullptr;
  s.lastEdges = nullptr;
  s.fragment.clear();
}

void LogReader::finish() {
  nccl_log::finishProcesses(state_->processes.take(), state_->out.log);
}

}  // namespace rdmaguard::readers
