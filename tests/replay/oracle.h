// What a trace implies, worked out from the trace alone and by other means than the plugin's: maps
// and whole-trace passes, nothing incremental, no code of plugin/. For the replay tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trace.h"

namespace replay {

/// One collective or group of sends and receives.
struct Expected {
  std::string operation;
  std::uint64_t bytes = 0;
  std::string algorithm, protocol, datatype;
  std::uint64_t durationNs = 0;  ///< 0: cannot be timed
  double busbw = 0;              ///< GB/s
  bool operator==(const Expected&) const = default;
};

/// One communicator.
struct ExpectedCommunicator {
  std::vector<Expected> finished;           ///< in order of launch
  std::map<std::string, unsigned> apiOnly;  ///< calls that were never launched, by operation
};

/// By context id.
std::map<int, ExpectedCommunicator> expectedFrom(const Trace& trace);

}  // namespace replay
