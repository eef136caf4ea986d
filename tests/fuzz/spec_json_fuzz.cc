// Kubernetes objects as JSON.
#include "fuzz.h"
#include "verifier/readers/spec.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  engine::JobFacts facts = fuzz::oneFile();
  readers::readSpecJson(text, engine::Place{0, 1}, facts);
  return 0;
}
