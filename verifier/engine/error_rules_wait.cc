// Rows of the error table: timeouts, stalls, hangs, and what speaks for or against their causes.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {
namespace {

Judged supportedBy(const ErrorCase& c, std::string_view id) {
  const Event* e = c.event(id);
  if (!e) return {};
  return {Support::Supports, {c.evidence(*e)}, {}, {}};
}

Judged starved(const ErrorCase& c, const ErrorGroup&) {
  Judged j = supportedBy(c, "gpu-idle");
  const Judged reads = supportedBy(c, "storage-stalled");
  if (j.support != Support::Supports && reads.support != Support::Supports) return {};
  j.support = Support::Supports;
  j.supporting.insert(j.supporting.end(), reads.supporting.begin(), reads.supporting.end());
  const Event* idle = c.event("gpu-idle");
  if (idle && idle->rank >= 0)
    j.who = "rank " + std::to_string(idle->rank);
  else if (c.collectives.silent.size() == 1)
    j.who = "rank " + std::to_string(c.collectives.silent.front());
  return j;
}
bool isStarved(const ErrorCase& c, const ErrorGroup& g) {
  return starved(c, g).support == Support::Supports;
}

Judged testFails(const ErrorCase& c, const ErrorGroup&) {
  for (const Event* e : c.events("nccl-test-failed"))
    return {Support::Supports, {c.evidence(*e)}, {}, e->host};
  return {};
}
bool doesTestFail(const ErrorCase& c, const ErrorGroup& g) {
  return testFails(c, g).support == Support::Supports;
}
bool followsAnother(const ErrorCase& c, const ErrorGroup& g) {
  return !g.root && c.root != nullptr;
}
bool afterCheckpointCrash(const ErrorCase& c, const ErrorGroup&) {
  return c.root && c.root->id == "segfault-crc32";
}
bool fabricNot(const ErrorCase& c, const ErrorGroup& g) {
  return isStarved(c, g) || followsAnother(c, g);
}
bool fabricNotFirst(const ErrorCase& c, const ErrorGroup& g) {
  return g.root && !isStarved(c, g) && !doesTestFail(c, g);
}
bool dataloaderNot(const ErrorCase& c, const ErrorGroup& g) {
  return doesTestFail(c, g) || afterCheckpointCrash(c, g);
}

/// The first collective hangs and hosts use different indices of their device lists.
Judged unequalHcas(const ErrorCase& c, const ErrorGroup& g) {
  if (!c.collectives.first) return {};
  std::map<std::string, std::uint64_t> used;
  for (const ProcessLog& p : c.job.log.processes)
    for (const CommLog& comm : p.comms)
      for (const NetEdges& edges : comm.edges)
        if (!p.host.empty()) used[p.host] |= edges.devicesUsed;
  const bool differ = std::any_of(used.begin(), used.end(), [&used](const auto& host) {
    return host.second != used.begin()->second;
  });
  if (!differ) return {};
  return {Support::Supports,
          {c.evidence(g.first()),
           {"The hosts use different network devices of their lists.", c.evidence(g.first()).source,
            Certainty::Inferred}},
          {},
          {}};
}

/// One rank of a known number that never reached the collective.
Judged stalledRank(const ErrorCase& c, const ErrorGroup& g) {
  if (!c.collectives.silentKnown || c.collectives.silent.size() != 1 ||
      c.collectives.waiting.empty())
    return {};
  const std::string who = "rank " + std::to_string(c.collectives.silent.front());
  return {Support::Supports,
          {{who + " alone has no wait while the others wait for it.", c.evidence(g.first()).source,
            Certainty::Inferred}},
          {},
          who};
}

bool shared(const std::string& path) {
  for (const std::string_view local :
       {"/tmp", "/var/tmp", "/dev/shm", "/mnt/local", "/local", "/scratch/local", "/raid"})
    if (path.starts_with(local)) return false;
  return path.starts_with("/");
}
Judged bySetting(const ErrorCase& c, std::string_view name) {
  const Setting* s = c.setting(name);
  if (!s) s = c.fact(name);
  if (!s || !shared(s->value)) return {};
  return {Support::Supports, {c.evidence(*s)}, {}, {}};
}
Judged inductorShared(const ErrorCase& c, const ErrorGroup&) {
  const Judged j = bySetting(c, "TORCHINDUCTOR_CACHE_DIR");
  return j.support == Support::Supports ? j : bySetting(c, "TMPDIR");
}
Judged tritonHome(const ErrorCase& c, const ErrorGroup& g) {
  if (inductorShared(c, g).support == Support::Supports || c.setting("TRITON_CACHE_DIR")) return {};
  return bySetting(c, "HOME");
}
bool isInductor(const ErrorCase& c, const ErrorGroup& g) {
  return inductorShared(c, g).support == Support::Supports;
}
bool isTriton(const ErrorCase& c, const ErrorGroup& g) {
  return tritonHome(c, g).support == Support::Supports;
}

Judged atCollective(const ErrorCase& c, const ErrorGroup& g) {
  for (const ProcessLog& p : c.job.log.processes)
    for (const CommLog& comm : p.comms)
      if (comm.opLines > 0)
        return {
            Support::Supports,
            {c.evidence(g.first()),
             {"NCCL printed " + comm.lastOp + " last.", c.job.source(comm.first), Certainty::Told}},
            {},
            {}};
  return {};
}
bool isAtCollective(const ErrorCase& c, const ErrorGroup& g) {
  return atCollective(c, g).support == Support::Supports;
}
Judged cited(const ErrorCase& c, const ErrorGroup& g) {
  return {Support::Supports, {c.evidence(g.first())}, {}, {}};
}

constexpr CauseRow kWatchdog[] = {
    {"dataloader-or-storage-starvation", Layer::Storage,
     "A rank waits for data, so it never reaches the collective.",
     "Check the reads of that rank's mount and its dataloader workers.", starved},
    {"bad-node-found-by-bisection", Layer::Node, "nccl-tests fails on the same nodes.",
     "Drain the node named and run the test again without it.", testFails},
    {"unequal-hca-sets-suspected", Layer::Software,
     "The nodes do not use the same HCAs, and the first collective never ends.",
     "Set NCCL_IB_HCA alike on all nodes; compare the NET/IB : Using lines.", unequalHcas},
    {"stalled-rank", Layer::Application, "One rank never reached the collective.",
     "py-spy dump --pid PID on that rank.", stalledRank},
    {"dataloader-or-storage-starvation-first", Layer::Unknown,
     "Nothing tells; a starved dataloader is more frequent than a broken fabric.",
     "Watch nvidia-smi and the reads of each rank, then run nccl-tests on the same nodes.",
     nullptr},
    {"test-with-all-to-all", Layer::Fabric,
     "Where the collective is all-to-all or send/recv, an all-reduce that passes certifies "
     "nothing for it.",
     "Run alltoall_perf or sendrecv_perf on the same nodes.", nullptr}};
constexpr CauseRow kStall[] = {
    {"stall-at-nccl-collective", Layer::Unknown, "NCCL was active and fell silent at a collective.",
     "Compare the last opCount of every rank; then py-spy dump the one behind.", atCollective},
    {"stall-upstream-of-nccl", Layer::Application, "NCCL was silent before the stall.",
     "py-spy dump --pid PID; look at dataloader and checkpoint.", nullptr}};
constexpr CauseRow kHang[] = {
    {"stale-inductor-cache-on-shared-storage", Layer::Storage,
     "The crashed run left locks in Inductor's cache on shared storage.",
     "rm -rf \"$TORCHINDUCTOR_CACHE_DIR\"; set it to a path with the job's id.", inductorShared},
    {"stale-triton-cache-in-home", Layer::Storage,
     "The crashed run left Triton's cache in the home directory half written.",
     "rm -rf ~/.triton/cache; set TRITON_CACHE_DIR to a path with the job's id.", tritonHome},
    {"stale-inductor-cache-under-tmpdir", Layer::Storage,
     "Inductor's cache under the temporary directory may be left from the crashed run.",
     "rm -rf /tmp/torchinductor_$USER on every node.", nullptr}};
constexpr CauseRow kHarness[] = {
    {"harness-sizes-or-timing", Layer::Application,
     "The program's own measurement uses other sizes or counts other time.",
     "Measure the sizes that nccl-tests measures, after a warm-up, with CUDA events.", cited}};
constexpr CauseRow kStorage[] = {{"stalled-storage-mount", Layer::Storage, "A mount stalled.",
                                  "dmesg -T | grep -i -E 'nfs|lustre'; check its server.", cited}};
constexpr CauseRow kIdle[] = {{"starved-gpu", Layer::Application, "The GPU waits for work.",
                               "Check the dataloader of that rank.", nullptr}};
constexpr CauseRow kHung[] = {{"kernel-task-blocked", Layer::Node, "A task hangs in the kernel.",
                               "Read its stack in dmesg: storage or driver.", nullptr}};
constexpr CauseRow kLink[] = {{"link-changed-state", Layer::Link, "A link changed its state.",
                               "ibstat; check cable, transceiver and switch port.", nullptr}};
constexpr CauseRow kFirmware[] = {{"nic-firmware-fault", Layer::Link, "The HCA's firmware failed.",
                                   "Read mlx5_core lines in dmesg; reset or replace the HCA.",
                                   cited}};
constexpr CauseRow kRemark[] = {
    {"remark", Layer::Unknown, "Said beside the logs.", "Take it into account.", nullptr}};

constexpr NotRow kWatchdogNots[] = {
    {"fabric", "The evidence lies before the network.", fabricNot},
    {"fabric-by-default", "A timeout does not make the network the suspect.", fabricNotFirst},
    {"dataloader", "The evidence names another cause.", dataloaderNot}};
constexpr NotRow kStallNots[] = {
    {"upstream-of-nccl", "NCCL printed a collective just before it.", isAtCollective}};
constexpr NotRow kHangNots[] = {
    {"fabric", "It hangs after a crash, at start.", nullptr},
    {"nccl-bug", "NCCL waits for ranks that are still compiling.", nullptr},
    {"triton-cache", "The shared cache is Inductor's.", isInductor},
    {"inductor-cache", "Inductor's cache is not on shared storage.", isTriton}};
constexpr NotRow kHarnessNots[] = {{"fabric", "nccl-tests passes on the same nodes.", nullptr}};

constexpr std::string_view kDebug[] = {
    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL shows each collective as NCCL begins it.",
    "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 records PyTorch's side."};

constexpr std::string_view kWatchdogWords[] = {
    "Watchdog caught collective operation timeout: WorkNCCL(%s)"};
constexpr std::string_view kStallWords[] = {"no new line since", "no output for", "no output since",
                                            "hangs at the same"};
constexpr std::string_view kMade[] = {"put together from several lines"};
constexpr std::string_view kDestroy[] = {"destroy_process_group() was not called"};
constexpr std::string_view kVarious[] = {"various wordings of the kernel and of metrics"};

constexpr std::string_view kPytorch = "PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp";
constexpr std::string_view kSpeaks = "No failure of NCCL; it speaks for or against other causes.";

constexpr ErrorRule kRows[] = {
    {"watchdog-timeout", Depth::Outcome, "a collective timed out",
     "PyTorch waited for a collective longer than its limit: some rank did not take part.",
     kWatchdogWords, kWatchdog, kWatchdogNots, kDebug, kPytorch},
    {"silent-stall", Depth::Outcome, "the job went silent", "No rank prints any more.", kStallWords,
     kStall, kStallNots, kDebug, "remarks beside logs"},
    {"init-hang-after-crash", Depth::Machine, "start hangs after a crash",
     "A communicator begins and never completes, after a run that crashed.", kMade, kHang,
     kHangNots, kDebug, "PyTorch torch/_inductor, Triton cache"},
    {"harness-result-differs",
     Depth::Outcome,
     "the program's own figure differs",
     "nccl-tests passes where the program's own test is slow.",
     kMade,
     kHarness,
     kHarnessNots,
     {},
     "nccl-tests doc/PERFORMANCE.md"},
    {"storage-stalled",
     Depth::Evidence,
     "storage stalled",
     kSpeaks,
     kVarious,
     kStorage,
     {},
     {},
     "Linux fs/nfs, metrics"},
    {"gpu-idle", Depth::Evidence, "GPU idle", kSpeaks, kVarious, kIdle, {}, {}, "DCGM metrics"},
    {"hung-task",
     Depth::Evidence,
     "task blocked",
     kSpeaks,
     kVarious,
     kHung,
     {},
     {},
     "Linux kernel/hung_task.c"},
    {"link-down",
     Depth::Evidence,
     "link down",
     kSpeaks,
     kVarious,
     kLink,
     {},
     {},
     "Linux drivers/net/ethernet/mellanox/mlx5"},
    {"link-up",
     Depth::Evidence,
     "link up",
     kSpeaks,
     kVarious,
     kLink,
     {},
     {},
     "Linux drivers/net/ethernet/mellanox/mlx5"},
    {"nic-firmware-fault",
     Depth::Port,
     "HCA firmware fault",
     "The HCA stopped answering.",
     kVarious,
     kFirmware,
     {},
     {},
     "Linux drivers/net/ethernet/mellanox/mlx5/core/health.c"},
    {"same-nodes", Depth::Evidence, "same nodes", kSpeaks, kVarious, kRemark, {}, {}, "remarks"},
    {"harness-figure",
     Depth::Evidence,
     "own figure",
     kSpeaks,
     kVarious,
     kRemark,
     {},
     {},
     "remarks"},
    {"destroy-process-group-warning",
     Depth::Evidence,
     "process group not destroyed",
     kSpeaks,
     kDestroy,
     kRemark,
     {},
     {},
     kPytorch},
};

}  // namespace

std::span<const ErrorRule> waitErrorRules() noexcept {
  return kRows;
}

}  // namespace rdmaguard::engine
