// Rows of the error table: completions in error and asynchronous events.
#include <algorithm>
#include <string>

#include "verifier/engine/error_judges_net.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr long kMostRetries = 7;  // a queue pair keeps the retry count in three bits

// ---- vendor-err-129: transport retries exceeded

const Setting* retryCount(const ErrorCase& c) {
  return c.setting("NCCL_IB_RETRY_CNT");
}

// The retries left of a value that does not fit; -1: it fits, or is not known.
long retriesLeft(const ErrorCase& c) {
  const std::optional<long> n = numberOf(retryCount(c));
  return n && (*n > kMostRetries || *n < 0) ? *n & kMostRetries : -1;
}

Judged truncated(const ErrorCase& c, bool hit) {
  if (hit) return settingTells(c, retryCount(c));
  if (const Setting* s = retryCount(c)) return {Support::Against, {}, {c.evidence(*s)}, {}};
  return {};
}
Judged truncatedToNone(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return truncated(c, retriesLeft(c) == 0);
}
Judged truncatedToFour(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return truncated(c, retriesLeft(c) == 4);
}
Judged truncatedToOther(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return truncated(c, retriesLeft(c) > 0 && retriesLeft(c) != 4);
}

Judged gidIndex(const ErrorCase& c, const ErrorGroup& /*g*/) {
  const Setting* s = c.setting("NCCL_IB_GID_INDEX");
  const std::optional<long> n = numberOf(s);
  if (!n || *n < 0 || !anyRoce(c)) return {};
  // The kernel lists link-local GIDs first, v1 before v2; the first routable v2 one is mostly 3.
  if (*n < 3) return settingTells(c, s);
  return {Support::Against, {}, {c.evidence(*s)}, {}};
}

Judged onePair(const ErrorCase& c, const ErrorGroup& g) {
  Judged j = findingTells(c, "all-reduce-does-not-certify-all-to-all");
  if (j.support == Support::Supports) j.supporting.push_back(c.evidence(g.first()));
  return j;
}
bool allReducePassed(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return c.finding("all-reduce-does-not-certify-all-to-all") != nullptr;
}

std::string peerOf(const Event& e) {
  const auto at = e.detail.find("peer ");
  if (at == std::string::npos) return {};
  const std::string peer = e.detail.substr(at + 5);
  return peer.substr(0, peer.find('<'));
}

// Every report is of one host, or is of connections to one peer.
Judged oneNode(const ErrorCase& c, const ErrorGroup& g) {
  if (onSeveralNodesAtOnce(c, g)) return {};
  const Setting* retries = retryCount(c);
  const std::optional<long> n = numberOf(retries);
  const bool legal = n && *n >= 0 && *n <= kMostRetries;
  std::uint64_t times = 0;
  bool sameHost = !g.first().host.empty(), samePeer = !peerOf(g.first()).empty();
  for (const Event* e : g.events) {
    times += e->count;
    sameHost &= e->host == g.first().host;
    samePeer &= peerOf(*e) == peerOf(g.first());
  }
  const bool repeated = times > 1 && (sameHost || samePeer);
  if (!legal && !repeated) return {};
  Judged j = linesTell(c, g);
  if (legal) j.supporting.push_back(c.evidence(*retries));
  return j;
}

bool noRetriesLeft(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return retriesLeft(c) == 0;
}
bool fewRetriesLeft(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return retriesLeft(c) > 0;
}
bool retriesLegal(const ErrorCase& c, const ErrorGroup& /*g*/) {
  const std::optional<long> n = numberOf(retryCount(c));
  return n && *n >= 1 && *n <= kMostRetries;
}
bool lostToDeadPeer(const ErrorCase& c, const ErrorGroup& g) {
  return !noRetriesLeft(c, g) && followsEndOfProcess(c, g);
}
bool noProcessDied(const ErrorCase& c, const ErrorGroup& g) {
  return !followsEndOfProcess(c, g);
}

// ---- vendor-err-249: flushed

// The kernel saw a link of the reporter, or of a node that is not named, go down.
Judged linkFlapped(const ErrorCase& c, const ErrorGroup& g) {
  Judged j;
  for (const Event& e : c.job.run.events) {
    if (e.id != "link-down" && e.id != "async-port-error") continue;
    const auto reporter = [&](const Event* x) { return x->host == e.host; };
    if (!e.host.empty() && std::none_of(g.events.begin(), g.events.end(), reporter)) continue;
    j.support = Support::Supports;
    if (j.supporting.size() < 4) j.supporting.push_back(c.evidence(e));
    if (j.who.empty()) j.who = !e.host.empty() ? e.host : g.first().host;
  }
  return j;
}
Judged onePodOnly(const ErrorCase& c, const ErrorGroup& /*g*/) {
  return findingTells(c, "onset-one-pod");
}
bool onOnePod(const ErrorCase& c, const ErrorGroup& g) {
  return onePodOnly(c, g).support == Support::Supports && !onSeveralNodesAtOnce(c, g);
}
bool notTheContainer(const ErrorCase& c, const ErrorGroup& g) {
  return onSeveralNodesAtOnce(c, g) || linkFlapped(c, g).support == Support::Supports;
}

// ---- other vendors' numbers

Judged statusIs(const ErrorCase& c, const ErrorGroup& g, std::string_view status) {
  for (const Event* e : g.events)
    if (e->detail.starts_with(status)) return eventTells(c, e);
  return {};
}
Judged retriesExceeded(const ErrorCase& c, const ErrorGroup& g) {
  return statusIs(c, g, "status 12,");
}
Judged receiverNotReady(const ErrorCase& c, const ErrorGroup& g) {
  return statusIs(c, g, "status 13,");
}
Judged flushed(const ErrorCase& c, const ErrorGroup& g) {
  return statusIs(c, g, "status 5,");
}

// ---- memory

Judged gdrInUse(const ErrorCase& c, const ErrorGroup& /*g*/) {
  const Place* at = gdrChannel(c);
  if (!at) return {};
  return {Support::Supports,
          {{"Channels of this job use GPUDirect RDMA.", c.job.source(*at), Certainty::Told}},
          {},
          {}};
}

// The device said which side it was: its event is the same failure seen from the other end.
Judged accessViolation(const ErrorCase& c, const ErrorGroup& g) {
  Judged j = eventTells(c, c.event("async-access-violation"));
  if (j.support == Support::Supports) j.supporting.push_back(c.evidence(g.first()));
  return j;
}

Judged sizesDiffer(const ErrorCase& c, const ErrorGroup& g) {
  return linesTell(c, g);
}

Judged portDown(const ErrorCase& c, const ErrorGroup& g) {
  Judged j = linesTell(c, g);
  if (const Event* link = c.event("link-down")) j.supporting.push_back(c.evidence(*link));
  const std::string& host = g.first().host;
  const bool one = std::all_of(g.events.begin(), g.events.end(),
                               [&](const Event* e) { return e->host == host; });
  if (one) j.who = host;
  return j;
}

constexpr std::string_view kRetryCheck =
    "grep -r NCCL_IB_RETRY_CNT in the job script, the pod and nccl.conf; remove it, or set 7.";

constexpr CauseRow k129[] = {
    {"retry-exhausted", Layer::Fabric,
     "The peer did not acknowledge in all the time that NCCL allows: peer, its port or the way to "
     "it was gone.",
     "Look at the peer in the line first: is its process alive, are its ports ACTIVE (ibstat)?",
     nullptr},
    {"retry-cnt-truncated-to-0", Layer::Software,
     "NCCL_IB_RETRY_CNT does not fit its three bits and leaves no retry: the first lost packet "
     "ends "
     "the job.",
     kRetryCheck, truncatedToNone},
    {"retry-cnt-truncated-to-4", Layer::Software,
     "NCCL_IB_RETRY_CNT does not fit its three bits and leaves four retries of seven.", kRetryCheck,
     truncatedToFour},
    {"retry-cnt-truncated", Layer::Software,
     "NCCL_IB_RETRY_CNT does not fit its three bits and leaves fewer retries than seven.",
     kRetryCheck, truncatedToOther},
    {"wrong-roce-gid-index-suspected", Layer::Software,
     "NCCL_IB_GID_INDEX names a GID that is likely link-local or RoCE v1, which switches do not "
     "route.",
     "show_gids; unset NCCL_IB_GID_INDEX (NCCL 2.21 and later choose), or name the RoCE v2 one.",
     gidIndex},
    {"one-pair-unreachable-seen-by-alltoall-only", Layer::Fabric,
     "One pair of nodes cannot talk; the all-reduce that passed never used that pair.",
     "Run alltoall_perf, then sendrecv_perf between the two nodes of the line.", onePair},
    {"fabric-level-event", Layer::Fabric, "Several nodes lost their connections at once.",
     "Give the time and the nodes to whoever runs the fabric: switch, subnet manager, routing.",
     severalNodesAtOnce},
    {"retries-exhausted-isolate-node", Layer::Link,
     "Retries are as they should be, or the same node or peer fails again: that node or its link.",
     "Run without the node; then ibstat, `mlxlink -d DEVICE -c` and error counters on it.",
     oneNode}};
constexpr NotRow k129Nots[] = {
    {"nccl-bug", "The HCA gave up on the peer; NCCL only reports it.", nullptr},
    {"fabric", "Without a retry a healthy fabric fails as well: set the count right first.",
     noRetriesLeft},
    {"fabric", "The peer's process ended first; there was nobody left to acknowledge.",
     lostToDeadPeer},
    {"fabric-first", "With fewer retries than it could have, judge the fabric after that is right.",
     fewRetriesLeft},
    {"retry-cnt", "NCCL_IB_RETRY_CNT is within its range.", retriesLegal},
    {"fabric-cleared-by-allreduce",
     "An all-reduce that passes uses few pairs of nodes and clears no others.", allReducePassed}};
constexpr std::string_view k129Next[] = {
    "On both nodes of the line: ibstat; ibqueryerrors or `ethtool -S` for drops and symbol errors",
    "Test the two nodes alone: ib_write_bw between the HCAs named, then sendrecv_perf"};

constexpr CauseRow k249[] = {
    {"earlier-error-on-the-connection", Layer::Unknown,
     "The connection was in error already; why stands in an earlier line, maybe of another rank.",
     "Get the logs of all ranks, the peer's first, with NCCL_DEBUG=WARN and time stamps.", nullptr},
    {"flapping-link-on-node", Layer::Link, "A link of the node went down.",
     "On the node: dmesg -T | grep -i 'link down'; reseat or replace cable and transceiver.",
     linkFlapped, true},
    {"fabric-level-event", Layer::Fabric, "Several nodes lost their connections at once.",
     "Give the time and the nodes to whoever runs the fabric: switch, subnet manager, routing.",
     severalNodesAtOnce},
    {"confined-to-one-pod-check-container-or-its-link", Layer::Container,
     "One pod alone reports it: its container or the link of its node.",
     "Move the pod to another node: if the error follows, it is the container, else the link.",
     onePodOnly}};
constexpr NotRow k249Nots[] = {
    {"container-configuration", "What fails is below every container: a link or the fabric.",
     notTheContainer},
    {"fabric-level-event", "The other pods of the job report nothing.", onOnePod}};

constexpr CauseRow kVendor[] = {
    {"see-completion-status", Layer::Unknown,
     "The vendor's number tells more than the status; the vendor documents it.",
     "Look the status up in ibv_poll_cq(3), the number in the HCA vendor's list of syndromes.",
     nullptr},
    {"retry-exhausted", Layer::Fabric, "Status 12: the peer did not acknowledge any more.",
     "Look at the peer in the line: process, ports (ibstat), then the way between.",
     retriesExceeded},
    {"receiver-not-ready", Layer::Software,
     "Status 13: the peer had posted no receive; its process hung or was stopped.",
     "Look at the peer's process: py-spy dump --pid PID, its load and its log.", receiverNotReady},
    {"earlier-error-on-the-connection", Layer::Unknown,
     "Status 5: the connection was in error already; why stands in an earlier line.",
     "Get the logs of all ranks, the peer's first.", flushed}};

constexpr CauseRow kLength[] = {
    {"different-env-or-code-on-nodes", Layer::Software,
     "The peer sent more than this side had room for: both sides differ in sizes or settings.",
     "Compare NCCL_* variables, images and the sizes of collectives on both nodes.", nullptr}};
constexpr CauseRow kQpOperation[] = {
    {"hca-or-driver-fault", Layer::Node,
     "The HCA found its own work request inconsistent: driver, provider library or firmware.",
     "dmesg -T | grep mlx5; compare firmware and rdma-core with a node that works.", nullptr}};
constexpr CauseRow kProtection[] = {
    {"gdr-registration-acs-or-iommu", Layer::Node,
     "The HCA was refused access to memory that is registered: GPU memory across PCIe, where ACS "
     "or "
     "an IOMMU turns requests away.",
     "Try NCCL_NET_GDR_LEVEL=LOC; where that helps: lspci -vvv | grep ACSCtl, iommu=pt, "
     "nvidia_peermem.",
     gdrInUse},
    {"memory-freed-or-unregistered-early", Layer::Application,
     "The buffer was freed or unregistered while it was being sent.",
     "Try NCCL_LOCAL_REGISTER=0; look for buffers freed before their collective ends.", nullptr}};
constexpr CauseRow kRegistration[] = {
    {"memory-registration-or-ordering", Layer::Software,
     "A key or address did not fit the memory it was for: registration, or writes that overtook "
     "each other.",
     "Try NCCL_IB_PCI_RELAXED_ORDERING=0 and NCCL_LOCAL_REGISTER=0; then update NCCL and firmware.",
     accessViolation, true}};
constexpr CauseRow kViolation[] = {
    {"memory-registration-or-ordering", Layer::Software,
     "A peer's request did not fit this side's registered memory: registration, or writes that "
     "overtook each other.",
     "Try NCCL_IB_PCI_RELAXED_ORDERING=0 and NCCL_LOCAL_REGISTER=0; then update NCCL and firmware.",
     linesTell}};
constexpr CauseRow kRemoteOp[] = {
    {"remote-side-memory-or-qp-error", Layer::Node,
     "The peer's HCA could not carry the request out: its memory or queue pair is in error.",
     "On the peer in the line: dmesg -T | grep -E 'mlx5|Xid', its own log at that time.",
     linesTell}};
constexpr CauseRow kPort[] = {
    {"port-down-on-host", Layer::Link, "The port of the host that says so went down.",
     "On that host: ibstat, dmesg -T | grep -i link; then cable, transceiver, switch port.",
     portDown, true}};
constexpr CauseRow kFatal[] = {
    {"hca-or-driver-fault", Layer::Node,
     "The HCA or its driver failed: a queue or the whole device is lost.",
     "dmesg -T | grep -E 'mlx5|health'; reset the device or drain the node.", linesTell}};
constexpr CauseRow kMigration[] = {
    {"path-lost", Layer::Fabric, "The alternative path of a connection did not come up either.",
     "Look at port states and routing between the two nodes.", nullptr}};
constexpr CauseRow kAsync[] = {
    {"device-reported-an-event", Layer::Node, "The HCA reported an event; its words name it.",
     "Look at dmesg of the node at that time, and at port states (ibstat).", nullptr}};
constexpr CauseRow kMismatch[] = {
    {"different-env-or-code-on-nodes", Layer::Software,
     "The two ranks are not in the same collective, or settings give them other sizes.",
     "Compare NCCL_* variables, images and code of all ranks; TORCH_DISTRIBUTED_DEBUG=DETAIL names "
     "the collective.",
     sizesDiffer}};

constexpr NotRow kNotLink[] = {
    {"link-fault", "The link carried the request: an end refused it.", nullptr}};
constexpr NotRow kNotTimeout[] = {
    {"timeout", "The answer came: it was a refusal, not silence.", nullptr},
    {"link-fault", "The link carried the request: an end refused it.", nullptr}};
constexpr NotRow kMismatchNots[] = {
    {"link-fault", "Both sizes arrived over a link that works.", nullptr}};
constexpr NotRow kPortNots[] = {
    {"nccl-bug", "The HCA's driver reported the event; NCCL passes it on.", nullptr},
    {"container-configuration", "A port is below every container.", noProcessDied}};
constexpr NotRow kFatalNots[] = {
    {"nccl-bug", "The HCA's driver reported the event; NCCL passes it on.", nullptr}};

constexpr std::string_view kCompletionWords[] = {
    "NET/IB : Got completion from peer %s with error %d, opcode %d, len %d, vendor err %d",
    "NET/IB: Got completion from peer %s with status=%d opcode=%d len=%d vendor err %d (%s)",
    "NET/IB: Got completion from peer %s with status=%s(%d) opcode=%s(%d) reqSize=%d "
    "vendor_err=%u req_type=%s",
    "NET/IB/GIN: Got completion from peer %s with status=%s(%d) opcode=%s(%d) vendor_err=%u"};
constexpr std::string_view kAsyncWords[] = {
    "NET/IB : Got async event : %s", "NET/IB : %s:%d Got async event : %s",
    "NET/IB : %s:%d Got async error event: %s", "NET/IB : %s:%d Got non-fatal async event: %s(%d)"};
constexpr std::string_view kFatalWords[] = {"NET/IB : %s:%d async fatal event: %s",
                                            "NET/IB : %s:%d async fatal event on QP (%p): %s",
                                            "NET/IB : Got async event : %s"};
constexpr std::string_view kMismatchWords[] = {
    "NET/IB : req %d/%d tag %x peer %s collective mismatch error, local size %d remote size %d",
    "NET/IB : req %d/%d tag %x peer %s posted incorrect receive info: size %d"};

constexpr std::string_view kIbSource =
    "NCCL src/transport/net_ib.cc, net_ib/ from 2.28 on; 2.4-2.32";
constexpr std::string_view kRetryMeans =
    "The HCA sent a request as often as it may and got no acknowledgement (status 12). How long "
    "that takes is NCCL_IB_TIMEOUT times NCCL_IB_RETRY_CNT.";

constexpr ErrorRule kRows[] = {
    {"vendor-err-129", Depth::Transfer, "transport retries exceeded", kRetryMeans, kCompletionWords,
     k129, k129Nots, k129Next, kIbSource},
    {"vendor-err-249",
     Depth::Flush,
     "work flushed from a connection in error",
     "The queue pair was in error before this request, which the HCA threw away (status 5).",
     kCompletionWords,
     k249,
     k249Nots,
     {},
     kIbSource},
    {"vendor-err-*",
     Depth::Transfer,
     "completion in error",
     "The HCA finished a request with an error and a number of its vendor's.",
     kCompletionWords,
     kVendor,
     {},
     {},
     kIbSource},
    {"local-length-error",
     Depth::Transfer,
     "message longer than its buffer (status 1)",
     "A message did not fit the receive that was posted for it.",
     kCompletionWords,
     kLength,
     kNotLink,
     {},
     kIbSource},
    {"local-qp-operation-error",
     Depth::Transfer,
     "inconsistent work request (status 2)",
     "The HCA of the speaker could not carry out its own work request.",
     kCompletionWords,
     kQpOperation,
     kNotLink,
     {},
     kIbSource},
    {"local-protection-error",
     Depth::Transfer,
     "local memory refused (status 4)",
     "The HCA of the speaker could not read or write memory that the request names.",
     kCompletionWords,
     kProtection,
     kNotTimeout,
     {},
     kIbSource},
    {"remote-invalid-request",
     Depth::Transfer,
     "peer refused the request as invalid (status 9)",
     "The peer's HCA found that the request does not fit the memory or queue it is for.",
     kCompletionWords,
     kRegistration,
     kNotTimeout,
     {},
     kIbSource},
    {"remote-access-error",
     Depth::Transfer,
     "peer refused access to its memory (status 10)",
     "The key or address of the request is not one that the peer's HCA lets others use.",
     kCompletionWords,
     kRegistration,
     kNotTimeout,
     {},
     kIbSource},
    {"remote-op-error",
     Depth::Transfer,
     "peer could not carry the request out (status 11)",
     "The peer's HCA answered that the operation failed on its side.",
     kCompletionWords,
     kRemoteOp,
     kNotTimeout,
     {},
     kIbSource},
    {"async-port-error",
     Depth::Port,
     "port went down",
     "The driver told NCCL that a port of this host is not active any more.",
     kAsyncWords,
     kPort,
     kPortNots,
     {},
     kIbSource},
    {"async-access-violation",
     Depth::Port,
     "a peer's request violated local memory",
     "The HCA of the speaker refused a request that came in.",
     kAsyncWords,
     kViolation,
     kNotTimeout,
     {},
     kIbSource},
    {"async-fatal-event",
     Depth::Port,
     "device or queue failed",
     "The driver told NCCL that a queue or the device is in error for good.",
     kFatalWords,
     kFatal,
     kFatalNots,
     {},
     kIbSource},
    {"async-path-migration-failed",
     Depth::Port,
     "path migration failed",
     "A connection could not move to its alternative path.",
     kAsyncWords,
     kMigration,
     kFatalNots,
     {},
     kIbSource},
    {"async-*",
     Depth::Port,
     "event of a device",
     "The driver told NCCL of an event of a device, port or queue.",
     kAsyncWords,
     kAsync,
     {},
     {},
     kIbSource},
    {"collective-mismatch",
     Depth::Transfer,
     "ranks disagree on a message",
     "Sender and receiver gave different sizes for the same message.",
     kMismatchWords,
     kMismatch,
     kMismatchNots,
     {},
     kIbSource},
};

}  // namespace

std::span<const ErrorRule> completionErrorRules() noexcept {
  return kRows;
}

}  // namespace rdmaguard::engine
