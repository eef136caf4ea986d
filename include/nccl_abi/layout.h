// Compile-time proof of a memory layout. Only the headers of include/nccl_abi use these macros:
// a size or an offset that drifts stops the build instead of corrupting a job.
#pragma once

#include <cstddef>

/// Holds `sizeof(type)` at `bytes`.
#define NCCL_ABI_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " changed size")

/// Holds `member` of `type` (a nested designator is allowed) at byte `offset`.
#define NCCL_ABI_AT(type, member, offset) \
  static_assert(offsetof(type, member) == (offset), #type "::" #member " moved")
