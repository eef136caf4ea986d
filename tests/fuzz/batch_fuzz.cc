// Slurm batch scripts, a region at once.
#include "fuzz.h"
#include "verifier/readers/batch.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  fuzz::readRegion({"batch", readers::claimBatch, readers::readBatch}, text);
  return 0;
}
