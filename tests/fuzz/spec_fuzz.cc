// Kubernetes manifests, a region at once.
#include "fuzz.h"
#include "verifier/readers/spec.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  fuzz::readRegion({"spec", readers::claimSpec, readers::readSpec}, text);
  return 0;
}
