// Rows of the rule table for settings and node facts that a paste shows. Joined into the table
// by rules.cc; predicates in rules_env*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

// rules_env.cc: variables that do not do what they seem to.
MaybeFinding ibRetryCountTooHigh(const Case& c);
MaybeFinding ibTimeoutOutOfRange(const Case& c);
MaybeFinding variableMisspelt(const Case& c);
MaybeFinding variableNotRead(const Case& c);
MaybeFinding settingNotANumber(const Case& c);
MaybeFinding settingQuoted(const Case& c);
MaybeFinding blankBeforeEquals(const Case& c);

// rules_env_node.cc: what a shell shows of a node.
MaybeFinding gidIndexEmpty(const Case& c);
MaybeFinding gidIndexRoceV1(const Case& c);
MaybeFinding rdmaModulesMissing(const Case& c);
MaybeFinding peermemNotLoaded(const Case& c);
MaybeFinding rdmaCoreOldForUcx(const Case& c);

/// The first fact of `ls /dev/infiniband` that shows no verbs device; null where there is none, or
/// where another such list of the input shows some.
const Setting* uverbsAbsent(const JobFacts& job);

/// The first fact of a whole lsmod list without a peer-memory module; null where there is none, or
/// where another one shows such a module.
const Setting* peermemAbsent(const JobFacts& job);

inline constexpr std::array kEnvRules{
    Rule{"ib-retry-cnt-too-high", "NCCL_IB_RETRY_CNT does not fit its 3-bit field",
         FindingKind::MissingCondition, "Set NCCL_IB_RETRY_CNT=7, or unset it.", "",
         "InfiniBand Architecture (retry count of a QP: 3 bits), ibv_modify_qp(3)",
         ibRetryCountTooHigh, Scope::Job},
    Rule{"ib-timeout-out-of-range", "NCCL_IB_TIMEOUT does not fit its 5-bit field, or means none",
         FindingKind::DegradedSignal, "Unset NCCL_IB_TIMEOUT, or set a value from 14 to 22.", "",
         "InfiniBand Architecture (local ACK timeout of a QP: 5 bits, 0 = none), ibv_modify_qp(3)",
         ibTimeoutOutOfRange, Scope::Job},
    Rule{"gid-index-empty", "NCCL_IB_GID_INDEX names an empty entry of the GID table",
         FindingKind::MissingCondition,
         "Unset NCCL_IB_GID_INDEX: NCCL then takes the RoCE v2 entry by itself (2.21 or later).",
         "", "NCCL src/transport/net_ib (ncclIbGetGidIndex), ibv_devinfo(1) -v", gidIndexEmpty,
         Scope::Job},
    Rule{"rdma-modules-missing", "The kernel has no RDMA driver loaded",
         FindingKind::MissingCondition,
         "Load the HCA's driver on the host (mlx5_ib, irdma, bnxt_re, efa).", "no-rdma-device",
         "lsmod(8), Linux drivers/infiniband", rdmaModulesMissing, Scope::Job},
    Rule{"gid-index-roce-v1", "NCCL_IB_GID_INDEX names a RoCE v1 entry", FindingKind::Note,
         "Name an entry of RoCE v2 with an IPv4 or global IPv6 address, or unset the variable.", "",
         "NCCL src/transport/net_ib (ncclIbGetGidIndex), ibv_devinfo(1) -v", gidIndexRoceV1,
         Scope::Job},
    Rule{"nccl-variable-misspelt", "A variable's name is one or two letters off one of NCCL's",
         FindingKind::Note, "Correct the name.", "", "the variables of NCCL 2.3 to 2.32",
         variableMisspelt, Scope::Job},
    Rule{"nccl-variable-not-read", "This NCCL does not read a variable that is set",
         FindingKind::Note, "Remove it, or use what replaced it.", "",
         "the variables of NCCL 2.3 to 2.32", variableNotRead, Scope::Job},
    Rule{"setting-not-a-number", "A word where NCCL reads a number", FindingKind::Note,
         "Write a number.", "", "NCCL src/misc/param.cc (strtoll)", settingNotANumber, Scope::Job},
    Rule{"setting-quoted", "Quotes or a comment within a value", FindingKind::Note,
         "Remove them: in nccl.conf all behind '=' is the value.", "", "NCCL src/misc/param.cc",
         settingQuoted, Scope::Job},
    Rule{"conf-blank-before-equals", "A blank in front of '='", FindingKind::Note,
         "Write NAME=VALUE without blanks.", "", "NCCL src/misc/param.cc (setEnvFile)",
         blankBeforeEquals, Scope::Job},
    Rule{"peermem-not-loaded", "No peer-memory module is loaded", FindingKind::Note,
         "Nothing where GPUDirect RDMA goes by DMA-BUF; else modprobe nvidia_peermem on the host.",
         "", "NCCL src/transport/net_ib (ncclIbGdrSupport), lsmod(8)", peermemNotLoaded,
         Scope::Job},
    Rule{"rdma-core-old-for-ucx", "rdma-core before 54 beside UCX settings for GB300 RoCE",
         FindingKind::Note, "Install rdma-core 54 or later in the image; NCCL does without it.", "",
         "CoreWeave documentation: GB300 RoCE", rdmaCoreOldForUcx, Scope::Job},
};

}  // namespace rdmaguard::engine
