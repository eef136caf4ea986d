// Rows of the error table: completions in error and asynchronous events.
#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {

std::span<const ErrorRule> completionErrorRules() noexcept {
  return {};
}

}  // namespace rdmaguard::engine
