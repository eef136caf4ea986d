// Starts the ranks: fork and exec before anything has touched a device (a process must not fork
// with an RDMA device open), with the variables torchrun would set for one rank a node.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "options.h"

namespace rdmaguard::job {
namespace {

using Clock = std::chrono::steady_clock;

struct Rank {
  pid_t pid = -1;
  int code = -1;  ///< -1 while it runs
};

int exitCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The first rank that failed by itself says what the job's exit code is: those that only lost a
// peer follow.
int worst(const std::vector<Rank>& ranks, int first) {
  if (first != 0 && first != kExitPeerLost) return first;
  int code = first;
  for (const Rank& rank : ranks) {
    if (rank.code > 0 && (code == 0 || code == kExitPeerLost)) code = rank.code;
  }
  return code;
}

pid_t start(const Options& options, char** argv, int rank, const std::string& meetingPlace) {
  const std::string rankText = std::to_string(rank);
  const std::string rankOption = "--rank=" + rankText;
  const std::string meetingOption = "--meeting-place=" + meetingPlace;
  std::vector<char*> args;
  for (char** arg = argv; *arg != nullptr; ++arg) args.push_back(*arg);
  args.push_back(const_cast<char*>(rankOption.c_str()));
  args.push_back(const_cast<char*>(meetingOption.c_str()));
  args.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int nodes = options.nodes > 0 ? options.nodes : options.ranks;
  const int perNode = (options.ranks + nodes - 1) / nodes;
  ::setenv("RANK", rankText.c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(options.ranks).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank % perNode).c_str(), 1);
  ::setenv("LOCAL_WORLD_SIZE", std::to_string(perNode).c_str(), 1);
  ::setenv("GROUP_RANK", std::to_string(rank / perNode).c_str(), 1);
  ::setenv("NCCL_HOSTID", fmt::format("node{}", rank / perNode).c_str(), 1);
  ::execv("/proc/self/exe", args.data());
  ::_exit(127);
}

void signalAll(const std::vector<Rank>& ranks, int signal) {
  for (const Rank& rank : ranks) {
    if (rank.code < 0) ::kill(rank.pid, signal);
  }
}

}  // namespace

int runRanks(const Options& options, char** argv) {
  std::string folder = "/tmp/nccl-job.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder in /tmp");
  const std::string meetingPlace = folder + "/ranks";
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(options.ranks));
  for (int r = 0; r < options.ranks; ++r) {
    ranks.push_back({start(options, argv, r, meetingPlace), -1});
  }
  const auto limit = Clock::now() + std::chrono::seconds(options.limitSeconds);
  auto killAt = Clock::time_point::max();
  int first = 0;
  std::size_t running = ranks.size();
  while (running > 0) {
    for (Rank& rank : ranks) {
      int status = 0;
      if (rank.code >= 0 || ::waitpid(rank.pid, &status, WNOHANG) != rank.pid) continue;
      rank.code = exitCode(status);
      --running;
      if (rank.code == 0 || first != 0) continue;
      // As a launcher does: one rank down takes the others with it, after a moment to say why.
      first = rank.code;
      killAt = Clock::now() + std::chrono::seconds(10);
    }
    if (Clock::now() > limit && first == 0) {
      fmt::print(stderr, "nccl-job: the limit of {} s was hit\n", options.limitSeconds);
      first = kExitLimit;
      killAt = Clock::now();
    }
    if (Clock::now() >= killAt) {
      signalAll(ranks, SIGKILL);
      killAt = Clock::time_point::max();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::unlink(meetingPlace.c_str());
  ::rmdir(folder.c_str());
  return worst(ranks, first);
}

}  // namespace rdmaguard::job
