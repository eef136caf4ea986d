// What the job was asked to do, and its exit codes. Values only.
#pragma once

#include <cstddef>
#include <string>

namespace rdmaguard::job {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 64;
/// Another rank went away: whoever started the job looks for the rank that has the cause.
inline constexpr int kExitPeerLost = 70;
inline constexpr int kExitLimit = 124;

struct Options {
  std::string nccl = "libnccl.so.2";
  int ranks = 2;
  int nodes = 0;  ///< nodes the profiler is told of; 0: one a rank
  std::size_t bytes = 1 << 20;
  int iterations = 20;
  double seconds = 0;  ///< > 0: as many collectives as fit, instead of `iterations`
  int pauseMs = 0;     ///< between two collectives
  int channels = 0;    ///< 0: one a device, at most 4
  std::size_t pieceBytes = 512 << 10;
  int limitSeconds = 60;
  bool dryRun = false;
  bool quiet = false;
  std::string json;

  int rank = -1;  ///< set in the processes of the ranks
  std::string meetingPlace;
};

/// Runs all ranks as processes of their own; returns the job's exit code. `argv` is this program's.
int runRanks(const Options& options, char** argv);

/// Runs one rank in this process.
int runRank(const Options& options);

}  // namespace rdmaguard::job
