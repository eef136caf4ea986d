// What a guarded run left behind: the JSON lines of its processes, summed up.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rdmaguard::cli {

/// One communicator over all the ranks of this host that wrote about it.
struct CommunicatorSummary {
  nlohmann::ordered_json verdict;  ///< the last of the worst: a violation outranks the rest
  std::string transport, gdr, devices;
  int nNodes = 0, nRanks = 0;
  int ranksHere = 0;      ///< ranks that left a verdict
  int ranksViolated = 0;  ///< of those, ranks whose requirement was violated
  bool aborted = false;   ///< the guard ended a process over it
  std::uint64_t seen = 0, written = 0, dropped = 0;
  std::vector<std::string> busbw;  ///< phrases of the lowest rank that left a summary
  int busbwRank = -1;
};

struct RunSummary {
  int processes = 0;  ///< files read
  int guardExitCode = 0;
  std::uint64_t unreadable = 0;                              ///< lines that were no JSON
  std::map<std::string, CommunicatorSummary> communicators;  ///< by the id NCCL logs

  bool violated() const;
  bool aborted() const;
};

/// Reads every rdmaguard-*.jsonl (and .jsonl.1) of `directory`, leaving out records made
/// before `sinceMicroseconds` (Unix time) by an earlier run. Never throws on their content.
RunSummary readRun(const std::string& directory, std::uint64_t sinceMicroseconds);

/// The summary as the lines `rdmaguard run` prints; `exitCode` is the one it will give.
std::string summaryText(const RunSummary& run, int exitCode, bool colour);

/// The same for programs.
nlohmann::ordered_json summaryJson(const RunSummary& run, int exitCode);

}  // namespace rdmaguard::cli
