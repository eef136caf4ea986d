// The profiler interface v4, which NCCL 2.27 looks up.
#include "nccl_abi/profiler_v4.h"

#include "plugin/entry/adapter.h"

namespace {

nccl_abi::Result init(void** context, int* mask, const char* commName, std::uint64_t commHash,
                      int nNodes, int nRanks, int rank, nccl_abi::Logger logger) {
  const rdmaguard::entry::InitArgs args{4,
                                        commHash,
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

RDMAGUARD_PROFILER(4, init);
