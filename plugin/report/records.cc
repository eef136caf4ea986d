// See records.h.
#include "plugin/report/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "verifier/engine/verdict_json.h"

namespace rdmaguard::report {
namespace {

using Json = nlohmann::ordered_json;

// The version of Inspector's format whose keys these are (NCCL 2.30 sources).
constexpr const char* kFormat = "v4.0";

std::string jsonText(std::string_view text) {
  return engine::oneLine(Json(std::string(text)));
}

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
}

// NCCL's own words need no escaping; this is the report thread's busiest line.
void addString(std::string& line, std::string_view key, std::string_view value) {
  if (plain(value))
    fmt::format_to(std::back_inserter(line), "\"{}\":\"{}\",", key, value);
  else
    fmt::format_to(std::back_inserter(line), "\"{}\":{},", key, jsonText(value));
}

}  // namespace

Records::Records(const Identity& who, const Speaker& speaker) {
  const Json header{
      {"id", commId(who.id)}, {"rank", who.rank}, {"n_ranks", who.nRanks}, {"nnodes", who.nNodes}};
  before_ = fmt::format(
      "{{\"header\":{},\"metadata\":{{\"inspector_output_format_version\":\"{}\","
      "\"git_rev\":\"\",\"rec_mechanism\":\"rdmaguard " RDMAGUARD_VERSION
      "\",\"dump_timestamp_us\":",
      engine::oneLine(header), kFormat);
  after_ = fmt::format(",\"hostname\":{},\"pid\":{},\"comm_name\":{}}},", jsonText(speaker.host),
                       speaker.pid, jsonText(who.label));
  setTags({});
}

void Records::setTags(const NetworkTags& tags) {
  network_ = tags;
  tags_ = fmt::format("\"transport\":{},\"gdr\":{},\"devices\":{}}}}}", jsonText(tags.transport),
                      jsonText(tags.gdr), engine::oneLine(Json(tags.devices)));
}

std::string Records::head(std::uint64_t microseconds) const {
  return fmt::format("{}{}{}", before_, microseconds, after_);
}

std::string_view Records::collective(const collective::Finished& f, std::uint64_t microseconds) {
  const bool timed = f.untimed == collective::Untimed::No;
  line_.clear();
  auto out = std::back_inserter(line_);
  fmt::format_to(out, "{}{}{}\"{}\":{{", before_, microseconds, after_,
                 timed ? "coll_perf" : "coll_untimed");
  addString(line_, "coll", name(f.operation));
  fmt::format_to(out, "\"coll_sn\":{},\"coll_msg_size_bytes\":{},", f.sequence, f.bytes);
  if (timed)
    fmt::format_to(out,
                   "\"coll_exec_time_us\":{:.3f},\"coll_timing_source\":\"{}\","
                   "\"coll_algobw_gbs\":{:.6f},\"coll_busbw_gbs\":{:.6f},",
                   static_cast<double>(f.durationNs) / 1000.0, collective::name(f.timing), f.algbw,
                   f.busbw);
  else
    addString(line_, "coll_untimed_reason", collective::name(f.untimed));
  addString(line_, "coll_algo", f.algorithm);
  addString(line_, "coll_proto", f.protocol);
  addString(line_, "coll_datatype", f.datatype);
  fmt::format_to(out, "\"coll_channels\":{},", f.channels);
  if (f.sends + f.receives > 0)
    fmt::format_to(out,
                   "\"p2p_sends\":{},\"p2p_receives\":{},\"p2p_sent_bytes\":{},"
                   "\"p2p_received_bytes\":{},\"coll_inferred\":{},",
                   f.sends, f.receives, f.sentBytes, f.receivedBytes, f.inferred);
  if (f.graph) line_ += "\"coll_graph\":true,";
  line_ += tags_;
  return line_;
}

std::string Records::communicator(int abiVersion, const std::string& ncclVersion,
                                  const std::string& tap, std::uint64_t microseconds) const {
  const Json body{{"transport", network_.transport}, {"gdr", network_.gdr},
                  {"devices", network_.devices},     {"nccl_version", ncclVersion},
                  {"profiler_version", abiVersion},  {"tap", tap}};
  return head(microseconds) + "\"communicator\":" + engine::oneLine(body) + "}";
}

std::string Records::verdict(const engine::Verdict& verdict, const std::string& devices,
                             const std::string& action, int exitCode,
                             std::uint64_t microseconds) const {
  Json body = engine::toJson(verdict);
  body["devices"] = devices;
  body["action"] = action;
  if (action == "abort") body["exit_code"] = exitCode;
  return head(microseconds) + "\"verdict\":" + engine::oneLine(body) + "}";
}

std::string Records::completeness(const collective::Counters& c,
                                  const collective::ApiOnlyTable& apiOnly,
                                  std::span<const BusbwRow> rows,
                                  std::span<const DeviceTraffic> devices,
                                  const collective::Strays& strays,
                                  std::uint64_t microseconds) const {
  const Json completeness{{"seen", c.seen},
                          {"written", c.written},
                          {"dropped", c.dropped()},
                          {"dropped_overrun", c.droppedOverrun},
                          {"dropped_incomplete", c.droppedIncomplete},
                          {"untimed", c.untimed},
                          {"api_only", c.apiOnly},
                          {"process_stale_handles", strays.staleHandles},
                          {"process_foreign_pids", strays.foreignPids}};
  Json calls = Json::object();
  for (std::size_t op = 0; op < apiOnly.size(); ++op)
    if (apiOnly[op].calls > 0)
      calls[std::string(name(static_cast<Operation>(op)))] = {{"calls", apiOnly[op].calls},
                                                              {"bytes", apiOnly[op].bytes}};
  Json summary = Json::array();
  for (const BusbwRow& r : rows) summary.push_back(busbwPhrase(std::span(&r, 1), 1));
  Json net = Json::array();
  for (const DeviceTraffic& d : devices)
    net.push_back({{"net", d.net},
                   {"device", d.device},
                   {"sent_bytes", d.sentBytes},
                   {"received_bytes", d.receivedBytes},
                   {"failures", d.failures}});
  return fmt::format("{}\"completeness\":{},\"api_only\":{},\"summary\":{},\"process_net\":{}}}",
                     head(microseconds), engine::oneLine(completeness), engine::oneLine(calls),
                     engine::oneLine(summary), engine::oneLine(net));
}

}  // namespace rdmaguard::report
