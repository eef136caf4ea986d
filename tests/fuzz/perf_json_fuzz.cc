// nccl-tests -J and like JSON, a value at once.
#include "fuzz.h"
#include "verifier/readers/perf.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  engine::JobFacts facts = fuzz::oneFile();
  readers::PerfReader reader(facts);
  reader.json(text, engine::Place{0, 1});
  reader.endOfFile();
  reader.finish();
  return 0;
}
