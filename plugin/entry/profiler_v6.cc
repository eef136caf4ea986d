// The profiler interface v6, which NCCL 2.29 and 2.30 look up.
#include "nccl_abi/profiler_v6.h"

#include "plugin/entry/adapter.h"

RDMAGUARD_PROFILER(6, rdmaguard::entry::initTold<6>);
