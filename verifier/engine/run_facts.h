// What a run left behind besides NCCL's selection lines: errors and events (NCCL, PyTorch, MPI,
// kernel, storage) and measured bus bandwidth. Filled by verifier/readers. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verifier/engine/place.h"

namespace rdmaguard::engine {

/// What an event proves about the network.
enum class Phase : std::uint8_t {
  Setup,  ///< failed before data moved: bootstrap, create_qp, modify_qp, reg_mr, version mismatch
  Data,   ///< a connection existed: completion errors, port events while running
  Other,  ///< says nothing of the network: watchdog, Xid, exit of a process
};

/// An error or event, one for each distinct (id, host, rank, detail); repeats are counted.
struct Event {
  std::string id;  ///< "vendor-err-129", "watchdog-timeout", "link-down", "storage-stalled"
  Phase phase = Phase::Other;
  std::string host;     ///< empty = not said
  int rank = -1;        ///< -1 = not said
  std::string device;   ///< "mlx5_0", "net4", "0000:19:00.0"; empty = not said
  std::string detail;   ///< the part that tells it apart: errno text, operation, peer
  std::string time;     ///< as written; empty = none
  double seconds = -1;  ///< `time` on a common scale where that can be told; -1 = not
  Place at;
  std::uint64_t count = 1;
};

/// A figure of an nccl-tests (or like) table.
struct BusbwRow {
  std::string op;               ///< "all_reduce", "alltoall", ...; empty = the table does not say
  bool average = false;         ///< the printed "Avg bus bandwidth"
  std::uint64_t sizeBytes = 0;  ///< of the row; 0 for an average
  double algbw = 0, busbw = 0;  ///< GB/s, out-of-place where the table has both
  double inPlaceBusbw = -1;     ///< GB/s, -1 = none
  double timeUs = 0;
  long wrong = -1;  ///< elements found wrong, -1 = not checked
  Place at;
};

/// One table.
struct PerfTable {
  std::string op;                  ///< as BusbwRow::op
  std::string ncclVersion;         ///< as the table says, else empty
  int nRanks = 0;                  ///< of the device list, 0 = none listed
  std::vector<std::string> hosts;  ///< distinct, of the device list
  std::vector<BusbwRow> rows;      ///< bounded: see perf reader; averages last
  bool failed = false;             ///< the run ended in an error
  Place at;
};

/// All of it.
struct RunFacts {
  std::vector<Event> events;  ///< in order of appearance, at most 4,096 distinct
  std::uint64_t eventsDropped = 0;
  std::vector<PerfTable> tables;
};

}  // namespace rdmaguard::engine
