// The verdict's vocabulary: findings, what was asked for, and the answer.
// Values only; made by rules.h, printed by the guard, the reports and the command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmaguard/transport.h"

namespace rdmaguard::engine {

/// What a rule's finding says about the job.
enum class FindingKind : std::uint8_t {
  MissingCondition,  ///< alone enough to keep NCCL off RDMA
  DegradedSignal,    ///< RDMA may be engaged, but slower or weaker than the node allows
  Note,              ///< worth knowing, decides nothing
};

constexpr std::string_view name(FindingKind k) {
  switch (k) {
    case FindingKind::MissingCondition:
      return "missing_condition";
    case FindingKind::DegradedSignal:
      return "degraded_signal";
    case FindingKind::Note:
      return "note";
  }
  return "note";
}

/// One rule that holds, with its reasons and the way out.
struct Finding {
  std::string ruleId{};
  FindingKind kind = FindingKind::Note;
  std::string what{};                ///< a whole sentence
  std::vector<Evidence> evidence{};  ///< never empty
  std::string fix{};                 ///< imperative sentences, a setting where there is one
  Certainty certainty = Certainty::Inferred;
};

/// What the user asks of the network: "rdma", "ib" or "roce", with ",gdr" if wanted.
struct Requirement {
  enum class Net : std::uint8_t { Rdma, IB, RoCE };
  Net net = Net::Rdma;
  bool gdr = false;
};

/// Parses "rdma|ib|roce[,gdr]" (any case, blanks around words ignored; "gdr" alone means
/// "rdma,gdr"). Nothing for anything else: the caller says so and takes the default.
std::optional<Requirement> parseRequirement(std::string_view text) noexcept;

/// The requirement in the words parseRequirement takes.
std::string_view name(Requirement r) noexcept;

/// Whether inter-node traffic is on RDMA.
enum class Engaged : std::uint8_t {
  Unknown,
  Yes,
  No,
  Partial,    ///< some ranks are, some are not
  NotNeeded,  ///< all ranks on one node: nothing to carry
};

constexpr std::string_view name(Engaged e) {
  switch (e) {
    case Engaged::Unknown:
      return "unknown";
    case Engaged::Yes:
      return "yes";
    case Engaged::No:
      return "no";
    case Engaged::Partial:
      return "partial";
    case Engaged::NotNeeded:
      return "not_needed";
  }
  return "unknown";
}

/// Whether GPU memory reaches the HCA directly. How it does so is Gdr.
enum class GdrState : std::uint8_t {
  Unknown,
  Enabled,
  Disabled,
  Partial,        ///< some connections or directions only
  NotApplicable,  ///< no RDMA carries data
};

constexpr std::string_view name(GdrState s) {
  switch (s) {
    case GdrState::Unknown:
      return "unknown";
    case GdrState::Enabled:
      return "enabled";
    case GdrState::Disabled:
      return "disabled";
    case GdrState::Partial:
      return "partial";
    case GdrState::NotApplicable:
      return "n/a";
  }
  return "unknown";
}

/// The state that a mechanism stands for.
constexpr GdrState stateOf(Gdr mechanism) {
  switch (mechanism) {
    case Gdr::Unknown:
      return GdrState::Unknown;
    case Gdr::None:
      return GdrState::Disabled;
    case Gdr::Peermem:
    case Gdr::DmaBuf:
      return GdrState::Enabled;
  }
  return GdrState::Unknown;
}

/// Whether a requirement is met. Violated only when it is known not to be.
enum class Met : std::uint8_t { Unknown, Yes, Violated };

/// The answer for one communicator.
struct Verdict {
  Engaged engaged = Engaged::Unknown;
  Transport transport = Transport::Unknown;
  std::string externalName;  ///< for Transport::External
  GdrState gdrState = GdrState::Unknown;
  Gdr gdr = Gdr::Unknown;  ///< the mechanism, where it is known
  Met requirement = Met::Unknown;
  std::string violation;         ///< a sentence, when the requirement is violated
  std::vector<Finding> missing;  ///< the first is what to fix first
  std::vector<Finding> degraded;
  std::vector<Finding> notes;
  std::vector<Evidence> evidence;  ///< what transport and gdr stand on
};

/// The command's exit code for a verdict: 0 engaged or not needed, 1 degraded,
/// 2 not engaged or the requirement is violated, 3 unknown.
int exitCode(const Verdict& verdict) noexcept;

}  // namespace rdmaguard::engine
