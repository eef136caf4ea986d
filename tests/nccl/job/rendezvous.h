// How the job's ranks meet: NCCL's bootstrap in miniature, over a Unix socket that rank 0 serves.
// One thread of each rank uses it.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace rdmaguard::job {

/// Another rank has gone: the consequence of a failure, not its cause.
class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Rendezvous {
 public:
  /// Blocks until all `ranks` have come to `path`; throws PeerLost after `timeoutSeconds`.
  Rendezvous(const std::string& path, int rank, int ranks, int timeoutSeconds);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// What every rank gave, by rank. Blocks until all have; throws PeerLost if one never will.
  std::vector<std::string> allGather(const std::string& mine);

 private:
  int rank_;
  int ranks_;
  std::vector<int> peers_;  ///< rank 0: by rank, -1 for itself; others: the one to rank 0
};

}  // namespace rdmaguard::job
