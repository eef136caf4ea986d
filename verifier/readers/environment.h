// What a shell shows of a node and its variables -> JobFacts::settings and hostFacts: `env`,
// `export -p` and traced exports, nccl.conf, docker's -e and --ulimit, /proc/PID/environ, ulimit,
// /proc/PID/limits, `ls /dev/infiniband`, package lists, lsmod.
#pragma once

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

Claim claimEnvironment(std::string_view line, bool inside) noexcept;
void readEnvironment(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;

/// /proc/PID/environ as it is, NAME=VALUE with a NUL behind each: true where `block` is one.
bool readEnvironBlock(std::string_view block, Place at, JobFacts& out) noexcept;

}  // namespace rdmaguard::readers
