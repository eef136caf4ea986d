// The profiler interface v6, which NCCL 2.29 and 2.30 look up.
#include "nccl_abi/profiler_v6.h"

#include "plugin/entry/adapter.h"

namespace {

nccl_abi::Result init(void** context, std::uint64_t commId, int* mask, const char* commName,
                      int nNodes, int nRanks, int rank, nccl_abi::Logger logger) {
  const rdmaguard::entry::InitArgs args{6,
                                        commId,
                                        commName,
                                        nNodes,
                                        nRanks,
                                        rank,
                                        reinterpret_cast<const void*>(logger),
                                        __builtin_return_address(0)};
  *context = rdmaguard::entry::onInit(args, mask);
  return nccl_abi::Result::Success;
}

}  // namespace

RDMAGUARD_PROFILER(6, init);
