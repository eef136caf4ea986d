// See job_json.h.
#include "verifier/engine/job_json.h"

#include <string>
#include <string_view>

#include "verifier/engine/verdict_json.h"

namespace rdmaguard::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json numberOrNull(long value, long unknown) {
  return value == unknown ? Json() : Json(value);
}

std::string transportName(Transport transport, const std::string& external) {
  return transport == Transport::External && !external.empty() ? external
                                                               : std::string(name(transport));
}

Json rankJson(const RankVerdict& rank) {
  return {{"rank", numberOrNull(rank.rank, -1)},
          {"host", rank.host},
          {"pid", numberOrNull(rank.pid, 0)},
          {"transport", transportName(rank.transport, rank.externalName)},
          {"gdr", name(rank.gdr)},
          {"source", rank.source}};
}

Json ranksJson(const std::vector<RankVerdict>& ranks) {
  Json out = Json::array();
  for (const RankVerdict& rank : ranks) out.push_back(rankJson(rank));
  return out;
}

Json communicatorsJson(const std::vector<CommVerdict>& communicators) {
  Json out = Json::array();
  for (const CommVerdict& comm : communicators)
    out.push_back({{"id", comm.id},
                   {"n_ranks", comm.nRanks},
                   {"n_nodes", numberOrNull(comm.nNodes, 0)},
                   {"rdma_engaged", name(comm.engaged)},
                   {"transport", transportName(comm.transport, comm.externalName)},
                   {"gdr", name(comm.gdr)},
                   {"hcas", comm.hcas},
                   {"ranks", ranksJson(comm.ranks)}});
  return out;
}

Json busbwJson(const JobFacts& facts) {
  Json out = Json::array();
  for (const PerfTable& table : facts.run.tables)
    for (const BusbwRow& row : table.rows) {
      Json one{{"op", row.op}};
      if (row.average)
        one["avg"] = true;
      else
        one["size_bytes"] = row.sizeBytes;
      one["gbps"] = row.busbw;
      if (!row.average) one["algbw_gbps"] = row.algbw;
      if (row.inPlaceBusbw >= 0) one["in_place_gbps"] = row.inPlaceBusbw;
      if (row.timeUs > 0) one["time_us"] = row.timeUs;
      if (row.wrong >= 0) one["wrong"] = row.wrong;
      one["baseline"] = row.standing == BusbwRow::Standing::Verified ? "verified"
                        : row.standing == BusbwRow::Standing::Below  ? "below"
                                                                     : "unverified";
      if (row.expectedBusbw > 0) one["expected_gbps"] = row.expectedBusbw;
      one["source"] = facts.source(row.at);
      out.push_back(std::move(one));
    }
  return out;
}

}  // namespace

nlohmann::ordered_json toJson(const JobVerdict& verdict, const JobFacts& facts) {
  Json out{{"schema_version", kSchemaVersion},
           {"verdict", verdict.sentence},
           {"exit_code", verdict.exitCode}};
  const Json job = toJson(verdict.job);
  // Causes stand before the lists that they are drawn from.
  for (const auto& [key, value] : job.items()) {
    if (key == "missing_conditions") {
      out["nodes"] = numberOrNull(verdict.nodes, 0);
      out["causes"] = Json::array();
      for (const Finding& finding : verdict.causes) out["causes"].push_back(toJson(finding));
    }
    out[key] = value;
  }
  out["busbw"] = busbwJson(facts);
  out["communicators"] = communicatorsJson(verdict.communicators);
  out["off_ranks"] = ranksJson(verdict.offRanks);
  out["gather"] = verdict.gather;
  out["files"] = facts.files;
  return out;
}

}  // namespace rdmaguard::engine
