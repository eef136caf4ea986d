// The records: valid JSON, Inspector's keys, nothing an exporter would average wrongly.
#include "plugin/report/records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace rdmaguard::report {
namespace {

using Json = nlohmann::json;

Identity identity() {
  return {0xe62dedaa97644aULL, "dp \"0\"", 2, 16, 4};
}
const Speaker kWho{"node-1", 77, 4};

collective::Finished allReduce() {
  collective::Finished f;
  f.operation = Operation::AllReduce;
  f.sequence = 1407;
  f.bytes = 1 << 30;
  f.durationNs = 61974123;
  f.algbw = 17.325641;
  f.busbw = 32.485577;
  f.algorithm = "RING";
  f.protocol = "SIMPLE";
  f.datatype = "ncclFloat32";
  f.channels = 16;
  f.timing = collective::TimingSource::KernelGpu;
  return f;
}

TEST(Records, ACollectiveHasInspectorsKeysAndTheNetworkItRanOn) {
  Records records(identity(), kWho);
  records.setTags({"RoCE", "dmabuf", {"mlx5_0", "mlx5_1"}});
  const Json r = Json::parse(records.collective(allReduce(), 1748030377748202ULL));
  EXPECT_EQ(r["header"]["id"], "0xe62dedaa97644a");
  EXPECT_EQ(r["header"]["rank"], 4);
  EXPECT_EQ(r["header"]["n_ranks"], 16);
  EXPECT_EQ(r["header"]["nnodes"], 2);
  EXPECT_EQ(r["metadata"]["dump_timestamp_us"], 1748030377748202ULL);
  EXPECT_EQ(r["metadata"]["hostname"], "node-1");
  EXPECT_EQ(r["metadata"]["pid"], 77);
  EXPECT_EQ(r["metadata"]["comm_name"], "dp \"0\"");
  const Json& c = r["coll_perf"];
  EXPECT_EQ(c["coll"], "AllReduce");
  EXPECT_EQ(c["coll_sn"], 1407);
  EXPECT_EQ(c["coll_msg_size_bytes"], 1 << 30);
  EXPECT_DOUBLE_EQ(c["coll_exec_time_us"].get<double>(), 61974.123);
  EXPECT_EQ(c["coll_timing_source"], "kernel_gpu");
  EXPECT_DOUBLE_EQ(c["coll_busbw_gbs"].get<double>(), 32.485577);
  EXPECT_EQ(c["coll_algo"], "RING");
  EXPECT_EQ(c["transport"], "RoCE");
  EXPECT_EQ(c["gdr"], "dmabuf");
  EXPECT_EQ(c["devices"], Json({"mlx5_0", "mlx5_1"}));
}

TEST(Records, NoKeyStandsInTwoOfTheThreePartsThatTheExporterMerges) {
  Records records(identity(), kWho);
  const Json r = Json::parse(records.collective(allReduce(), 1));
  std::set<std::string> keys;
  std::size_t all = 0;
  for (const char* part : {"header", "metadata", "coll_perf"})
    for (const auto& [key, value] : r[part].items()) {
      keys.insert(key);
      ++all;
    }
  EXPECT_EQ(keys.size(), all);
}

TEST(Records, ACollectiveWithoutATimeIsNoCollPerf) {
  Records records(identity(), kWho);
  auto f = allReduce();
  f.untimed = collective::Untimed::NoChildren;
  const Json r = Json::parse(records.collective(f, 1));
  EXPECT_FALSE(r.contains("coll_perf"));
  EXPECT_EQ(r["coll_untimed"]["coll_untimed_reason"], "no_children");
  EXPECT_FALSE(r["coll_untimed"].contains("coll_busbw_gbs"));
}

TEST(Records, WordsOfNcclThatNeedEscapingAreEscaped) {
  Records records(identity(), kWho);
  auto f = allReduce();
  f.algorithm = "odd \"name\"\\\n\xff";
  const Json r = Json::parse(records.collective(f, 1));
  EXPECT_EQ(r["coll_perf"]["coll_algo"], "odd \"name\"\\\n\xef\xbf\xbd");
}

TEST(Records, CompletenessAddsUpAndNamesWhatWasOnlyCounted) {
  Records records(identity(), kWho);
  collective::Counters counters;
  counters.seen = 10;
  counters.written = 7;
  counters.apiOnly = 2;
  counters.droppedOverrun = 2;
  counters.droppedIncomplete = 1;
  collective::ApiOnlyTable apiOnly{};
  apiOnly[static_cast<std::size_t>(Operation::Broadcast)] = {2, 4096};
  const Json r = Json::parse(records.completeness(
      counters, apiOnly, {}, std::vector<DeviceTraffic>{{"IB", "mlx5_0", 5, 6, 0}}, {}, 1));
  EXPECT_EQ(r["completeness"]["seen"].get<int>(),
            r["completeness"]["written"].get<int>() + r["completeness"]["dropped"].get<int>());
  EXPECT_EQ(r["api_only"]["Broadcast"]["calls"], 2);
  EXPECT_EQ(r["process_net"][0]["sent_bytes"], 5);
}

TEST(Records, AVerdictCarriesTheSchemaAndTheAction) {
  Records records(identity(), kWho);
  engine::Verdict v;
  v.engaged = engine::Engaged::No;
  v.transport = Transport::Socket;
  v.requirement = engine::Met::Violated;
  v.violation = "not on RDMA";
  v.missing.push_back({"ib-disabled",
                       engine::FindingKind::MissingCondition,
                       "off",
                       {},
                       "unset it",
                       Certainty::Told});
  const Json r = Json::parse(records.verdict(v, "none", "abort", 78, 1));
  EXPECT_EQ(r["verdict"]["rdma_engaged"], "no");
  EXPECT_EQ(r["verdict"]["transport"], "Socket");
  EXPECT_EQ(r["verdict"]["missing_conditions"][0]["id"], "ib-disabled");
  EXPECT_EQ(r["verdict"]["fix"], Json({"unset it"}));
  EXPECT_EQ(r["verdict"]["action"], "abort");
  EXPECT_EQ(r["verdict"]["exit_code"], 78);
}

}  // namespace
}  // namespace rdmaguard::report
