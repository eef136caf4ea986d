// The profiler interface v1, which NCCL 2.23 looks up.
#include "nccl_abi/profiler_v1.h"

#include "plugin/entry/adapter.h"

RDMAGUARD_PROFILER(1, rdmaguard::entry::initUntold<1>);
