// A whole input through all of `rdmaguard verify`: the kinds told apart, read, judged and printed.
#include "fuzz.h"
#include "verifier/engine/job_json.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/verdict_json.h"
#include "verifier/readers/input.h"

using namespace rdmaguard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  const readers::InputResult input = readers::readText(text, "input.txt");
  const engine::JobVerdict verdict = engine::judgeJob(input.facts, {});
  fuzz::require(verdict.exitCode >= 0 && verdict.exitCode <= 3);
  fuzz::require(!verdict.sentence.empty());
  for (const auto* findings : {&verdict.job.missing, &verdict.job.degraded, &verdict.job.notes})
    for (const engine::Finding& f : *findings) fuzz::require(!f.evidence.empty());
  const std::string json = engine::oneLine(engine::toJson(verdict, input.facts));
  fuzz::require(nlohmann::json::accept(json));
  return 0;
}
