// Compile-time proof of a memory layout. Only the headers of include/nccl_abi use these macros:
// a size or an offset that drifts stops the build instead of corrupting a job.
#pragma once

#include <cstddef>

/// Holds `sizeof(struct_)` at `bytes`.
#define NCCL_ABI_SIZE(struct_, bytes) \
  static_assert(sizeof(struct_) == (bytes), #struct_ " changed size")

/// Holds `member` of `struct_` (a nested designator is allowed) at byte `offset`.
#define NCCL_ABI_AT(struct_, member, offset) \
  static_assert(offsetof(struct_, member) == (offset), #struct_ "::" #member " moved")
