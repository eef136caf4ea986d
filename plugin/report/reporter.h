// The one thread of our own: it drains finished collectives, writes the JSON lines
// and the log, and lets the guard look again. Owned by plugin/entry's Process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugin/collective/collective.h"
#include "plugin/collective/statistics.h"
#include "plugin/report/json_lines.h"
#include "plugin/report/log.h"
#include "plugin/report/records.h"

namespace rdmaguard::report {

struct ReporterOptions {
  Speaker speaker;
  std::string logPattern;
  std::string directory;  ///< empty: no JSON lines
  std::uint64_t maxBytes = 1ULL << 30;
  int intervalSeconds = 60;  ///< between live lines; 0: none
};

/// What the thread asks the guard for. Both run on the report thread.
struct ReporterCallbacks {
  std::function<void()> look;  ///< each pass, at most 200 a second
  std::function<std::vector<DeviceTraffic>()> traffic;
};

class Reporter {
 public:
  Reporter(ReporterOptions options, ReporterCallbacks callbacks);
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Starts the thread, with every signal blocked in it. False, with one line said,
  /// when the system refuses. Once, from the first init.
  bool start() noexcept;

  /// A communicator to drain from now on. Init thread.
  void add(collective::Communicator* communicator, const Identity& identity);

  /// Its network, for the records and lines that follow. Any thread of ours.
  void tag(collective::Communicator* communicator, const NetworkTags& tags);

  /// Posts a line of the log, or a record made from the communicator's Records.
  void info(std::string line);
  void warn(std::string line);
  void record(collective::Communicator* communicator,
              std::function<std::string(const Records&)> make);

  /// Writes `block` and all that was posted, drains what has finished, and ends the
  /// process with `exitCode`: on the report thread, or here when that one has not done
  /// it within `limit`. Called by the guard's look() it only posts, and returns.
  void abortProcess(const std::string& block, int exitCode, std::chrono::milliseconds limit);

  /// Ends a communicator: the thread drains it for the last time, writes its summary
  /// and closes it. Waits for that at most `limit`, since a full disk or a dead file
  /// server must not hold up the job. Finalize thread.
  void remove(collective::Communicator* communicator, std::chrono::milliseconds limit);

  /// Waits, at most `limit`, until all that was posted before is written.
  bool flush(std::chrono::milliseconds limit);

 private:
  struct Entry {
    collective::Communicator* communicator = nullptr;
    Identity identity;
    Records records;
    std::function<std::string(const Records&)> verdict;  // report thread: the last one recorded
    NetworkTags tags;                                    // guarded by mutex_
    bool retagged = true;                                // guarded by mutex_
    bool finishing = false;                              // guarded by mutex_
    collective::Statistics total, interval;              // report thread only, as all below

    Entry(collective::Communicator* c, const Identity& who, const Speaker& speaker)
        : communicator(c), identity(who), records(who, speaker) {}
  };
  struct Message {
    enum class Kind : unsigned char { Info, Warn, Record, Abort } kind;
    std::string text;
    collective::Communicator* communicator = nullptr;
    std::function<std::string(const Records&)> make;
    int exitCode = 0;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;

  void loop() noexcept;
  void pass();
  void learn(Entry& entry);
  std::uint64_t drain(Entry& entry);
  void finish(Entry& entry);
  void say(const std::vector<Message>& messages, const Entries& entries);
  void liveLine(Entry& entry, double seconds);
  void append(std::string_view line);
  std::string heading(const Entry& entry) const;

  const ReporterOptions options_;
  const ReporterCallbacks callbacks_;
  Log log_;
  JsonLines json_;

  mutable std::mutex mutex_;  // never held across a write or a callback
  std::condition_variable wake_, done_;
  Entries entries_;
  std::vector<Message> messages_;
  std::uint64_t asked_ = 0, served_ = 0;  // passes wanted and completed
  bool running_ = false;
  std::thread::id threadId_;
  std::uint64_t lastLiveNs_ = 0;
  std::uint64_t drained_ = 0;  // in the last pass
};

/// Unix time in microseconds.
std::uint64_t unixMicroseconds() noexcept;

/// Rows for a phrase, from statistics.
std::vector<BusbwRow> rows(const collective::Statistics& statistics);

}  // namespace rdmaguard::report
