// The guard's log lines: spdlog to standard error or to a file of the user's.
// Used by our report thread and by NCCL's init and finalize threads, never by a
// thread of NCCL's in the steady state.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace rdmaguard::report {

/// Who is speaking; fills %h, %p and %r of a file pattern and heads each line.
struct Speaker {
  std::string host;
  int pid = 0;
  int rank = -1;  ///< -1: not known, written as "unknown"
};

/// The host's name, short (up to the first dot) as NCCL writes it.
std::string hostName();

/// `pattern` with %h, %p, %r and %% replaced; any other % stays as it is.
std::string expandPattern(std::string_view pattern, const Speaker& who);

/// Lines of text, each written at once and whole. Never throws and never fails:
/// where standard error is closed or the disk is full the line is lost and the
/// job goes on.
class Log {
 public:
  /// Opens `pattern` (empty: standard error). When the file can't be opened,
  /// lines go to standard error and the first of them says so. Allocates.
  Log(const std::string& pattern, const Speaker& who);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void info(std::string_view line) noexcept;
  void warn(std::string_view line) noexcept;

 private:
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace rdmaguard::report
