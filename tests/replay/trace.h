// A recorded sequence of profiler callbacks, as values. Read from traces/*.jsonl or made by hand;
// for the replay tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace replay {

enum class Callback { Init, Start, Stop, Record, Finalize };

/// One callback. Handles and contexts are ids; 0 is null.
struct Event {
  Callback callback = Callback::Start;
  long thread = 1;
  int context = 0;
  int handle = 0;
  std::uint32_t type = 0;
  int parent = 0;
  int group = 0;
  // init
  std::uint64_t commId = 0;
  int nNodes = 0, nRanks = 0, rank = 0;
  // start
  std::string func, datatype, algo, proto;
  std::uint64_t count = 0, sequence = 0, pTimer = 0, traffic = 0;
  int root = 0, peer = 0, channels = 0, channel = 0;
  bool graph = false, symmetric = false;
  bool foreign = false;  ///< ProxyOp of another process
  // record
  int state = 0;
  std::uint64_t argument = 0;
};

using Trace = std::vector<Event>;

/// Reads a file of traces/; throws std::runtime_error with its name when it cannot.
Trace readTrace(const std::string& name);

/// Names of the trace files of one NCCL release ("v2.28.9-1").
std::vector<std::string> tracesOf(const std::string& release);

}  // namespace replay
