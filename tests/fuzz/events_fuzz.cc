// Errors and events: each line as one of NCCL's own messages, and as any other line.
#include "fuzz.h"
#include "verifier/readers/events.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::JobFacts facts = fuzz::oneFile();
  readers::EventReader reader(facts);
  fuzz::eachLine(fuzz::textOf(data, size), [&](std::string_view line, engine::Place at) {
    readers::Speaker who;
    who.host = "node-1";
    who.pid = 4711;
    who.rank = static_cast<int>(at.line % 8);
    who.location = "transport/net_ib.cc:101";
    who.warn = at.line % 2 == 0;
    reader.nccl(who, line, at);
    reader.line(line, at);
  });
  reader.endOfFile();
  reader.finish();
  return 0;
}
