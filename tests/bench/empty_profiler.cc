// A profiler plugin whose every callback returns at once: the baseline of profiler_bench.
#include "nccl_abi/profiler_v5.h"
#include "nccl_abi/profiler_v6.h"

namespace {

using nccl_abi::Result;

int context;

Result init(void** out, std::uint64_t, int* mask, const char*, int, int, int, nccl_abi::Logger) {
  *out = &context;
  *mask = 0;
  return Result::Success;
}

template <class Descriptor>
Result startEvent(void*, void** handle, Descriptor*) {
  *handle = &context;
  return Result::Success;
}

Result stopEvent(void*) {
  return Result::Success;
}

Result recordEventState(void*, nccl_abi::EventState, nccl_abi::EventStateArgsV4*) {
  return Result::Success;
}

Result finalize(void*) {
  return Result::Success;
}

}  // namespace

#define EMPTY_PROFILER_OBJECT(version)                                      \
  extern "C" __attribute__((visibility("default")))                         \
  const nccl_abi::profiler_v##version::Profiler ncclProfiler_v##version;    \
  const nccl_abi::profiler_v##version::Profiler ncclProfiler_v##version = { \
      "empty",                                                              \
      init,                                                                 \
      startEvent<nccl_abi::profiler_v##version::EventDescriptor>,           \
      stopEvent,                                                            \
      recordEventState,                                                     \
      finalize}

EMPTY_PROFILER_OBJECT(5);
EMPTY_PROFILER_OBJECT(6);
