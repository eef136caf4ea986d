// env output, nccl.conf and what a shell shows of a node, a region at once.
#include "fuzz.h"
#include "verifier/readers/environment.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  fuzz::readRegion({"environment", readers::claimEnvironment, readers::readEnvironment}, text);
  return 0;
}
