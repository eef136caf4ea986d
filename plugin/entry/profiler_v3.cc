// The profiler interface v3, which NCCL 2.26 looks up.
#include "nccl_abi/profiler_v3.h"

#include "plugin/entry/adapter.h"

RDMAGUARD_PROFILER(3, rdmaguard::entry::initUntold<3>);
