// Port listings, a region at once.
#include "fuzz.h"
#include "verifier/readers/ports.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  fuzz::readRegion({"ports", readers::claimPorts, readers::readPorts}, text);
  return 0;
}
