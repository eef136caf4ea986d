// Errors and events -> RunFacts: NCCL's warnings, PyTorch, MPI, Slurm, UCX, the kernel's log,
// storage metrics. Line by line.
#pragma once

#include <memory>

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

/// Who said an NCCL message, as far as its prefix tells.
struct Speaker {
  std::string_view host;
  long pid = 0;
  int rank = -1;              ///< of the communicator or the launcher's tag, -1 = not known
  std::string_view time;      ///< as written, empty = none
  std::string_view location;  ///< "transport/net_ib.cc:101", empty = none
  bool warn = false;          ///< NCCL WARN, else INFO
};

class EventReader {
 public:
  explicit EventReader(JobFacts& out);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// A message of NCCL's own that may be an error: every WARN, and INFO ones that name a failure.
  void nccl(const Speaker& who, std::string_view message, Place at);
  /// Any line that is not NCCL's. False: it says nothing this reader knows.
  bool line(std::string_view text, Place at);
  void endOfFile();
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmaguard::readers
