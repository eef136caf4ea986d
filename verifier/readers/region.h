// Hands every line of an input to the reader it belongs to: NCCL's log lines first, then the
// regions (spec, batch script, port listing, environment), JSON values, tables, events. One paste
// may hold them all in any order. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "verifier/readers/events.h"
#include "verifier/readers/line_shapes.h"
#include "verifier/readers/log.h"
#include "verifier/readers/perf.h"
#include "verifier/readers/reader.h"
#include "verifier/readers/region_json.h"

namespace rdmaguard::readers {

class LineRouter {
 public:
  explicit LineRouter(JobFacts& out);

  /// One line without its '\n'. `further`: not its first piece; a line longer than 1 MiB comes in
  /// several, all at the same place.
  void line(std::string_view text, Place at, bool further);
  /// Of one file: lines that are not blank, of these the ones that no reader knew, and of these
  /// the ones that are no text.
  struct Counts {
    std::uint64_t lines = 0, unknown = 0, binary = 0;
  };
  /// `cut`: the file ended without a newline, or could not be read to its end.
  Counts endOfFile(bool cut);
  /// All files were read.
  void finish();

 private:
  void plain(std::string_view text, Place at, bool further);
  void other(std::string_view text, Place at, bool further);
  bool gatherJson(std::string_view text, Place at);
  void jsonValue();
  void again(const std::string& text, Place first);
  bool unwrapped(std::string_view text, Place at);
  bool regionFirst(std::string_view text) const;
  bool tableHead(std::string_view text, Place at);
  bool offerRegion(std::string_view text, Place at);
  void append(std::string_view text, Place at);
  void begin(std::size_t kind, std::string_view text, Place at);
  void close(bool cut);

  JobFacts& out_;
  EventReader events_;
  LogReader log_;
  PerfReader perf_;
  JsonGatherer json_;
  bool jsonAllowed_ = true;
  bool unwrapping_ = false;

  std::size_t kind_;  ///< of the open region, an index of the table; its size: none is open
  std::string region_;
  Place regionFirst_;
  std::uint64_t regionLast_ = 0;
  bool regionTooLong_ = false;
  std::size_t regionIndentation_ = 0;  ///< of a code block: the region ends before a line with less

  LineShapes nobodys_;    ///< neither of a region nor of a table
  std::string controls_;  ///< scratch of withoutControls
  Counts counts_;
};

}  // namespace rdmaguard::readers
