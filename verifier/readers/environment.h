// `env` output, nccl.conf, and what a shell shows of a node (ulimit, ls /dev/infiniband, package
// versions) -> JobFacts::settings and hostFacts.
#pragma once

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

Claim claimEnvironment(std::string_view line, bool inside) noexcept;
void readEnvironment(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;

}  // namespace rdmaguard::readers
