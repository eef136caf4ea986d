// Slurm batch scripts and job-start scripts -> SpecFacts.
#pragma once

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

Claim claimBatch(std::string_view line, bool inside) noexcept;
void readBatch(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;

}  // namespace rdmaguard::readers
