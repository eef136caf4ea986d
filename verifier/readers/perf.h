// nccl-tests and rccl-tests tables and JSON -> PerfTable. Line by line: NCCL lines may stand
// between the rows, and a launcher's tag before each.
#pragma once

#include <memory>

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

class PerfReader {
 public:
  explicit PerfReader(JobFacts& out);
  ~PerfReader();
  PerfReader(const PerfReader&) = delete;
  PerfReader& operator=(const PerfReader&) = delete;

  /// False: the line is no part of a table.
  bool line(std::string_view text, Place at);
  /// Within a table: its next lines are rows, whatever else "..." or "# text" might begin.
  bool open() const;
  /// Whether line() may remember something of a line although it says false.
  static bool mayNote(std::string_view text);
  /// A line that belongs to another reader and may be the command that makes the next table.
  void command(std::string_view text);
  /// A whole JSON value (`nccl-tests -J`, rccl-tests' JSON lines). False: not of that kind.
  bool json(std::string_view text, Place at);
  void endOfFile();
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmaguard::readers
