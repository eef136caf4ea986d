// The answer of `rdmaguard explain`: the first failure of a job, what followed from it, the causes
// in order with the evidence for and against each, what it is not, what to do next. Composed here
// from the error table (error_rules.h) over an input (error_case.h). Pure, any thread; allocates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verifier/engine/collectives.h"
#include "verifier/engine/error_rules.h"
#include "verifier/engine/job_facts.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/timeline.h"

namespace rdmaguard::engine {

/// The id of the cause of an error that another one brought about.
inline constexpr std::string_view kConsequence = "consequence-of-first-error";

/// One possible cause, judged.
struct CauseVerdict {
  std::string id;
  Layer layer = Layer::Unknown;
  std::string what, check;  ///< as in the row
  Support support = Support::Open;
  std::vector<Evidence> supporting, against;
};

/// What an error is not.
struct NotVerdict {
  std::string id, what;
};

/// One kind of error of the input.
struct ErrorVerdict {
  std::string id, title, means;
  bool root = false;         ///< the first failure
  bool consequence = false;  ///< the root, or what followed from it, brought it about
  bool earlierRun = false;   ///< of a run before
  std::string who;           ///< "rank 9", "node-17"; empty: several at once, or not said
  int rank = -1;
  std::string host, device, detail;
  std::string time;        ///< as written
  double afterFirst = 0;   ///< seconds after the first failure, where `timed`
  double uncertainty = 0;  ///< of `afterFirst`, seconds
  bool timed = false;
  std::string text;                   ///< the line of its first occurrence
  std::string source;                 ///< "rank-9.log:2"
  std::uint64_t count = 0;            ///< lines
  std::vector<std::string> speakers;  ///< distinct ranks, else hosts, in order of time
  std::string likelyCause;            ///< id of a cause, or kConsequence
  Layer layer = Layer::Unknown;       ///< of the likely cause
  Support support = Support::Open;    ///< of the likely cause
  std::vector<CauseVerdict> causes;   ///< supported ones first, then open, then unlikely
  std::vector<NotVerdict> nots;
  std::vector<std::string> next;
  std::string ruleSource;
};

/// The whole answer.
struct Explanation {
  std::string sentence;              ///< the first failure and its cause in plain words
  std::vector<ErrorVerdict> errors;  ///< the root first, then in order of time
  bool attributed = false;           ///< the root's likely cause is supported by evidence
  Layer layer = Layer::Unknown;      ///< that failed
  std::string clocks;                ///< Timeline::note()
  std::vector<Clock> clockList;
  CollectiveReport collectives;
  std::vector<std::string> next;      ///< what to do, in order, each once
  bool ticket = false;                ///< open one with the provider
  std::string ticketReason;           ///< a sentence: why, or why not
  JobVerdict transport;               ///< what `verify` says of the same input
  std::vector<UnknownError> unknown;  ///< lines nobody here knows
  std::uint64_t unknownDropped = 0;
  std::vector<std::string> gather;  ///< what is lacking for a surer answer
  /// 0 nothing found, 1 found and attributed, 3 found but the cause is open
  int exitCode = 0;
};

Explanation explain(const JobFacts& job);

}  // namespace rdmaguard::engine
