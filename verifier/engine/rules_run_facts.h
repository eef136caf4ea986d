// Questions that the rules about runs share. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/rule_functions.h"

namespace rdmaguard::engine {

/// Stamps with a date are at least this many seconds; others count from midnight or from boot.
inline constexpr double kDatedSeconds = 3e7;

inline bool isCompletion(const Event& e) {
  return e.phase == Phase::Data && e.id.find("err") != std::string::npos &&
         !e.id.starts_with("async");
}
/// NCCL's exception or PyTorch's watchdog: what a job that failed says last.
inline bool isOutcome(const Event& e) {
  return e.id.starts_with("nccl-error-") || e.id == "watchdog-timeout";
}

/// "host-3", "rank 3", "a node"
inline std::string speakerOf(const Event& e) {
  if (!e.host.empty()) return e.host;
  return e.rank >= 0 ? "rank " + std::to_string(e.rank) : "a node";
}

/// An event as evidence.
Evidence evidenceOf(const JobFacts& job, const Event& e);

/// Events in time where both stamps are known on one scale, else by their place in one file:
/// -1 = a before b, 1 = after, 0 = cannot be told. The last repeat of `a`, the first of `b`.
int orderOf(const Event& a, const Event& b);

/// Hosts that NCCL lines of the input name, each once.
std::vector<std::string> hostsOfLog(const JobFacts& job);

Finding findingOf(std::string what, std::vector<Evidence> evidence, Certainty certainty,
                  std::string fix = {});

}  // namespace rdmaguard::engine
