// Tables of nccl-tests, line by line.
#include "fuzz.h"
#include "verifier/readers/perf.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  engine::JobFacts facts = fuzz::oneFile();
  readers::PerfReader reader(facts);
  fuzz::eachLine(text, [&](std::string_view line, engine::Place at) { reader.line(line, at); });
  reader.endOfFile();
  reader.finish();
  return 0;
}
