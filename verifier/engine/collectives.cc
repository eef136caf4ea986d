// See collectives.h.
#include "verifier/engine/collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rdmaguard::engine {
namespace {

using Key = std::pair<std::string, long>;

RankProgress progressOf(const JobFacts& job, const CollectiveWait& w) {
  return {w.rank, w.host, w.sequence, w.operation, w.elementsIn, w.elementsOut, job.source(w.at)};
}

bool overAllPairs(const std::string& operation) {
  return operation.starts_with("ALLTOALL") || operation.starts_with("SEND") ||
         operation.starts_with("RECV");
}

}  // namespace

CollectiveReport collectivesOf(const JobFacts& job) {
  CollectiveReport r;
  std::map<Key, std::size_t> ranksAt;
  for (const CollectiveWait& w : job.run.waits)
    if (w.sequence >= 0) ++ranksAt[{w.group, w.sequence}];
  if (ranksAt.empty()) return r;
  // The most ranks; of equals the earliest sequence, which map order gives.
  const auto most =
      std::max_element(ranksAt.begin(), ranksAt.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  r.group = most->first.first;
  r.sequence = most->first.second;

  std::map<std::pair<std::string, long>, std::size_t> kinds;
  for (const CollectiveWait& w : job.run.waits)
    if (w.group == r.group && w.sequence == r.sequence) ++kinds[{w.operation, w.elementsIn}];
  const auto usual = std::max_element(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  r.operation = usual->first.first;
  r.allToAll = overAllPairs(r.operation);
  r.first = r.sequence <= 1;

  std::set<int> heard;
  for (const CollectiveWait& w : job.run.waits) {
    if (w.group != r.group || w.sequence < 0) continue;
    heard.insert(w.rank);
    if (w.lastCompleted > 0) r.first = false;
    if (w.sequence < r.sequence) r.behind.push_back(progressOf(job, w));
    if (w.sequence != r.sequence) continue;
    const bool same = w.operation == usual->first.first && w.elementsIn == usual->first.second;
    (same ? r.waiting : r.different).push_back(progressOf(job, w));
  }
  const auto byRank = [](const RankProgress& a, const RankProgress& b) { return a.rank < b.rank; };
  for (auto* list : {&r.waiting, &r.behind, &r.different})
    std::stable_sort(list->begin(), list->end(), byRank);

  std::set<int> known;
  for (const ProcessLog& p : job.log.processes)
    for (const CommLog& comm : p.comms) {
      r.nRanks = std::max(r.nRanks, comm.nRanks);
      if (comm.rank >= 0) known.insert(comm.rank);
    }
  for (const FileSpan& s : job.run.spans)
    if (s.rank >= 0) known.insert(s.rank);
  for (const Event& e : job.run.events)
    if (e.rank >= 0) known.insert(e.rank);
  // A number that no job has is a misread line, not a reason to fill memory.
  constexpr int kMostRanks = 1 << 20;
  r.silentKnown = r.nRanks > 0 && r.nRanks <= kMostRanks;
  for (int rank = 0; r.silentKnown && rank < r.nRanks; ++rank) known.insert(rank);
  for (const int rank : known)
    if (heard.count(rank) == 0) r.silent.push_back(rank);
  return r;
}

}  // namespace rdmaguard::engine
