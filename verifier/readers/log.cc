// See log.h. The common case is a channel or an operation of a thread that spoke before: it costs
// one look-up of its raw prefix and one pass over the message. All else goes through slowLine().
#include "verifier/readers/log.h"

#include <array>
#include <cstring>
#include <string>

#include "verifier/readers/clean.h"
#include "verifier/readers/event_prefix.h"
#include "verifier/readers/log_finish.h"
#include "verifier/readers/log_header.h"
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
using nccl_log::Processes;
using nccl_log::Said;
using nccl_log::Thread;
using nccl_log::ThreadCache;

// A half of a line waits this long for the other one.
constexpr std::uint64_t kMaxGap = 8;
constexpr std::size_t kMaxFragment = 8192;

/// "text [repeated 15x across cluster]": Ray prints what several processes said once.
std::string_view withoutRepeated(std::string_view text, bool& repeated) {
  if (!text.ends_with(']')) return text;
  const auto at = text.rfind(" [repeated ");
  if (at == std::string_view::npos || text.find("x across cluster]", at) == std::string_view::npos)
    return text;
  repeated = true;
  return nccl_log::withoutBlanks(text.substr(0, at));
}

/// Mail programs make links of what looks like one: "[net_ib.cc:101](http://net_ib.cc:101/)".
bool withoutLinks(std::string_view line, std::string& out) {
  bool any = false;
  out.clear();
  std::size_t from = 0;
  for (auto at = line.find("](http"); at != std::string_view::npos; at = line.find("](http", at)) {
    const auto close = line.find(')', at);
    const auto open = line.substr(from, at - from).rfind('[');
    if (close == std::string_view::npos || open == std::string_view::npos) {
      at += 6;
      continue;
    }
    out.append(line.substr(from, open));
    out.append(line.substr(from + open + 1, at - from - open - 1));
    from = at = close + 1;
    any = true;
  }
  if (any) out.append(line.substr(from));
  return any;
}

/// A copy of a message that stands twice on a line is divided by this.
std::string_view withoutDivider(std::string_view text) {
  text = nccl_log::withoutBlanks(text);
  while (text.ends_with(" |")) text = nccl_log::withoutBlanks(text.substr(0, text.size() - 2));
  return text;
}

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
  Thread* last = nullptr;
  engine::NetEdges* lastEdges = nullptr;  ///< counted without GDR, which may have been cut off
  bool lastReceive = false;

  std::string controls, links, joined;

  bool line(std::string_view text, Place at);
  bool fastLine(std::string_view text, Place at);
  bool slowLine(std::string_view text, Place at);
  bool markedLine(std::string_view text, Marker marker, Place at);
  bool bareLine(std::string_view text, Place at);
  bool joinedWith(std::string_view rest, Place at);
  Parsed message(Thread& t, const Header& header, Marker::Level level, std::string_view text,
                 Place at);
  Thread& threadOf(const Header& header, std::string_view lead, Place at);
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
  Thread* const t = cache.find(key);
  if (t == nullptr) return false;
  const std::string_view message = text.substr(m.end);
  ChannelLine channel;
  const Parsed parsed =
      c == 'C' || c == 'R' ? nccl_log::parseChannel(message, channel) : Parsed::Other;
  if (parsed == Parsed::Whole) {
    if (!channel.whole || !channel.comm.empty()) return false;
    lastEdges = processes.channel(*t, channel, at);
    if (channel.gdr) lastEdges = nullptr;
    lastReceive = channel.end == ChannelLine::End::Receive;
  } else if (parsed == Parsed::Other && messages.takeOperation(*t, message)) {
    lastEdges = nullptr;
  } else {
    return false;
  }
  last = t;
  engine::ProcessLog& log = processes.logOf(*t);
  log.warnLevelOnly = false;
  ++log.lines;
  ++out.log.lines;
  return true;
}

bool LogReader::State::line(std::string_view text, Place at) {
  if (at.file != file || processes.generation() != cacheGeneration) {
    cache.clear();
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
  if (text.find("](http") != std::string_view::npos && withoutLinks(text, links)) {
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

Parsed LogReader::State::message(Thread& t, const Header& header, Marker::Level level,
                                 std::string_view text, Place at) {
  engine::ProcessLog& log = processes.logOf(t);
  text = withoutRepeated(withoutDivider(text), out.log.repeatedAcrossCluster);
  if (level != Marker::Level::Warn) log.warnLevelOnly = false;
  if (level == Marker::Level::Call) return Parsed::Other;
  ChannelLine channel;
  last = &t;
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
    Speaker who;
    who.host = header.host;
    who.pid = header.pid;
    who.rank = processes.rankOf(t);
    who.location = header.location;
    who.warn = warn;
    if (!header.before.empty()) who.time = takePrefix(header.before).time;
    if (!text.empty()) events.nccl(who, text, at);
  }
  return said.parsed;
}

bool LogReader::State::markedLine(std::string_view text, Marker marker, Place at) {
  std::size_t from = 0;  // where the text before the marker begins
  bool first = true;
  while (marker.level != Marker::Level::None) {
    const Header header = nccl_log::headerAtEnd(text.substr(from, marker.begin - from));
    const std::string_view before = text.substr(from, header.begin);
    if (first) {
      const LinePrefix prefix = takePrefix(before);
      // The rest of a line that another one broke into, or one that was broken into itself.
      if (!fragment.empty()) {
        if (header.host.empty()) {
          const auto start = static_cast<std::size_t>(
              prefix.rest.empty() ? header.begin : prefix.rest.data() - text.data());
          if (joinedWith(text.substr(start), at)) return true;
        } else if (!prefix.rest.empty()) {
          joinedWith(prefix.rest, at);
        }
      }
      const Header half = nccl_log::headerAtEnd(before);
      if (!half.host.empty() && !header.host.empty())
        hold(before.substr(half.begin), at);
      else if (!prefix.rest.empty() && fragment.empty() &&
               prefix.rest.find("OOB") != std::string_view::npos)
        bareLine(prefix.rest, at);
    }
    Thread& t = threadOf(header, first ? before : std::string_view{}, at);
    const Marker next = nccl_log::findMarker(text, marker.end);
    std::size_t end = text.size();
    if (next.level != Marker::Level::None) {
      const Header h = nccl_log::headerAtEnd(text.substr(marker.end, next.begin - marker.end));
      end = marker.end + h.begin;
    }
    const std::string_view said = text.substr(marker.end, end - marker.end);
    const Parsed parsed = message(t, header, marker.level, said, at);
    ++processes.logOf(t).lines;
    ++out.log.lines;
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

/// `rest` continues the half that waits.
bool LogReader::State::joinedWith(std::string_view rest, Place at) {
  joined = fragment;
  const bool blank = joined.ends_with(' ') || rest.starts_with(' ');
  Marker m = nccl_log::findMarker(joined, 0);
  // What was broken between two words has lost nothing, but a blank may have been taken off.
  if (m.level == Marker::Level::None && !blank) joined += ' ';
  joined += rest;
  fragment.clear();
  m = nccl_log::findMarker(joined, 0);
  if (m.level == Marker::Level::None) return false;
  const Header header = nccl_log::headerAtEnd(std::string_view(joined).substr(0, m.begin));
  const std::string text = joined;
  if (nccl_log::findMarker(text, m.end).level != Marker::Level::None) return false;
  Thread& t = threadOf(header, {}, at);
  const Parsed parsed = message(t, header, m.level, std::string_view(text).substr(m.end), at);
  if (parsed == Parsed::Whole) {
    ++processes.logOf(t).lines;
    ++out.log.lines;
  }
  return parsed == Parsed::Whole;
}

/// A line without "NCCL INFO": the message alone, or the other half of one.
bool LogReader::State::bareLine(std::string_view text, Place at) {
  text = withoutFrame(text);
  if (text.empty()) return false;
  const LinePrefix prefix = takePrefix(text);
  const std::string_view rest =
      withoutRepeated(withoutDivider(prefix.rest), out.log.repeatedAcrossCluster);
  if (rest.empty()) return false;
  if (!fragment.empty() && joinedWith(rest, at)) return true;
  if (messages.takeVersion(rest, at)) {
    ++out.log.lines;
    return true;
  }
  const bool tail =
      rest.find("; OOB ") != std::string_view::npos && rest.find(":1/") != std::string_view::npos;
  if (!tail && !Messages::isUnmistakable(rest)) return false;
  Header nobody;
  Thread& t = threadOf(
      nobody, text.substr(0, static_cast<std::size_t>(prefix.rest.data() - text.data())), at);
  const Parsed parsed =
      message(t, nobody, Marker::Level::Info,
              tail ? "NET/IB : Using " + std::string(rest) : std::string(rest), at);
  if (parsed != Parsed::Whole) return false;
  ++processes.logOf(t).lines;
  ++out.log.lines;
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
      s.processes.logOf(*s.last).cut = true;
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
