// The profiler interface v2, which NCCL 2.24 and 2.25 looks up.
#include "nccl_abi/profiler_v2.h"

#include "plugin/entry/adapter.h"

RDMAGUARD_PROFILER(2, rdmaguard::entry::initUntold<2>);
