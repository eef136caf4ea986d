// What the rows of rules_spec.h have in common: the specs of a case put together, and findings
// over roles. Used by rules_spec*.cc alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verifier/engine/case.h"
#include "verifier/engine/rule_functions.h"
#include "verifier/engine/spec_view.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {

inline constexpr std::size_t kMaxSpecEvidence = 8;

/// A batch script as the rules see it.
struct ScriptView {
  const BatchScript* script = nullptr;
  std::vector<SettingView> settings;  ///< one per name, in force
  bool oneNode = false;
  bool manyNodes = false;  ///< neither: it does not say
  Place oneNodeAt;
  bool gb300 = false;        ///< its partition or constraint says so, and it is meant for RoCE
  bool otherFabric = false;  ///< it is set up for EFA or GPUDirect-TCPX, not for InfiniBand or RoCE
  bool gpus = false;         ///< it asks for GPUs or sets up NCCL
  const SettingView* setting(std::string_view name) const;
};

/// The scripts that start something or set something.
std::vector<ScriptView> scriptsOf(const JobFacts& job);

/// Something a finding is about: where it is, in words, and the line.
struct SpecSubject {
  std::string who;   ///< "container t of Worker (MPIJob bench)"
  std::string fact;  ///< a sentence
  Place at;
};

/// One finding about all subjects; nothing where there are none. `what` is made of the names:
/// "{}: rest" is not done, the caller's sentence follows them.
MaybeFinding aboutAll(const JobFacts& job, const std::vector<SpecSubject>& subjects,
                      std::string_view one, std::string_view many, std::string fix,
                      Certainty certainty = Certainty::Told);

/// Calls `take(role)` for each role with GPUs that needs RDMA; it returns a subject or nothing.
template <typename Take>
std::vector<SpecSubject> subjectsOf(const std::vector<RoleView>& roles, const Take& take) {
  std::vector<SpecSubject> found;
  for (const RoleView& role : roles)
    if (std::optional<SpecSubject> s = take(role)) found.push_back(std::move(*s));
  return found;
}

/// The whole job of a case, where it holds specs.
inline const JobFacts* specJob(const Case& c) {
  return c.job && c.job->specs.any ? c.job : nullptr;
}

}  // namespace rdmaguard::engine
