// See run_summary.h.
#include "verifier/cli/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace rdmaguard::cli {
namespace {

using Json = nlohmann::ordered_json;

// Values of our own records, read with defaults: a line that a full disk cut short,
// or an older release wrote, must not end the summary.
std::string text(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::uint64_t number(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<std::uint64_t>() : 0;
}

int integer(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int>() : -1;
}

void takeVerdict(RunSummary& run, CommunicatorSummary& comm, const Json& verdict) {
  const bool violated = text(verdict, "requirement_met") == "violated";
  if (violated || comm.ranksViolated == 0) {
    comm.verdict = verdict;
    comm.transport = text(verdict, "transport");
    comm.gdr = text(verdict, "gdr_mechanism");
    if (comm.gdr.empty()) comm.gdr = text(verdict, "gdr");
    comm.devices = text(verdict, "devices");
  }
  if (violated) ++comm.ranksViolated;
  if (text(verdict, "action") == "abort") {
    comm.aborted = true;
    run.guardExitCode = integer(verdict, "exit_code");
  }
}

void takeRecord(RunSummary& run, const Json& record, std::map<std::string, Json>& lastVerdicts) {
  const auto header = record.find("header");
  if (header == record.end() || !header->is_object()) return;
  const std::string id = text(*header, "id");
  const int rank = integer(*header, "rank");
  CommunicatorSummary& comm = run.communicators[id];
  comm.nRanks = std::max(comm.nRanks, integer(*header, "n_ranks"));
  comm.nNodes = std::max(comm.nNodes, integer(*header, "nnodes"));
  if (const auto v = record.find("verdict"); v != record.end() && v->is_object()) {
    // A later verdict of the same rank replaces the earlier one.
    lastVerdicts[fmt::format("{} {}", id, rank)] = Json{{"id", id}, {"verdict", *v}};
  }
  if (const auto c = record.find("completeness"); c != record.end() && c->is_object()) {
    comm.seen += number(*c, "seen");
    comm.written += number(*c, "written");
    comm.dropped += number(*c, "dropped");
  }
  const auto summary = record.find("summary");
  if (summary != record.end() && summary->is_array() &&
      (comm.busbwRank < 0 || rank < comm.busbwRank)) {
    comm.busbwRank = rank;
    comm.busbw.clear();
    for (const Json& row : *summary)
      if (row.is_string()) comm.busbw.push_back(row.get<std::string>());
  }
}

bool ours(const std::string& file) {
  return file.starts_with("rdmaguard-") && (file.ends_with(".jsonl") || file.ends_with(".jsonl.1"));
}

std::string paint(bool colour, const char* code, const std::string& text) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

}  // namespace

bool RunSummary::violated() const {
  return std::any_of(communicators.begin(), communicators.end(),
                     [](const auto& c) { return c.second.ranksViolated > 0; });
}

bool RunSummary::aborted() const {
  return std::any_of(communicators.begin(), communicators.end(),
                     [](const auto& c) { return c.second.aborted; });
}

RunSummary readRun(const std::string& directory, std::uint64_t sinceMicroseconds) {
  RunSummary run;
  std::map<std::string, Json> lastVerdicts;
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (ours(entry.path().filename())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path);
    bool any = false;
    for (std::string line; std::getline(in, line);) {
      // Collectives are the bulk of a file and the summary needs none of them.
      if (line.find("\"coll_perf\"") != std::string::npos) {
        any = true;
        continue;
      }
      const Json record = Json::parse(line, nullptr, false);
      if (!record.is_object()) {
        ++run.unreadable;
        continue;
      }
      const auto metadata = record.find("metadata");
      if (metadata == record.end() || !metadata->is_object() ||
          number(*metadata, "dump_timestamp_us") < sinceMicroseconds)
        continue;
      any = true;
      takeRecord(run, record, lastVerdicts);
    }
    if (any && path.extension() == ".jsonl") ++run.processes;
  }
  // NCCL 2.23 to 2.26 name a communicator with its first collective; what was recorded before
  // that is recorded again under its name.
  if (run.communicators.size() > 1) run.communicators.erase("unknown");
  for (const auto& [key, last] : lastVerdicts) {
    if (!run.communicators.contains(last["id"].get<std::string>())) continue;
    CommunicatorSummary& comm = run.communicators[last["id"].get<std::string>()];
    ++comm.ranksHere;
    takeVerdict(run, comm, last["verdict"]);
  }
  return run;
}

std::string summaryText(const RunSummary& run, int exitCode, bool colour) {
  if (run.communicators.empty())
    return fmt::format(
        "rdmaguard: no verdict: nothing in this command loaded the guard. It speaks when NCCL 2.23 "
        "or\n  later makes a communicator of two or more ranks; look for 'PROFILER/Plugin' with "
        "NCCL_DEBUG=INFO.\n  exit code {}\n",
        exitCode);
  std::string out = fmt::format("rdmaguard: {} process{} on this host loaded the guard\n",
                                run.processes, run.processes == 1 ? "" : "es");
  for (const auto& [id, comm] : run.communicators) {
    const std::string size = comm.nNodes < 0
                                 ? fmt::format("{} ranks", comm.nRanks)
                                 : fmt::format("{} node{}, {} ranks", comm.nNodes,
                                               comm.nNodes == 1 ? "" : "s", comm.nRanks);
    const std::string engaged = text(comm.verdict, "rdma_engaged");
    const char* code = comm.ranksViolated > 0 ? "31" : engaged == "yes" ? "32" : "33";
    out += fmt::format(
        "  communicator {} ({}): {}", id, size,
        paint(colour, code, fmt::format("transport={} gdr={}", comm.transport, comm.gdr)));
    if (!comm.devices.empty()) out += " devices=" + comm.devices;
    out += '\n';
    if (comm.ranksViolated > 0) {
      out += fmt::format("    {} of {} ranks here: {}\n", comm.ranksViolated, comm.ranksHere,
                         text(comm.verdict, "violation"));
      for (const char* list : {"missing_conditions", "degraded_signals"}) {
        const auto found = comm.verdict.find(list);
        if (found == comm.verdict.end() || !found->is_array() || found->empty()) continue;
        out += fmt::format("    cause: {}\n    fix:   {}\n", text(found->front(), "what"),
                           text(found->front(), "fix"));
        break;
      }
    }
    for (const std::string& row : comm.busbw) out += fmt::format("    {}\n", row);
    if (comm.seen > 0)
      out += fmt::format("    collectives: {} seen, {} recorded, {} dropped\n", comm.seen,
                         comm.written, comm.dropped);
  }
  if (run.unreadable > 0) out += fmt::format("  {} records could not be read\n", run.unreadable);
  out += fmt::format("  exit code {}{}\n", exitCode,
                     run.aborted() ? ": the guard stopped the job" : "");
  return out;
}

nlohmann::ordered_json summaryJson(const RunSummary& run, int exitCode) {
  Json out{{"exit_code", exitCode},
           {"stopped_by_guard", run.aborted()},
           {"violated", run.violated()},
           {"processes", run.processes},
           {"communicators", Json::array()}};
  for (const auto& [id, comm] : run.communicators)
    out["communicators"].push_back(
        {{"id", id},
         {"nnodes", comm.nNodes},
         {"n_ranks", comm.nRanks},
         {"ranks_here", comm.ranksHere},
         {"ranks_violated", comm.ranksViolated},
         {"verdict", comm.verdict},
         {"busbw", comm.busbw},
         {"completeness",
          {{"seen", comm.seen}, {"written", comm.written}, {"dropped", comm.dropped}}}});
  return out;
}

}  // namespace rdmaguard::cli
