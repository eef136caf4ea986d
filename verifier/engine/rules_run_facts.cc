// See rules_run_facts.h.
#include "verifier/engine/rules_run_facts.h"

#include <algorithm>

#include "verifier/engine/text.h"

namespace rdmaguard::engine {

Evidence evidenceOf(const JobFacts& job, const Event& e) {
  std::string fact = speakerOf(e);
  fact[0] = fact[0] >= 'a' && fact[0] <= 'z' && e.host.empty()
                ? static_cast<char>(fact[0] - 'a' + 'A')
                : fact[0];
  fact += cat(" reports ", e.id);
  if (!e.device.empty()) fact += " on " + e.device;
  if (!e.detail.empty()) fact += cat(" (", e.detail, ")");
  if (!e.time.empty()) fact += " at " + e.time;
  if (e.count > 1) fact += cat(", ", std::to_string(e.count), " times");
  return {fact + ".", job.source(e.at), Certainty::Told};
}

int orderOf(const Event& a, const Event& b) {
  const double ta = a.lastSeconds, tb = b.seconds;
  const bool oneScale = ta >= 0 && tb >= 0 && (ta >= kDatedSeconds) == (tb >= kDatedSeconds);
  if (oneScale && ta != tb) return ta < tb ? -1 : 1;
  if (a.at.file != b.at.file) return 0;
  const Place pa = a.lastAt ? a.lastAt : a.at;
  return pa == b.at ? 0 : pa < b.at ? -1 : 1;
}

std::vector<std::string> hostsOfLog(const JobFacts& job) {
  std::vector<std::string> hosts;
  for (const ProcessLog& p : job.log.processes)
    if (!p.host.empty()) hosts.push_back(p.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

Finding findingOf(std::string what, std::vector<Evidence> evidence, Certainty certainty,
                  std::string fix) {
  Finding f;
  f.what = std::move(what);
  f.evidence = std::move(evidence);
  f.certainty = certainty;
  f.fix = std::move(fix);
  return f;
}

}  // namespace rdmaguard::engine
