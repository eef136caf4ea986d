// Kubernetes manifests (YAML and JSON, rendered or not), values files -> SpecFacts.
#pragma once

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

Claim claimSpec(std::string_view line, bool inside) noexcept;
void readSpec(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;

/// A whole JSON value. False: no Kubernetes object.
bool readSpecJson(std::string_view text, Place first, JobFacts& out) noexcept;

}  // namespace rdmaguard::readers
