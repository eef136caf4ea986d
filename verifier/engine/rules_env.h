// Rows of the rule table for settings and node facts that a paste shows. Joined into the table
// by rules.cc; predicates in rules_env.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

MaybeFinding ibRetryCountTooHigh(const Case& c);

inline constexpr std::array kEnvRules{
    Rule{"ib-retry-cnt-too-high", "NCCL_IB_RETRY_CNT does not fit its 3-bit field",
         FindingKind::MissingCondition, "Set NCCL_IB_RETRY_CNT=7, or unset it.", "",
         "InfiniBand Architecture (retry count of a QP: 3 bits), ibv_modify_qp(3)",
         ibRetryCountTooHigh, Scope::Job},
};

}  // namespace rdmaguard::engine
