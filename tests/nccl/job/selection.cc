// See selection.h.
#include "selection.h"

#include <fmt/format.h>
#include <strings.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace rdmaguard::job {

Selection selectNet(const NcclLibrary& nccl, std::uint64_t commId) {
  const Release& release = nccl.release();
  const char* wanted = std::getenv("NCCL_NET");
  const auto begun = std::chrono::steady_clock::now();
  for (void* object : {nccl.netIb(), nccl.netSocket()}) {
    std::unique_ptr<Net> net = netAt(object, release.netVersion);
    const bool named = wanted == nullptr || ::strcasecmp(wanted, net->name().c_str()) == 0;
    if (release.nameBeforeInit && !named) continue;
    const bool usable = net->init(commId, nccl.logger(), nccl.profilerCallback());
    const int count = usable ? net->devices() : 0;
    if (count <= 0) {
      // 2.28.3 to 2.29.3 finalize even what failed to initialise; later only what did not.
      if (usable || nccl.version() < 22907) net->finalize();
      continue;
    }
    if (!named) continue;
    Selection selection{std::move(net), {}, 0};
    for (int i = 0; i < count; ++i) selection.devices.push_back(selection.net->device(i));
    selection.initMs =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
    return selection;
  }
  throw std::runtime_error(
      fmt::format("no network could be used (NCCL_NET={}): NCCL fails here with ncclInvalidUsage",
                  wanted != nullptr ? wanted : "unset"));
}

}  // namespace rdmaguard::job
