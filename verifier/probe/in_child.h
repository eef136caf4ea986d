// Work that may crash, hang or leave a process changed (other people's libraries do all three),
// done in a child with a time limit. For the command; never called in a training job.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace rdmaguard::probe {

struct ChildRun {
  std::string result;   ///< what the work wrote to its descriptor
  std::string printed;  ///< what it and the libraries it called printed
  bool started = false;
  bool timedOut = false;  ///< it was killed at the limit
  int signal = 0;         ///< that ended it, 0 = none; SIGKILL where timedOut
  int exitCode = 0;
  double seconds = 0;

  bool ended() const { return started && !timedOut && signal == 0; }
};

/// Forks; the child has standard output and error in a pipe, standard input empty, dies with this
/// process, runs `work(descriptor)` and leaves by _exit(0), or _exit(70) where it threw. At most
/// 4 MiB of each stream are kept. The caller must have one thread. Never throws but for want of
/// memory.
ChildRun runInChild(std::chrono::milliseconds limit, const std::function<void(int)>& work);

}  // namespace rdmaguard::probe
