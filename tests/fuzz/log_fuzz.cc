// NCCL's log, line by line, with the errors it hands on.
#include "fuzz.h"
#include "verifier/readers/log.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::JobFacts facts = fuzz::oneFile();
  readers::EventReader events(facts);
  readers::LogReader log(facts, events);
  const bool cut =
      fuzz::eachLine(fuzz::textOf(data, size),
                     [&](std::string_view line, engine::Place at) { log.line(line, at); });
  log.endOfFile(cut);
  events.endOfFile();
  log.finish();
  events.finish();
  return 0;
}
