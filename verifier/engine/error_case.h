// One input before the rows of the error table: its errors in groups, the clocks beside each
// other, what verify says of it. Built by error_case.cc; read by the judges of error_rules_*.cc.
// Holds references to the facts: no longer-lived than they are. Pure, any thread; allocates.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/collectives.h"
#include "verifier/engine/error_rules.h"
#include "verifier/engine/job_facts.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/timeline.h"

namespace rdmaguard::engine {

/// All events of one id.
struct ErrorGroup {
  std::string id;
  const ErrorRule* rule = nullptr;   ///< null: an id without a row
  std::vector<const Event*> events;  ///< failures; in order of time where that is known, else as
                                     ///< they stand in the input; never empty
  bool root = false;                 ///< no error came before it
  bool earlierRun = false;           ///< of a run before the one that is explained
  const Event& first() const { return *events.front(); }
};

struct ErrorCase {
  const JobFacts& job;
  const JobVerdict& verdict;  ///< what `verify` says
  Timeline timeline;
  CollectiveReport collectives;
  std::deque<Event> made;          ///< of madeEvents()
  std::vector<ErrorGroup> groups;  ///< the root first, then by time, else by depth
  /// The first failure; null where nothing failed.
  const ErrorGroup* root = nullptr;

  ErrorCase(const JobFacts& facts, const JobVerdict& said);
  ErrorCase(const ErrorCase&) = delete;
  ErrorCase& operator=(const ErrorCase&) = delete;

  /// The group of that id, or null. Failures only.
  const ErrorGroup* find(std::string_view id) const;
  /// The first event (failure or not) whose id is `id`, or begins so where it ends with '*'.
  const Event* event(std::string_view id) const;
  std::vector<const Event*> events(std::string_view id) const;
  /// The value of a variable as environment, script, spec or log give it; null: nothing says it.
  const Setting* setting(std::string_view name) const;
  /// A fact of the node by name ("ulimit -l", "package libibverbs1", "gpu", "driver"); or null.
  const Setting* fact(std::string_view name) const;
  /// Whether verify lists a finding with that id under any heading; null: no.
  const Finding* finding(std::string_view id) const;
  /// Hosts the input names in NCCL lines and events, each once, sorted.
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// Distinct speakers of a group: ranks where named, else hosts.
  std::vector<std::string> speakers(const ErrorGroup& g) const;

  Evidence evidence(const Event& e) const;
  /// "env.txt:3 sets NCCL_IB_RETRY_CNT to 16."
  Evidence evidence(const Setting& s) const;

 private:
  std::vector<std::string> hosts_;
  std::vector<Setting> settings_;
};

}  // namespace rdmaguard::engine
