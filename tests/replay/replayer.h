// Drives the plugin's real callbacks with a trace, on threads as recorded, and keeps what the
// recorder handed out. For the replay tests; the executable links the adapters and the recorder,
// with a lifecycle of its own that only opens, finishes and closes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plugin/collective/collective.h"
#include "trace.h"

namespace replay {

/// A Finished with words of its own.
struct Collected {
  rdmaguard::collective::Finished finished;
  std::string algorithm, protocol, datatype;
};

/// What one communicator gave.
struct Outcome {
  std::vector<Collected> finished;
  rdmaguard::collective::Counters counters;
  rdmaguard::collective::ApiOnlyTable apiOnly{};
  int mask = 0;
};

/// By context id of the trace.
using Outcomes = std::map<int, Outcome>;

struct Options {
  int version = 5;
  bool literals = true;    ///< words at lasting addresses, else in memory that changes
  bool threads = true;     ///< one thread per recorded thread, else one for all
  bool initTwice = false;  ///< every communicator is initialised a second time beside the first
  bool nullWords = false;  ///< every word of every descriptor is null
  bool drainLive = false;  ///< drained between callbacks, as the report thread does
  /// Leaves an event out.
  std::function<bool(const Event&)> skip;
  /// Called before each event with the handles given so far, to misuse them.
  std::function<void(const Event&, const std::map<int, void*>&)> before;
};

/// Runs the trace from its first to its last event.
Outcomes run(const Trace& trace, const Options& options);

/// The callbacks of a version, for tests that make their own calls.
void stopEvent(int version, void* handle);
void recordEventState(int version, void* handle, int state, std::uint64_t* argument);
void* startEvent(int version, void* context, const Event& event, void* parent, void* group);

}  // namespace replay
