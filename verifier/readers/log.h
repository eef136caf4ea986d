// NCCL's log lines of every release and behind every prefix -> LogFacts. Line by line, in
// bounded memory; the speed of `rdmaguard verify` is this reader's.
#pragma once

#include <memory>

#include "verifier/readers/events.h"
#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

class LogReader {
 public:
  /// Messages that may be errors are also handed to `events`.
  LogReader(JobFacts& out, EventReader& events);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// Takes one line without its end. False: it holds nothing of NCCL's. One line may hold
  /// several messages (halves of interleaved writes, joined lines).
  bool line(std::string_view text, Place at);
  /// The file ended; `cut`: without a newline.
  void endOfFile(bool cut);
  /// All input was read: completes `out.log`.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmaguard::readers
