// Rows of the error table: NCCL's result codes.
#include <algorithm>
#include <set>
#include <string>

#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {
namespace {

Judged supportedBy(const ErrorCase& c, std::string_view id) {
  const Event* e = c.event(id);
  if (!e) return {};
  return {Support::Supports, {c.evidence(*e)}, {}, {}};
}

/// A batch script that gives every task one GPU and has several tasks a node; CUDA's 101 says the
/// same without a script.
Judged layout(const ErrorCase& c, const ErrorGroup&) {
  for (const BatchScript& script : c.job.specs.scripts) {
    const BatchOption* perTask = nullptr;
    const BatchOption* tasks = nullptr;
    for (const BatchOption& o : script.options) {
      if (o.name == "gpus-per-task" && o.value == "1") perTask = &o;
      if (o.name.starts_with("ntasks") && o.value != "1") tasks = &o;
    }
    if (!perTask || !tasks) continue;
    return {Support::Supports,
            {{"The batch script gives each task one GPU and starts " + tasks->value + " tasks (" +
                  tasks->name + ").",
              c.job.source(perTask->at), Certainty::Told}},
            {},
            {}};
  }
  Judged j = supportedBy(c, "cuda-101-invalid-ordinal");
  return j.support == Support::Supports ? j : supportedBy(c, "gpu-not-in-topology");
}

Judged gpuFault(const ErrorCase& c, const ErrorGroup&) {
  Judged j = supportedBy(c, "xid-*");
  return j.support == Support::Supports ? j : supportedBy(c, "gpu-fell-off-bus");
}

Judged driver(const ErrorCase& c, const ErrorGroup&) {
  for (const Event* e : c.events("cuda-failure"))
    if (e->text.find("driver version is insufficient") != std::string::npos)
      return {Support::Supports, {c.evidence(*e)}, {}, {}};
  return {};
}
bool isDriver(const ErrorCase& c, const ErrorGroup& g) {
  return driver(c, g).support == Support::Supports;
}

/// A listing of ports in which one that should carry data is down.
Judged portDown(const ErrorCase& c, const ErrorGroup&) {
  Judged j = supportedBy(c, "link-down");
  for (const std::string_view id : {"port-down", "port-polling"})
    if (const Finding* f = c.finding(id)) {
      j.support = Support::Supports;
      j.supporting.insert(j.supporting.end(), f->evidence.begin(), f->evidence.end());
    }
  return j;
}
bool noPortDown(const ErrorCase& c, const ErrorGroup& g) {
  return portDown(c, g).support != Support::Supports;
}
Judged storage(const ErrorCase& c, const ErrorGroup&) {
  Judged j = supportedBy(c, "storage-stalled");
  return j.support == Support::Supports ? j : supportedBy(c, "hung-task");
}
Judged peerExited(const ErrorCase& c, const ErrorGroup& g) {
  if (g.root || !c.root || c.root->rule == nullptr || c.root->rule->depth != Depth::Process)
    return {};
  return {Support::Supports, {c.evidence(c.root->first())}, {}, {}};
}

bool rootWithin(const ErrorCase& c, const ErrorGroup& g) {
  return !g.root && c.root && c.root->rule && c.root->rule->depth <= Depth::Process;
}
bool rootIs101(const ErrorCase& c, const ErrorGroup&) {
  return c.root && c.root->id == "cuda-101-invalid-ordinal";
}
bool rootIsRegistration(const ErrorCase& c, const ErrorGroup&) {
  return c.root && c.root->id.starts_with("reg-mr-iova2");
}
bool notStorage(const ErrorCase& c, const ErrorGroup& g) {
  return rootWithin(c, g) || layout(c, g).support == Support::Supports;
}

bool severalSpeak(const ErrorCase& c, const ErrorGroup& g) {
  return c.speakers(g).size() > 1;
}
Judged pathTest(const ErrorCase& c, const ErrorGroup& g) {
  if (!g.root || !severalSpeak(c, g)) return {};
  return {Support::Supports, {c.evidence(g.first()), c.evidence(*g.events.back())}, {}, {}};
}
bool rootOfSeveral(const ErrorCase& c, const ErrorGroup& g) {
  return g.root && severalSpeak(c, g);
}

/// Closed connections that all name one peer, of which nothing is heard.
Judged peerGone(const ErrorCase& c, const ErrorGroup& g) {
  if (!g.root) return {};
  constexpr std::string_view kPeer = "remote peer ";
  std::set<std::string> peers;
  std::set<std::string_view> speakers;
  const Event* cited = nullptr;
  for (const Event& e : c.job.run.events) {
    if (!e.host.empty()) speakers.insert(e.host);
    const std::size_t at = e.text.find(kPeer);
    if (at == std::string::npos) continue;
    std::string peer = e.text.substr(at + kPeer.size());
    peer.resize(std::min(peer.find_first_of(".<: "), peer.size()));
    peers.insert(peer);
    if (!cited) cited = &e;
  }
  // An address cut at its first dot is no host name.
  if (!cited || peers.size() != 1 || peers.begin()->empty()) return {};
  const std::string& peer = *peers.begin();
  if (peer.find_first_not_of("0123456789") == std::string::npos) return {};
  if (speakers.count(peer) != 0) return {};
  return {Support::Supports, {c.evidence(*cited)}, {}, peer};
}

constexpr CauseRow kCause3[] = {
    {"job-layout-gpus-per-task", Layer::JobLayout,
     "Each task sees one GPU, so ranks and devices of a node do not match.",
     "Use --gpus-per-node in place of --gpus-per-task.", layout},
    {"connectivity-between-nodes", Layer::Fabric, "The nodes do not reach each other.",
     "Run all_reduce_perf on the same nodes.", nullptr},
    {"gpu-hardware-fault", Layer::Gpu, "A GPU failed at that time.", "dmesg -T | grep Xid",
     gpuFault},
    {"application-memory-corruption", Layer::Application, "The program overwrote memory.",
     "Run it under compute-sanitizer.", nullptr},
    {"other-rank-crashed", Layer::Application, "Another rank died first.",
     "Read the logs of all ranks, earliest failure first.", nullptr}};
constexpr CauseRow kCause1[] = {
    {"gpu-hardware-fault", Layer::Gpu, "A GPU failed at that time.", "dmesg -T | grep Xid",
     gpuFault},
    {"gpu-driver-version", Layer::Gpu, "The driver is older than the CUDA runtime needs.",
     "Compare nvidia-smi's CUDA version with the image's; upgrade the driver.", driver},
    {"gpu-health", Layer::Gpu, "The GPU is not in a state to work.", "dcgmi diag -r 3", nullptr}};
constexpr CauseRow kCause2[] = {
    {"network-device-down", Layer::Link, "A port or network device went down.",
     "ibstat; dmesg -T | grep -i -E 'mlx5|link'", portDown},
    {"stalled-storage-mount", Layer::Storage, "A mount stalled under a rank.",
     "dmesg -T | grep -i -E 'nfs|lustre|blocked for more'", storage},
    {"peer-exited", Layer::Application, "The peer's process ended.",
     "Read the log of the rank that ended first.", peerExited, true}};
constexpr CauseRow kCause6[] = {
    {"peer-node-disappeared", Layer::Node, "All closed connections lead to one silent node.",
     "Check that node: power, kernel log, scheduler state.", peerGone},
    {"network-path-test-same-nodes", Layer::Fabric,
     "Several ranks lost connections and none of them failed before.",
     "Run nccl-tests on the same nodes with the workload's collective.", pathTest},
    {"other-rank-died-or-network-needs-more-logs", Layer::Unknown,
     "This rank reports another's failure, and the other's log is not here.",
     "Give explain the logs of all ranks.", nullptr}};
constexpr CauseRow kCauseAny[] = {{"see-earlier-warning", Layer::Unknown,
                                   "The code alone does not tell; NCCL warns just before it.",
                                   "Run with NCCL_DEBUG=WARN and read the line before.", nullptr}};

constexpr NotRow kNot3[] = {
    {"nccl-bug", "An internal error is where NCCL gave up, not why.", nullptr},
    {"fabric", "The cause lies inside the node or job.", notStorage},
    {"storage", "The cause lies inside the node or job.", notStorage}};
constexpr NotRow kNot1[] = {
    {"xid", "The input has no Xid.", isDriver},
    {"fabric", "A CUDA call does not touch the network.", nullptr},
    {"gpu-hardware", "The device number is wrong, not the GPU.", rootIs101}};
constexpr NotRow kNot2[] = {
    {"nccl-bug", "A call of the system failed; NCCL passes it on.", nullptr},
    {"port-down", "No port is seen down.", noPortDown},
    {"fabric", "Registration of memory is the node's own.", rootIsRegistration}};
constexpr NotRow kNot6[] = {
    {"network", "Another failure came first.", rootWithin},
    {"earlier-rank-crash", "No rank failed before these lines.", rootOfSeveral}};

constexpr std::string_view kW1[] = {"unhandled cuda error"};
constexpr std::string_view kW2[] = {"unhandled system error"};
constexpr std::string_view kW3[] = {"internal error"};
constexpr std::string_view kW6[] = {"remote process exited or there was a network error"};
constexpr std::string_view kWAny[] = {"NCCL error %d", "-> %d"};
constexpr std::string_view kW4[] = {"invalid argument"};
constexpr std::string_view kW5[] = {"invalid usage"};
constexpr std::string_view kSource = "NCCL src/init.cc, ncclGetErrorString";
constexpr std::string_view kMeans = "A call of NCCL returned this code to the program.";

constexpr ErrorRule kRows[] = {
    {"nccl-error-*", Depth::Outcome, "NCCL error", kMeans, kWAny, kCauseAny, {}, {}, kSource},
    {"nccl-error-1",
     Depth::Outcome,
     "unhandled CUDA error",
     kMeans,
     kW1,
     kCause1,
     kNot1,
     {},
     kSource},
    {"nccl-error-2",
     Depth::Outcome,
     "unhandled system error",
     kMeans,
     kW2,
     kCause2,
     kNot2,
     {},
     kSource},
    {"nccl-error-3", Depth::Outcome, "internal error", kMeans, kW3, kCause3, kNot3, {}, kSource},
    {"nccl-error-4", Depth::Outcome, "invalid argument", kMeans, kW4, kCauseAny, {}, {}, kSource},
    {"nccl-error-5", Depth::Outcome, "invalid usage", kMeans, kW5, kCauseAny, {}, {}, kSource},
    {"nccl-error-6",
     Depth::Outcome,
     "remote process exited or network error",
     "A connection to another rank broke; the rank that says so is seldom the one that failed.",
     kW6,
     kCause6,
     kNot6,
     {},
     kSource},
};

}  // namespace

std::span<const ErrorRule> ncclCodeErrorRules() noexcept {
  return kRows;
}

}  // namespace rdmaguard::engine
