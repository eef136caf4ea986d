// Rows of the error table: bootstrap, sockets, proxy, versions.
#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {

std::span<const ErrorRule> bootstrapErrorRules() noexcept {
  return {};
}

}  // namespace rdmaguard::engine
