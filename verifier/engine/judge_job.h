// The verdict over a whole input: per rank, per communicator, then the job. The rule table of
// rules.h names the causes; this decides what they explain. Pure, any thread; allocates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verifier/engine/job_facts.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::engine {

/// What one kind of input alone says of the job. The strongest wins: log lines, then specs, then
/// port listings.
struct Outlook {
  Engaged engaged = Engaged::Unknown;
  Transport transport = Transport::Unknown;
  std::string externalName;  ///< for Transport::External
  int exitCode = 3;          ///< what this input alone would exit with
  std::vector<Evidence> evidence;
  std::string sentence;  ///< where the plain words for the verdict do not fit; else empty
};

/// rules_spec.cc: nothing where the input holds no spec.
std::optional<Outlook> specOutlook(const JobFacts& job);
/// rules_listing.cc: nothing where the input holds no listing.
std::optional<Outlook> listingOutlook(const JobFacts& job);

/// One rank's network as the log shows it.
struct RankVerdict {
  int rank = -1;
  std::string host;
  long pid = 0;
  Transport transport = Transport::Unknown;
  std::string externalName;
  GdrState gdr = GdrState::Unknown;
  std::string source;  ///< "log.txt:12": the line it stands on
};

/// One communicator.
struct CommVerdict {
  std::string id;  ///< commId, or what stands for it
  int nRanks = 0;
  int nNodes = 0;  ///< 0 = not known
  Engaged engaged = Engaged::Unknown;
  Transport transport = Transport::Unknown;
  std::string externalName;
  GdrState gdr = GdrState::Unknown;
  std::vector<std::string> hcas;  ///< device names its channels use, where the log shows it
  std::vector<RankVerdict> ranks;
};

/// The whole answer of `rdmaguard verify`.
struct JobVerdict {
  Verdict job;                  ///< missing, degraded and notes hold every finding
  std::string sentence;         ///< the verdict in one plain sentence
  int nodes = 0;                ///< seen in the log, 0 = not known
  std::vector<Finding> causes;  ///< of the findings, those that explain what was seen to happen
  std::vector<CommVerdict> communicators;
  std::vector<RankVerdict> offRanks;  ///< ranks that are not on what the rest is on
  std::vector<std::string> gather;    ///< what to collect where the answer is unknown
  int exitCode = 3;
};

JobVerdict judgeJob(const JobFacts& job, const Requirement& wanted);

}  // namespace rdmaguard::engine
