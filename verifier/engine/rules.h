// THE rule table: facts of a node and of a selection -> findings, and the verdict over them.
// The plugin's guard, preflight, verify and `rdmaguard rules` all use this one table.
// Pure functions without I/O or state; any thread. They allocate, so not for NCCL's
// steady-state threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/selection.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::engine {

struct Case;  // facts, selection and what follows from them (case.h)

/// What a rule looks at.
enum class Scope : std::uint8_t {
  Process,  ///< one node and one selection: live, preflight, and each process of a log
  Job,      ///< the whole of an input (Case::job): specs, listings, ranks beside each other
};

/// One row of the table.
struct Rule {
  std::string_view id;
  std::string_view title;  ///< the condition in a few words
  FindingKind kind;
  std::string_view fix;     ///< what to do, in general; a finding's own fix is more concrete
  std::string_view alias;   ///< another id the same condition is reported under; empty if none
  std::string_view source;  ///< where the rule comes from: an NCCL source file and release, ...
  std::optional<Finding> (*applies)(const Case&);
  Scope scope = Scope::Process;
};

/// The whole table. Missing conditions stand in the order in which NCCL meets them.
std::span<const Rule> rules() noexcept;

/// The findings of one kind and scope that hold, in the table's order, each with its row's id,
/// kind and (where it has none of its own) fix.
std::vector<Finding> findings(const Case& c, FindingKind kind, Scope scope = Scope::Process);

/// Every condition that alone keeps this communicator off RDMA, the one to fix first in
/// front. When none is found: one finding "unknown-cause" that says what was checked and
/// what to run next. Empty when nothing needs explaining: one node, or RDMA selected.
/// Never throws; out of memory gives an empty list.
std::vector<Finding> explainFallback(const NodeFacts& node, const Selection& seen) noexcept;

/// The verdict for one communicator: `missing` as explainFallback, the degraded signals and
/// notes that hold, and whether `wanted` is met. Where the number of nodes is not known, Socket
/// counts as off RDMA only once a connection was seen. Never throws.
Verdict judge(const NodeFacts& node, const Selection& seen, const Requirement& wanted) noexcept;

}  // namespace rdmaguard::engine
