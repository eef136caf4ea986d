// The profiler interface v5, which NCCL 2.28 looks up.
#include "nccl_abi/profiler_v5.h"

#include "plugin/entry/adapter.h"

namespace {

nccl_abi::Result init(void** context, std::uint64_t commId, int* mask, const char* commName,
                      int nNodes, int nRanks, int rank, nccl_abi::Logger logger) {
  const rdmaguard::entry::InitArgs args{5,
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

RDMAGUARD_PROFILER(5, init);
