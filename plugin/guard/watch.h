// Judges each communicator when it is made and again whenever the tap has news, and
// acts on a violation: warn or abort, once. Owned by plugin/entry's Process.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/collective/collective.h"
#include "plugin/guard/observe.h"
#include "plugin/guard/policy.h"
#include "plugin/guard/signs.h"
#include "plugin/report/reporter.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::guard {

class Watch {
 public:
  explicit Watch(const Policy& policy);

  /// Where lines, records and aborts go. Before the first begin().
  void attach(report::Reporter& reporter) { reporter_ = &reporter; }

  /// A communicator was made: judges it at once, and does not return when the policy
  /// is to abort and the verdict calls for it. Init thread.
  void begin(collective::Communicator* communicator, const CommunicatorFacts& facts,
             const TapState& tap);

  /// Before the communicator is closed: says its line if it was not said yet. Finalize
  /// thread.
  void end(collective::Communicator* communicator);

  /// Judges again what is not settled or has news. Report thread, each pass.
  void look();

  /// Traffic of NCCL's internal transports, for the records. Report thread.
  std::vector<report::DeviceTraffic> traffic() const;

 private:
  struct Watched {
    collective::Communicator* communicator = nullptr;
    CommunicatorFacts facts;
    TapState tap;
    std::optional<TransportSigns> signs;  // the verdict stands on these
    engine::Verdict verdict;
    std::vector<std::string> devices;
    std::string deviceText;  // for a person: names, speed, link layer
    std::string recorded;    // last verdict record, to write only what changed
    std::chrono::steady_clock::time_point begun;
    bool settled = false;    // seen in use, with its GPUDirect RDMA status
    bool announced = false;  // its line was said, or is not this rank's to say
    bool acted = false;      // the violation was warned about
    bool aborting = false;   // its last word is said: the process is about to end
  };

  /// What the process shows now, read at most once per tapped NCCL.
  struct Look {
    tap::Snapshot snapshot = tap::snapshot();
    std::vector<std::pair<TapState, TransportSigns>> signs;
  };
  const TransportSigns& signsOf(const TapState& tap, Look& look);
  /// False when nothing has changed since the last time.
  bool judge(Watched& watched, Look& look);
  std::string words(const Watched& watched);
  /// Records the verdict and warns. The text to abort with, when that is called for.
  std::optional<std::string> act(Watched& watched);
  void announce(Watched& watched);
  const engine::NodeFacts& node(int ncclVersion);

  const Policy policy_;
  const engine::Requirement wanted_;
  report::Reporter* reporter_ = nullptr;

  std::mutex mutex_;  // init, finalize and report threads; never one in the steady state
  std::vector<std::unique_ptr<Watched>> watched_;
  engine::NodeFacts node_;
  std::chrono::steady_clock::time_point nodeRead_{};
  std::vector<std::string> said_;  // violations this process has spoken of
  std::uint64_t seenChanges_ = 0;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace rdmaguard::guard
