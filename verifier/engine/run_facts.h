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
  std::string text;      ///< the line as read, trimmed, at most kMaxErrorText bytes
  std::string time;      ///< as written; empty = none
  /// `time` on a common scale where that can be told, in seconds; -1 = not. Stamps with a date
  /// count from 1970 (as if UTC), stamps without one from midnight (below 86,400).
  double seconds = -1;
  Place at;
  std::uint64_t count = 1;
  Place lastAt;             ///< of the last repeat; as `at` where there is none
  double lastSeconds = -1;  ///< of the last repeat, as `seconds`
};

/// A rank that waited for a collective in vain, as PyTorch's watchdog tells it: one for each
/// (rank, host, group, sequence, operation); lines of the same wait are put together.
struct CollectiveWait {
  int rank = -1;  ///< in the job, -1 = not said
  std::string host;
  std::string group;        ///< process group: "0(default_pg)"; empty = not said
  long sequence = -1;       ///< SeqNum of the work that timed out or failed, -1 = not said
  std::string operation;    ///< "ALLREDUCE", "ALLGATHER_BASE", "SEND"; empty = not said
  long elementsIn = -1;     ///< NumelIn, elements of this rank
  long elementsOut = -1;    ///< NumelOut
  double timeoutS = -1;     ///< the limit, seconds
  double waitedS = -1;      ///< "ran for N milliseconds", seconds
  long lastEnqueued = -1;   ///< "last enqueued work: N"
  long lastCompleted = -1;  ///< "last completed work: N"
  bool timedOut = true;     ///< false: the work failed with an error
  double seconds = -1;      ///< as Event::seconds
  Place at;
};

/// A line that says that something went wrong and is none of the events known here. One for each
/// distinct text (numbers apart) and file.
struct UnknownError {
  std::string text;  ///< the line, trimmed, at most kMaxErrorText bytes
  std::string host;  ///< empty = not said
  int rank = -1;
  std::string time;
  double seconds = -1;  ///< as Event::seconds
  Place at;
  std::uint64_t count = 1;
};

/// A point that the ranks of a job pass together: a training step, NCCL's "Init COMPLETE" of one
/// communicator. What two clocks show at the same point bounds how far they are apart.
struct Mark {
  std::uint64_t key = 0;  ///< equal for the same point; of "step 880" without its stamp and rank
  double seconds = -1;    ///< as Event::seconds, never -1
  int rank = -1;
  std::string host;  ///< empty: the file alone tells the clock
  Place at;
};

/// Where a file begins and ends in time, and its last words.
struct FileSpan {
  std::string host;  ///< who wrote it, where its lines or its name tell; empty where several did
  int rank = -1;
  double firstSeconds = -1, lastSeconds = -1;  ///< of its first and last stamp, as Event::seconds
  std::string lastTime;                        ///< the last stamp as written
  std::string lastText;  ///< the last line that is not blank, at most kMaxErrorText bytes
  Place last;            ///< line 0: the file holds nothing
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
inline constexpr std::size_t kMaxEvents = 65'536;
inline constexpr std::size_t kMaxWaits = 65'536;
inline constexpr std::size_t kMaxUnknownErrors = 256;
inline constexpr std::size_t kMaxErrorText = 512;  ///< bytes
inline constexpr std::size_t kMaxMarks = 6;        ///< of one rank, host or file; the last ones

/// All of it.
struct RunFacts {
  std::vector<Event> events;  ///< in order of appearance, at most kMaxEvents distinct
  std::uint64_t eventsDropped = 0;
  std::vector<PerfTable> tables;

  // Filled only where the errors are to be explained (readers::ReadFor::Errors).
  std::vector<CollectiveWait> waits;  ///< at most kMaxWaits
  std::vector<UnknownError> unknown;  ///< in order of appearance, at most kMaxUnknownErrors
  std::uint64_t unknownDropped = 0;   ///< lines of further texts
  std::vector<Mark> marks;
  std::vector<FileSpan> spans;  ///< parallel to JobFacts::files
};

}  // namespace rdmaguard::engine
