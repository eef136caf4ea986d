// See reporter.h.
#include "plugin/report/reporter.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <exception>
#include <map>
#include <thread>
#include <utility>

namespace rdmaguard::report {
namespace {

using namespace std::chrono_literals;

// A ring of the collective recorder holds some 30 ms of the fastest small
// collectives; with nothing going on there is no need to wake 200 times a second.
constexpr auto kBusy = 5ms;
constexpr auto kIdle = 20ms;

// "; this process sent 1.2 GB, received 1.2 GB over NET/IB", or nothing.
std::string trafficPhrase(const std::vector<DeviceTraffic>& devices) {
  std::map<std::string, DeviceTraffic> nets;
  for (const DeviceTraffic& d : devices) {
    nets[d.net].sentBytes += d.sentBytes;
    nets[d.net].receivedBytes += d.receivedBytes;
  }
  std::string out;
  for (const auto& [net, sum] : nets)
    out += fmt::format("; this process sent {}, received {} over NET/{}", traffic(sum.sentBytes),
                       traffic(sum.receivedBytes), net);
  return out;
}

}  // namespace

std::uint64_t unixMicroseconds() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

std::vector<BusbwRow> rows(const collective::Statistics& statistics) {
  std::vector<BusbwRow> out;
  for (const auto& [size, s] : statistics.classes()) {
    const std::uint64_t timed = s.count - s.untimed;
    if (timed == 0) continue;
    out.push_back({std::string(name(size.operation)), s.timedBytes / timed, timed,
                   s.busbw.quantile(0.5), s.minBusbw, s.maxBusbw,
                   static_cast<double>(s.totalNs) / 1e9});
  }
  return out;
}

Reporter::Reporter(ReporterOptions options, ReporterCallbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      log_(options_.logPattern, options_.speaker),
      json_(options_.directory,
            fmt::format("rdmaguard-{}-pid{}.jsonl", options_.speaker.host, options_.speaker.pid),
            options_.maxBytes) {
  const std::string complaint = json_.takeComplaint();
  if (!complaint.empty()) log_.warn(complaint);
}

bool Reporter::start() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread([this] { loop(); });
    pthread_setname_np(thread.native_handle(), "rdmaguard");
    thread.detach();
    const std::scoped_lock lock(mutex_);
    running_ = true;
  } catch (const std::exception& e) {
    log_.warn(fmt::format("cannot start the report thread ({}): the guard is off, the job goes on",
                          e.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return running_;
}

void Reporter::add(collective::Communicator* communicator, const Identity& identity) {
  auto entry = std::make_shared<Entry>(communicator, identity, options_.speaker);
  const std::scoped_lock lock(mutex_);
  entries_.push_back(std::move(entry));
}

void Reporter::tag(collective::Communicator* communicator, const NetworkTags& tags) {
  const std::scoped_lock lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->communicator != communicator || entry->tags == tags) continue;
    entry->tags = tags;
    entry->retagged = true;
  }
}

void Reporter::info(std::string line) {
  const std::scoped_lock lock(mutex_);
  messages_.push_back({Message::Kind::Info, std::move(line), nullptr, {}, 0});
}

void Reporter::warn(std::string line) {
  const std::scoped_lock lock(mutex_);
  messages_.push_back({Message::Kind::Warn, std::move(line), nullptr, {}, 0});
}

void Reporter::record(collective::Communicator* communicator,
                      std::function<std::string(const Records&)> make) {
  const std::scoped_lock lock(mutex_);
  messages_.push_back({Message::Kind::Record, {}, communicator, std::move(make), 0});
}

void Reporter::abortProcess(const std::string& block, int exitCode,
                            std::chrono::milliseconds limit) {
  {
    const std::scoped_lock lock(mutex_);
    messages_.push_back({Message::Kind::Abort, block, nullptr, {}, exitCode});
    if (std::this_thread::get_id() == threadId_) return;
  }
  flush(limit);
  log_.warn(block);
  ::_exit(exitCode);
}

void Reporter::remove(collective::Communicator* communicator, std::chrono::milliseconds limit) {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& entry : entries_)
      if (entry->communicator == communicator) entry->finishing = true;
  }
  flush(limit);
}

bool Reporter::flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!running_) return false;
  const std::uint64_t ticket = ++asked_;
  wake_.notify_one();
  return done_.wait_for(lock, limit, [&] { return served_ >= ticket; });
}

void Reporter::loop() noexcept {
  try {
    {
      const std::scoped_lock lock(mutex_);
      threadId_ = std::this_thread::get_id();
    }
    lastLiveNs_ = collective::now();
    for (;;) {
      pass();
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, drained_ > 0 ? kBusy : kIdle, [&] { return asked_ != served_; });
    }
  } catch (const std::exception& e) {
    log_.warn(
        fmt::format("the report thread stopped ({}): nothing more is recorded, the job goes "
                    "on",
                    e.what()));
  }
  const std::scoped_lock lock(mutex_);
  running_ = false;
}

void Reporter::pass() {
  // What was posted before a ticket was drawn must be written before it is served;
  // the guard's look may post too, so it comes first.
  std::uint64_t ticket = 0;
  {
    const std::scoped_lock lock(mutex_);
    ticket = asked_;
  }
  callbacks_.look();
  std::vector<Message> messages;
  Entries entries, live, finishing;
  {
    const std::scoped_lock lock(mutex_);
    messages.swap(messages_);
    entries = entries_;
    for (const auto& entry : entries) {
      if (std::exchange(entry->retagged, false)) entry->records.setTags(entry->tags);
      (entry->finishing ? finishing : live).push_back(entry);
    }
  }
  say(messages, entries);
  drained_ = 0;
  for (const auto& entry : entries) learn(*entry);
  for (const auto& entry : live) drained_ += drain(*entry);
  for (const auto& entry : finishing) finish(*entry);

  const std::uint64_t now = collective::now();
  const double seconds = static_cast<double>(now - lastLiveNs_) / 1e9;
  if (options_.intervalSeconds > 0 && seconds >= options_.intervalSeconds) {
    for (const auto& entry : live) liveLine(*entry, seconds);
    lastLiveNs_ = now;
  }
  json_.flush();
  const std::string complaint = json_.takeComplaint();
  if (!complaint.empty()) log_.warn(complaint);

  const std::scoped_lock lock(mutex_);
  for (const auto& entry : finishing) std::erase(entries_, entry);
  served_ = ticket;
  done_.notify_all();
}

void Reporter::say(const std::vector<Message>& messages, const Entries& entries) {
  for (const Message& m : messages) {
    switch (m.kind) {
      case Message::Kind::Info:
        log_.info(m.text);
        break;
      case Message::Kind::Warn:
        log_.warn(m.text);
        break;
      case Message::Kind::Record:
        for (const auto& entry : entries)
          if (entry->communicator == m.communicator) {
            append(m.make(entry->records));
            entry->verdict = m.make;
          }
        break;
      case Message::Kind::Abort:
        log_.warn(m.text);
        for (const auto& entry : entries) drain(*entry);
        json_.flush();
        // Not exit(): the application's destructors would run in a thread it does not
        // know, while its own threads go on.
        ::_exit(m.exitCode);
    }
  }
}

void Reporter::append(std::string_view line) {
  if (json_.active()) json_.append(line);
}

// Profiler v1 to v3 tell who a communicator is with its first collective: what was said of it
// before that is said again under its name.
void Reporter::learn(Entry& entry) {
  if (entry.identity.id != 0) return;
  const collective::Learned learned = collective::learned(*entry.communicator);
  if (learned.commId == 0) return;
  entry.identity.id = learned.commId;
  entry.identity.rank = learned.rank;
  NetworkTags tags;
  {
    const std::scoped_lock lock(mutex_);
    tags = entry.tags;
  }
  entry.records = Records(entry.identity, options_.speaker);
  entry.records.setTags(tags);
  if (entry.verdict) append(entry.verdict(entry.records));
}

std::uint64_t Reporter::drain(Entry& entry) {
  const std::uint64_t stamp = unixMicroseconds();
  return collective::drain(*entry.communicator, [&](const collective::Finished& f) {
    entry.total.add(f);
    entry.interval.add(f);
    if (json_.active()) json_.append(entry.records.collective(f, stamp));
  });
}

void Reporter::finish(Entry& entry) {
  const std::uint64_t stamp = unixMicroseconds();
  const collective::Counters counters =
      collective::finish(*entry.communicator, [&](const collective::Finished& f) {
        entry.total.add(f);
        if (json_.active()) json_.append(entry.records.collective(f, stamp));
      });
  const auto devices = callbacks_.traffic();
  const auto all = rows(entry.total);
  append(entry.records.completeness(counters, collective::apiOnly(*entry.communicator), all,
                                    devices, collective::strays(), stamp));
  if (entry.identity.rank <= 0 && counters.seen > 0) {
    std::string line =
        heading(entry) + "end: " + (all.empty() ? "no collective was timed" : busbwPhrase(all, 4));
    line += fmt::format("; collectives {} seen, {} recorded, {} dropped", counters.seen,
                        counters.written, counters.dropped());
    if (counters.untimed > 0) line += fmt::format(" ({} without a time)", counters.untimed);
    log_.info(line + trafficPhrase(devices));
  }
  collective::close(entry.communicator);
}

void Reporter::liveLine(Entry& entry, double seconds) {
  const auto timed = rows(entry.interval);
  entry.interval.clear();
  if (entry.identity.rank > 0 || timed.empty()) return;
  log_.info(fmt::format("{}last {:.0f} s: {}", heading(entry), seconds, busbwPhrase(timed, 3)));
}

std::string Reporter::heading(const Entry& entry) const {
  NetworkTags tags;
  {
    const std::scoped_lock lock(mutex_);
    tags = entry.tags;
  }
  return fmt::format("comm {} transport={} gdr={} ", commId(entry.identity.id), tags.transport,
                     tags.gdr);
}

}  // namespace rdmaguard::report
