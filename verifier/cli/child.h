// Runs a command as a shell would: signals passed on, its exit code given back.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rdmaguard::cli {

struct ChildResult {
  int exitCode = 0;          ///< its own; 128 + signal; 126 or 127 when it could not be started
  int signal = 0;            ///< the signal that ended it, or 0
  std::string startFailure;  ///< why it could not be started; empty when it was
};

/// Starts `command` (found by PATH) with `settings` added to the environment, passes
/// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 on to it, and waits for its end.
ChildResult runChild(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace rdmaguard::cli
