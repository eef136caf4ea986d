// Where an object's literals lie, so that NCCL's words can be remembered by address. Called when a
// communicator is opened.
#pragma once

#include "plugin/collective/communicator.h"

namespace rdmaguard::collective {

/// Read-only segments of the loaded object that holds `inside`; empty ranges when it is null or in
/// none. What lies there cannot change while the object is loaded.
LiteralRanges literalsAround(const void* inside) noexcept;

}  // namespace rdmaguard::collective
