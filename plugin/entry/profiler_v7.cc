// The profiler interface v7, which NCCL 2.31 and later look up.
#include "nccl_abi/profiler_v7.h"

#include "plugin/entry/adapter.h"

RDMAGUARD_PROFILER(7, rdmaguard::entry::initTold<7>);
