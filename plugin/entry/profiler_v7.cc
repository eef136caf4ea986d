// The profiler interface v7, which NCCL 2.31 and later look up.
#include "nccl_abi/profiler_v7.h"

#include "plugin/entry/adapter.h"

namespace {

nccl_abi::Result init(void** context, std::uint64_t commId, int* mask, const char* commName,
                      int nNodes, int nRanks, int rank, nccl_abi::Logger logger) {
  const rdmaguard::entry::InitArgs args{7,
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

RDMAGUARD_PROFILER(7, init);
