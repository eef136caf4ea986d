// The profiler interface v5, which NCCL 2.28 looks up.
#include "nccl_abi/profiler_v5.h"

#include "plugin/entry/adapter.h"

RDMAGUARD_PROFILER(5, rdmaguard::entry::initTold<5>);
