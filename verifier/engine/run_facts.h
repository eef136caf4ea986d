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

/// An error or event, one for each distinct (id, host, rank, device, detail); repeats are counted.
struct Event {
  std::string id;  ///< "vendor-err-129", "watchdog-timeout", "link-down", "storage-stalled"
  Phase phase = Phase::Other;
  bool failure = true;  ///< false: none by itself (a link that came up, a probe that was refused)
  std::string host;     ///< empty = not said
  long pid = 0;         ///< 0 = not said
  int rank = -1;        ///< -1 = not said
  std::string device;   ///< "mlx5_0", "net4", "0000:19:00.0"; empty = not said
  /// The network the failing call belongs to: "IB" for verbs calls and "NET/IB" lines, else the X
  /// of "NET/X". Empty: none by itself (bootstrap, PyTorch, kernel), so that the event alone does
  /// not show which network was taken.
  std::string network;
  bool gid = false;      ///< the line prints GIDs, as NCCL does for connections between RoCE ports
  std::string location;  ///< where the speaker's source says it: "transport/net_ib.cc:101"
  std::string detail;    ///< the part that tells it apart: errno text, operation, peer
  std::string time;      ///< as written; empty = none
  /// `time` on a common scale where that can be told, in seconds; -1 = not. Stamps with a date
  /// count from 1970 (as if UTC), stamps without one from midnight (below 86,400).
  double seconds = -1;
  Place at;
  std::uint64_t count = 1;
  Place lastAt;             ///< of the last repeat; as `at` where there is none
  double lastSeconds = -1;  ///< of the last repeat, as `seconds`
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

  /// Beside a baseline, where the user gives one (baseline.h).
  enum class Standing : std::uint8_t { Unverified, Verified, Below };
  Standing standing = Standing::Unverified;
  double expectedBusbw = -1;      ///< GB/s, the baseline's; -1 = none
  std::string unverifiedBecause;  ///< a clause, where a baseline has no figure for it
};

/// One table.
struct PerfTable {
  std::string tool;             ///< "nccl-tests", "rccl-tests"; empty = another tool's figures
  std::string op;               ///< as BusbwRow::op
  bool opInferred = false;      ///< `op` follows from the columns: the input does not name it
  std::string ncclVersion;      ///< "2.29.3", as the table says, else empty
  int nRanks = 0;               ///< the highest rank of the device list + 1, 0 = none listed
  bool allListed = false;       ///< every rank up to the highest stands in the device list, once
  bool everyRankAlone = false;  ///< rank 0 stands there more than once: no communicator in common
  std::vector<std::string> hosts;  ///< distinct, of the device list
  std::vector<BusbwRow> rows;      ///< at most kMaxPerfRows; averages last
  std::uint64_t rowsSeen = 0;      ///< without averages
  long outOfBounds = -1;           ///< "Out of bounds values", -1 = not said
  bool failed = false;             ///< the run ended in an error
  Place at;
};

inline constexpr std::size_t kMaxPerfRows = 128;
inline constexpr std::size_t kMaxEvents = 4096;

/// All of it.
struct RunFacts {
  std::vector<Event> events;  ///< in order of appearance, at most kMaxEvents distinct
  std::uint64_t eventsDropped = 0;
  std::vector<PerfTable> tables;
};

}  // namespace rdmaguard::engine
