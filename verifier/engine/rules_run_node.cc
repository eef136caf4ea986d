// Rules about what the nodes' kernels and storage say while a job runs. Called through the table
// of rules_run.h.
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "verifier/engine/rules_run.h"
#include "verifier/engine/rules_run_facts.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMostEvidence = 4;

// Downs and ups of one link.
struct Link {
  std::vector<const Event*> downs, ups;
};

bool isDown(const Event& e) {
  return e.id == "link-down" || e.id == "async-port-error";
}
bool isUp(const Event& e) {
  return e.id == "link-up" || e.id == "async-port-active";
}

// Links by who names them: the kernel's names and NCCL's are different ones.
std::map<std::string, Link> linksOf(const JobFacts& job) {
  std::map<std::string, Link> links;
  for (const Event& e : job.run.events) {
    if (!isDown(e) && !isUp(e)) continue;
    const bool kernel = e.id.starts_with("link-");
    std::string key =
        cat(kernel ? "kernel " : "NCCL ", e.host.empty() ? std::string() : e.host, "|", e.device);
    if (e.host.empty()) key += "|" + std::to_string(e.at.file);
    (isDown(e) ? links[key].downs : links[key].ups).push_back(&e);
  }
  return links;
}

std::uint64_t timesOf(const std::vector<const Event*>& events) {
  std::uint64_t n = 0;
  for (const Event* e : events) n += e->count;
  return n;
}

Place lastOf(const Event& e) {
  return e.lastAt ? e.lastAt : e.at;
}

// Its last word was "down".
bool staysDown(const Link& link) {
  const Event* down = link.downs.empty() ? nullptr : link.downs.back();
  if (!down) return false;
  for (const Event* up : link.ups) {
    if (up->lastSeconds >= 0 && down->lastSeconds >= 0 && up->lastSeconds != down->lastSeconds) {
      if (up->lastSeconds > down->lastSeconds) return false;
    } else if (lastOf(*up).file == lastOf(*down).file && lastOf(*down) < lastOf(*up)) {
      return false;
    }
  }
  return true;
}

std::string linkName(const Event& e) {
  return e.device.empty() ? "a port of " + speakerOf(e) : e.device + " of " + speakerOf(e);
}

bool isNvlinkFault(const Event& e) {
  if (e.id == "nvswitch-fault" || e.id == "cuda-802-fabric-manager" || e.id.starts_with("sxid-"))
    return true;
  if (!e.id.starts_with("xid-")) return false;
  // 74: NVLink error; 144 to 150: the units of the fifth generation's links.
  int number = 0;
  std::from_chars(e.id.data() + 4, e.id.data() + e.id.size(), number);
  return number == 74 || (number >= 144 && number <= 150);
}

// The first of the failures that ended the job, null: none, or its time is not known.
const Event* firstOutcome(const JobFacts& job) {
  const Event* first = nullptr;
  for (const Event& e : job.run.events) {
    if (!isOutcome(e) || e.seconds < kDatedSeconds) continue;
    if (!first || e.seconds < first->seconds) first = &e;
  }
  return first;
}

// A watchdog speaks this long after the collective began to wait.
double waitedFor(const Event& e) {
  const auto at = e.detail.find("timeout ");
  if (at == std::string::npos) return 0;
  double seconds = 0;
  std::from_chars(e.detail.data() + at + 8, e.detail.data() + e.detail.size(), seconds);
  return seconds;
}

}  // namespace

MaybeFinding linkFlap(const Case& c) {
  if (!c.job) return std::nullopt;
  for (const auto& [unused, link] : linksOf(*c.job)) {
    const std::uint64_t downs = timesOf(link.downs);
    if (downs == 0 || (downs < 2 && link.ups.empty())) continue;
    // Eight ranks that report one event of their node are no flapping.
    if (link.downs.front()->id == "async-port-error" && link.ups.empty()) continue;
    std::vector<Evidence> evidence{evidenceOf(*c.job, *link.downs.front())};
    if (!link.ups.empty()) evidence.push_back(evidenceOf(*c.job, *link.ups.front()));
    return findingOf(cat("The link ", linkName(*link.downs.front()), " went down ",
                         downs == 1 ? "and up again" : std::to_string(downs) + " times", "."),
                     std::move(evidence), Certainty::Told);
  }
  // Work flushed on several nodes within seconds: what they have in common is the fabric.
  constexpr double kAtOnce = 5;
  constexpr std::size_t kSeveral = 3;
  std::map<std::string, const Event*> flushed;
  for (const Event& e : c.job->run.events)
    if (e.id == "vendor-err-249" && !e.host.empty() && e.seconds >= 0) flushed.emplace(e.host, &e);
  if (flushed.size() < kSeveral) return std::nullopt;
  double from = flushed.begin()->second->seconds, to = from;
  for (const auto& [unused, e] : flushed) {
    from = std::min(from, e->seconds);
    to = std::max(to, e->seconds);
  }
  if (to - from > kAtOnce) return std::nullopt;
  std::vector<Evidence> evidence;
  std::vector<std::string> hosts;
  for (const auto& [host, e] : flushed) {
    hosts.push_back(host);
    if (evidence.size() < kMostEvidence) evidence.push_back(evidenceOf(*c.job, *e));
  }
  return findingOf(cat("Connections of ", listed(hosts),
                       " broke within seconds, as when a link or switch of the fabric flaps."),
                   std::move(evidence), Certainty::Inferred,
                   "Report the time and the nodes to the fabric's operator.");
}

MaybeFinding portDownInRun(const Case& c) {
  if (!c.job) return std::nullopt;
  std::vector<std::string> names;
  std::vector<Evidence> evidence;
  for (const auto& [unused, link] : linksOf(*c.job)) {
    if (!staysDown(link)) continue;
    names.push_back(linkName(*link.downs.back()));
    if (evidence.size() < kMostEvidence) evidence.push_back(evidenceOf(*c.job, *link.downs.back()));
  }
  if (names.empty()) return std::nullopt;
  return findingOf(cat("The link of ", listed(names), " went down while the job ran."),
                   std::move(evidence), Certainty::Told,
                   "Check cable and switch port, and start the job again without the node.");
}

MaybeFinding nvlinkFault(const Case& c) {
  if (!c.job) return std::nullopt;
  std::vector<Evidence> evidence;
  std::vector<std::string> who;
  for (const Event& e : c.job->run.events) {
    if (!isNvlinkFault(e)) continue;
    if (std::find(who.begin(), who.end(), speakerOf(e)) == who.end()) who.push_back(speakerOf(e));
    if (evidence.size() < kMostEvidence) evidence.push_back(evidenceOf(*c.job, e));
  }
  if (evidence.empty()) return std::nullopt;
  return findingOf(
      cat("NVLink or an NVSwitch of ", listed(who), " reported a fault; the network is not it."),
      std::move(evidence), Certainty::Told,
      "Stop Fabric Manager (systemctl stop nvidia-fabricmanager), reset all GPUs of the node "
      "(nvidia-smi --gpu-reset), start Fabric Manager, in this order and with no job on the node. "
      "On a managed node do not: cordon it and hand it to its operator.");
}

MaybeFinding storageStalled(const Case& c) {
  if (!c.job) return std::nullopt;
  std::vector<Evidence> evidence;
  for (const Event& e : c.job->run.events)
    if ((e.id == "storage-stalled" || e.id == "gpu-idle") && evidence.size() < kMostEvidence)
      evidence.push_back(evidenceOf(*c.job, e));
  const bool stalled = std::any_of(c.job->run.events.begin(), c.job->run.events.end(),
                                   [](const Event& e) { return e.id == "storage-stalled"; });
  if (!stalled) return std::nullopt;
  return findingOf("Reads from storage fell to nothing while the job ran.", std::move(evidence),
                   Certainty::Told);
}

MaybeFinding xidNotAtFailureTime(const Case& c) {
  if (!c.job) return std::nullopt;
  const Event* failure = firstOutcome(*c.job);
  if (!failure) return std::nullopt;
  constexpr double kBefore = 600, kAfter = 60;
  const Event* elsewhen = nullptr;
  for (const Event& e : c.job->run.events) {
    if (!e.id.starts_with("xid-")) continue;
    if (e.seconds < kDatedSeconds) return std::nullopt;
    const double from = failure->seconds - waitedFor(*failure) - kBefore;
    const double to = failure->seconds + kAfter;
    if ((e.seconds >= from && e.seconds <= to) || (e.lastSeconds >= from && e.lastSeconds <= to) ||
        (e.seconds < from && e.lastSeconds > to))
      return std::nullopt;
    if (!elsewhen) elsewhen = &e;
  }
  if (!elsewhen) return std::nullopt;
  return findingOf("The kernel's GPU errors are of another time than the failure.",
                   {evidenceOf(*c.job, *elsewhen), evidenceOf(*c.job, *failure)},
                   Certainty::Inferred);
}

}  // namespace rdmaguard::engine
