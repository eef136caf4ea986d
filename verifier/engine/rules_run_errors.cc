// Rules about where errors began, what only follows them, and messages that do no harm. Called
// through the table of rules_run.h.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "verifier/engine/rules_run.h"
#include "verifier/engine/rules_run_facts.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMostEvidence = 4;
constexpr double kAtOnce = 5;        // seconds
constexpr std::size_t kSeveral = 3;  // two ends of one connection fail together

// Errors whose place of onset tells something: of links, connections and GPUs, not the exits and
// exceptions that every rank of a job ends with.
bool hasOnset(const Event& e) {
  return e.failure && (isCompletion(e) || e.id == "async-port-error" || e.id == "link-down" ||
                       e.id.starts_with("ucx-") || e.id.starts_with("xid-") ||
                       e.id == "efa-unresponsive-receiver");
}

const Event* firstWith(const JobFacts& job, std::string_view id) {
  for (const Event& e : job.run.events)
    if (e.id == id) return &e;
  return nullptr;
}

// "runs/log-pod-2.txt" -> "runs/log-pod-#.txt": files of one kind, a pod each.
std::string withoutNumbers(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      out += c;
    else if (!out.ends_with('#'))
      out += '#';
  }
  return out;
}

bool hasSibling(const JobFacts& job, std::uint32_t file) {
  if (file >= job.files.size()) return false;
  const std::string mine = withoutNumbers(job.files[file]);
  if (mine.find('#') == std::string::npos) return false;
  for (std::size_t i = 0; i < job.files.size(); ++i)
    if (i != file && withoutNumbers(job.files[i]) == mine) return true;
  return false;
}

// The same rank, process or, for want of names, the same file.
bool sameSpeaker(const Event& a, const Event& b) {
  if (a.rank >= 0 && b.rank >= 0) return a.rank == b.rank;
  if (!a.host.empty() && !b.host.empty() && a.host != b.host) return false;
  return a.at.file == b.at.file;
}

// An end of a process that comes after the NCCL error of the same process.
MaybeFinding followUp(const Case& c, std::span<const std::string_view> ids, std::string_view what) {
  if (!c.job) return std::nullopt;
  const auto& events = c.job->run.events;
  for (const Event& end : events) {
    if (std::find(ids.begin(), ids.end(), end.id) == ids.end()) continue;
    for (const Event& error : events) {
      if (!isOutcome(error) || !sameSpeaker(error, end)) continue;
      Event first = error;  // the first occurrence is what counts
      first.lastAt = first.at;
      first.lastSeconds = first.seconds;
      if (orderOf(first, end) >= 0) continue;
      return findingOf(std::string(what), {evidenceOf(*c.job, error), evidenceOf(*c.job, end)},
                       Certainty::Inferred);
    }
  }
  return std::nullopt;
}

bool anyGdrEdge(const JobFacts& job) {
  for (const ProcessLog& p : job.log.processes)
    for (const CommLog& comm : p.comms)
      for (const NetEdges& e : comm.edges)
        if (e.sendsGdr + e.receivesGdr > 0) return true;
  return false;
}

bool ncclUsesUcx(const JobFacts& job) {
  for (const ProcessLog& p : job.log.processes)
    for (const NetworkLine& n : p.networks)
      if (n.network.find("UCX") != std::string::npos) return true;
  return std::any_of(job.run.events.begin(), job.run.events.end(),
                     [](const Event& e) { return e.network == "UCX"; });
}

}  // namespace

MaybeFinding onsetSeveralNodes(const Case& c) {
  if (!c.job) return std::nullopt;
  std::map<std::string, std::map<std::string, const Event*>> byId;  // id -> host -> first
  for (const Event& e : c.job->run.events)
    if (hasOnset(e) && !e.host.empty() && e.seconds >= 0) byId[e.id].emplace(e.host, &e);
  for (const auto& [id, hosts] : byId) {
    if (hosts.size() < kSeveral) continue;
    double from = hosts.begin()->second->seconds, to = from;
    std::vector<std::string> names;
    std::vector<Evidence> evidence;
    for (const auto& [host, e] : hosts) {
      from = std::min(from, e->seconds);
      to = std::max(to, e->seconds);
      names.push_back(host);
      if (evidence.size() < kMostEvidence) evidence.push_back(evidenceOf(*c.job, *e));
    }
    if (to - from > kAtOnce) continue;
    return findingOf(cat(listed(names), " report ", id,
                         " within seconds: what they have in common, not each of them."),
                     std::move(evidence), Certainty::Inferred);
  }
  return std::nullopt;
}

MaybeFinding onsetOnePod(const Case& c) {
  if (!c.job) return std::nullopt;
  const Event* first = nullptr;
  std::uint64_t times = 0;
  for (const Event& e : c.job->run.events) {
    if (!e.failure || !isCompletion(e)) continue;
    if (first && (e.host != first->host || e.at.file != first->at.file)) return std::nullopt;
    if (!first) first = &e;
    times += e.count;
  }
  if (!first || first->host.empty() || times < 2) return std::nullopt;
  std::vector<std::string> hosts = hostsOfLog(*c.job);
  std::erase(hosts, first->host);
  if (hosts.size() < 2 && !hasSibling(*c.job, first->at.file)) return std::nullopt;
  return findingOf(cat("Of all that is in the input, ", first->host, " alone reports the error."),
                   {evidenceOf(*c.job, *first)}, Certainty::Inferred);
}

MaybeFinding laterAbort(const Case& c) {
  constexpr std::array<std::string_view, 1> kIds{"process-aborted"};
  return followUp(c, kIds, "The abort follows the process's NCCL error and is not its cause.");
}

MaybeFinding laterSegfault(const Case& c) {
  constexpr std::array<std::string_view, 2> kIds{"segfault", "segfault-crc32"};
  return followUp(c, kIds, "The crash follows the process's NCCL error and is not its cause.");
}

MaybeFinding destroyWarning(const Case& c) {
  const Event* e = c.job ? firstWith(*c.job, "destroy-process-group-warning") : nullptr;
  if (!e) return std::nullopt;
  return findingOf(
      "The program ended without destroy_process_group(). Alone this warning says nothing of a "
      "hang or an error.",
      {evidenceOf(*c.job, *e)}, Certainty::Told);
}

MaybeFinding errnoNotPrinted(const Case& c) {
  if (!c.job) return std::nullopt;
  for (const Event& e : c.job->run.events) {
    if (!e.failure || !e.detail.starts_with("ibv_") || e.detail.find(':') != std::string::npos)
      continue;
    if (e.id == "ibv-get-async-event-failed") continue;
    return findingOf(cat(e.detail, " failed and the message does not say with which error."),
                     {evidenceOf(*c.job, e)}, Certainty::Told);
  }
  return std::nullopt;
}

MaybeFinding modifyQpRetried(const Case& c) {
  if (!c.job) return std::nullopt;
  const Event* retried = firstWith(*c.job, "modify-qp-retried");
  if (!retried) return std::nullopt;
  for (const Event& e : c.job->run.events)
    if (e.id.starts_with("modify-qp-") && e.id != "modify-qp-retried") return std::nullopt;
  return findingOf("ibv_modify_qp failed at first and not for good: NCCL tried again.",
                   {evidenceOf(*c.job, *retried)}, Certainty::Told);
}

MaybeFinding eceNotSupported(const Case& c) {
  const Event* e = c.job ? firstWith(*c.job, "ece-not-supported") : nullptr;
  if (!e) return std::nullopt;
  return findingOf("The device does not know ECE, which NCCL does without.",
                   {evidenceOf(*c.job, *e)}, Certainty::Told);
}

MaybeFinding dmabufUnsupported(const Case& c) {
  const Event* e = c.job ? firstWith(*c.job, "dmabuf-unsupported") : nullptr;
  // Without peer memory it would be the reason why GPUDirect RDMA is off.
  if (!e || !anyGdrEdge(*c.job)) return std::nullopt;
  return findingOf("DMA-BUF is not supported here, and GPUDirect RDMA is used without it.",
                   {evidenceOf(*c.job, *e)}, Certainty::Told);
}

MaybeFinding ucxOnly(const Case& c) {
  if (!c.job || ncclUsesUcx(*c.job)) return std::nullopt;
  const Event* ucx = nullptr;
  for (const Event& e : c.job->run.events) {
    if (e.failure && e.phase != Phase::Other) return std::nullopt;
    if (!ucx && e.id.starts_with("ucx-")) ucx = &e;
  }
  // Settings of UCX that one of its own rules objects to say as little of NCCL's network.
  if (!ucx)
    for (const Rule& rule : rules()) {
      if (!rule.id.starts_with("ucx-") || rule.id == "ucx-only" || rule.scope != Scope::Job)
        continue;
      if (const MaybeFinding f = rule.applies(c))
        return findingOf("What is wrong is UCX's, which NCCL does not use.", f->evidence,
                         Certainty::Inferred);
    }
  if (!ucx) return std::nullopt;
  return findingOf("The errors are UCX's. NCCL has connections of its own and reports none.",
                   {evidenceOf(*c.job, *ucx)}, Certainty::Inferred);
}

}  // namespace rdmaguard::engine
