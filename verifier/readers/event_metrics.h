// A table of a node's metrics over time, comma-separated, as exported from a dashboard: storage
// reads that stop while the GPUs still work, and GPUs that go idle beside busy ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/run_facts.h"

namespace rdmaguard::readers {

class MetricsReader {
 public:
  /// False: no line of such a table. Events that became certain are appended to `found`.
  bool line(std::string_view text, engine::Place at, std::vector<engine::Event>& found);
  void endOfFile() { columns_.clear(); }

 private:
  enum class Kind : std::uint8_t { Other, StorageReads, GpuUse };
  struct Series {
    Kind kind = Kind::Other;
    std::string name;
    double most = 0;
    int low = 0;  ///< rows in a row near nothing
    bool told = false;
    engine::Place lowSince;
    std::string lowTime;
  };

  bool heading(std::string_view text);

  std::vector<Series> columns_;
};

}  // namespace rdmaguard::readers
