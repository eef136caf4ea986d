// Rows of the error table: what GPUs and their driver report.
#include <cstddef>
#include <set>

#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kManyNodes = 3;  // that many hosts at once do not break by themselves
constexpr double kWithinSeconds = 60;  // "at once", wide enough for unequal clocks
constexpr std::size_t kShown = 4;      // lines cited at most

Judged cited(const ErrorCase& c, const ErrorGroup& g) {
  Judged j{Support::Supports};
  for (const Event* e : g.events) {
    if (j.supporting.size() == kShown) break;
    j.supporting.push_back(c.evidence(*e));
  }
  return j;
}

/// Hosts of a group whose events lie close together in time (or have no time).
std::size_t hostsAtOnce(const ErrorCase& c, const ErrorGroup& g) {
  std::set<std::string_view> hosts;
  Instant first, now;
  const bool timed = c.timeline.when(g.first(), first);
  for (const Event* e : g.events) {
    if (timed && c.timeline.when(*e, now) && now.seconds - first.seconds > kWithinSeconds) continue;
    if (!e->host.empty()) hosts.insert(e->host);
  }
  return hosts.size();
}

Judged manyNodes(const ErrorCase& c, const ErrorGroup& g) {
  return hostsAtOnce(c, g) >= kManyNodes ? cited(c, g) : Judged{};
}

bool onManyNodes(const ErrorCase& c, const ErrorGroup& g) {
  return hostsAtOnce(c, g) >= kManyNodes;
}
bool onFewNodes(const ErrorCase& c, const ErrorGroup& g) {
  return !onManyNodes(c, g);
}

constexpr NotRow kNotNet[] = {
    {"nccl-bug", "The GPU or its driver failed below NCCL; NCCL only reports it.", nullptr},
    {"fabric", "The report comes from inside the node, not from the network.", nullptr},
    {"storage", "A GPU's fault does not come from a mount.", nullptr}};
constexpr NotRow kNotFabric[] = {
    {"fabric", "NVLink and NVSwitch are inside the node or rack, not the RDMA fabric.", nullptr}};
constexpr NotRow kXid31Nots[] = {
    {"gpu-hardware", "GPUs of several nodes do not break within seconds of each other.",
     onManyNodes},
    {"fabric", "An address that the GPU refuses does not come from the network.", onFewNodes}};
constexpr NotRow kLayoutNots[] = {
    {"gpu-hardware", "The GPU is not broken: the process does not see one by that number.",
     nullptr}};
constexpr NotRow kDuplicateNots[] = {
    {"network", "NCCL stops before it uses the network.", nullptr},
    {"hardware", "The GPUs are well: two ranks chose the same one.", nullptr}};

constexpr std::string_view kXidNext[] = {
    "On the node named: dmesg -T | grep -E 'NVRM|Xid'; nvidia-smi -q",
    "Drain the node and run: dcgmi diag -r 3"};

constexpr CauseRow kHardware[] = {
    {"gpu-hardware-fault", Layer::Gpu, "The GPU, or its link to the host, failed.",
     "Drain the node, run `dcgmi diag -r 3`, reset or replace the GPU.", cited}};
constexpr CauseRow kNvlink[] = {
    {"gpu-nvlink-fault", Layer::Gpu, "An NVLink or NVSwitch of this node failed.",
     "Run `nvidia-smi nvlink -e` and `nvidia-smi nvlink -s` on the node; drain it.", cited}};
constexpr CauseRow kXid31[] = {
    {"application-memory-corruption", Layer::Application,
     "The program read or wrote GPU memory that is not its own, on many nodes alike.",
     "Run one step under compute-sanitizer; undo the last change of kernels or shapes.", manyNodes},
    {"application-or-gpu-undecided", Layer::Unknown,
     "A GPU refused an address: the program's mistake, or this GPU's.",
     "Run the same job without this node: if the Xid moves along, it is the program.", nullptr}};
constexpr CauseRow kXidAny[] = {
    {"gpu-fault-by-catalogue", Layer::Gpu, "The driver reported a GPU event of this number.",
     "Look the number up in NVIDIA's Xid catalogue; run `dcgmi diag -r 3`.", nullptr}};
constexpr CauseRow kProgramFault[] = {
    {"application-kernel-fault", Layer::Application,
     "A kernel of the program made an access or instruction that the GPU refused.",
     "Run the program under compute-sanitizer with CUDA_LAUNCH_BLOCKING=1.", nullptr},
    {"gpu-hardware-fault", Layer::Gpu, "The GPU itself computes wrongly.",
     "Run `dcgmi diag -r 3` where only one GPU shows it.", nullptr}};
constexpr CauseRow kLayout[] = {
    {"job-layout-gpus-per-task", Layer::JobLayout,
     "A rank asks for a GPU by a number that its task does not see.",
     "Use --gpus-per-node in place of --gpus-per-task, or take device 0 in every task.", cited}};
constexpr CauseRow kFabricManager[] = {
    {"fabric-manager-not-running", Layer::Gpu,
     "The NVSwitch fabric is not set up: fabric manager is not running or does not fit the driver.",
     "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric", cited}};
constexpr CauseRow kDuplicate[] = {
    {"several-ranks-on-one-gpu", Layer::JobLayout, "Two ranks use the same GPU.",
     "Call torch.cuda.set_device(LOCAL_RANK) before init, check CUDA_VISIBLE_DEVICES.", cited}};
constexpr CauseRow kCuda[] = {
    {"cuda-call-failed", Layer::Gpu, "A CUDA call of NCCL failed; its text names the reason.",
     "Look for an Xid at that time (`dmesg -T | grep Xid`), then at driver and health.", nullptr}};

constexpr std::string_view kXidWords[] = {"NVRM: Xid (PCI:%s): %d, %s"};
constexpr std::string_view kSxidWords[] = {"nvidia-nvswitch%d: SXid (PCI:%s): %d, %s"};
constexpr std::string_view kSwitchWords[] = {"nvidia-nvswitch%d: %s"};
constexpr std::string_view kBusWords[] = {"GPU has fallen off the bus",
                                          "NVRM: GPU %s: GPU has fallen off the bus."};
constexpr std::string_view kCudaWords[] = {"Cuda failure %d '%s'", "Cuda failure '%s'"};
constexpr std::string_view k101Words[] = {"Cuda failure 101 'invalid device ordinal'"};
constexpr std::string_view k802Words[] = {"Cuda failure 802 'system not yet initialized'"};
constexpr std::string_view kDupWords[] = {
    "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x"};
constexpr std::string_view kTopoWords[] = {"Could not find gpu rank %d"};

constexpr std::string_view kCatalogue = "NVIDIA's Xid catalogue";
constexpr std::string_view kMeansXid = "The GPU driver reported a fault of this GPU to the kernel.";

constexpr ErrorRule kRows[] = {
    {"xid-*", Depth::Machine, "GPU event (Xid)", kMeansXid, kXidWords, kXidAny, kNotFabric,
     kXidNext, kCatalogue},
    {"xid-13", Depth::Machine, "graphics engine exception", kMeansXid, kXidWords, kProgramFault,
     kNotFabric, kXidNext, kCatalogue},
    {"xid-31", Depth::Machine, "GPU memory page fault",
     "The GPU's memory unit refused an address that a kernel used.", kXidWords, kXid31, kXid31Nots,
     kXidNext, kCatalogue},
    {"xid-43", Depth::Outcome, "GPU stopped processing",
     "A channel was stopped after a fault of the program; follows another error.", kXidWords,
     kProgramFault, kNotFabric, kXidNext, kCatalogue},
    {"xid-45", Depth::Outcome, "preemptive cleanup",
     "The driver cleaned up after a process that ended or failed.", kXidWords, kProgramFault,
     kNotFabric, kXidNext, kCatalogue},
    {"xid-48", Depth::Machine, "double-bit ECC error", kMeansXid, kXidWords, kHardware, kNotNet,
     kXidNext, kCatalogue},
    {"xid-63", Depth::Machine, "row remapping recorded", kMeansXid, kXidWords, kHardware, kNotNet,
     kXidNext, kCatalogue},
    {"xid-64", Depth::Machine, "row remapping failed", kMeansXid, kXidWords, kHardware, kNotNet,
     kXidNext, kCatalogue},
    {"xid-74", Depth::Machine, "NVLink error", kMeansXid, kXidWords, kNvlink, kNotFabric, kXidNext,
     kCatalogue},
    {"xid-79", Depth::Machine, "GPU has fallen off the bus", kMeansXid, kXidWords, kHardware,
     kNotNet, kXidNext, kCatalogue},
    {"xid-94", Depth::Machine, "contained ECC error", kMeansXid, kXidWords, kHardware, kNotNet,
     kXidNext, kCatalogue},
    {"xid-95", Depth::Machine, "uncontained ECC error", kMeansXid, kXidWords, kHardware, kNotNet,
     kXidNext, kCatalogue},
    {"xid-119", Depth::Machine, "GSP timeout", kMeansXid, kXidWords, kHardware, kNotNet, kXidNext,
     kCatalogue},
    {"xid-120", Depth::Machine, "GSP error", kMeansXid, kXidWords, kHardware, kNotNet, kXidNext,
     kCatalogue},
    {"gpu-fell-off-bus", Depth::Machine, "GPU has fallen off the bus", kMeansXid, kBusWords,
     kHardware, kNotNet, kXidNext, kCatalogue},
    {"sxid-*", Depth::Machine, "NVSwitch event (SXid)", "An NVSwitch reported a fault.", kSxidWords,
     kNvlink, kNotFabric, kXidNext, "NVIDIA Fabric Manager user guide"},
    {"nvswitch-fault", Depth::Machine, "NVSwitch fault", "An NVSwitch reported a fault.",
     kSwitchWords, kNvlink, kNotFabric, kXidNext, "NVIDIA Fabric Manager user guide"},
    {"cuda-101-invalid-ordinal",
     Depth::Setup,
     "invalid device ordinal",
     "A process asked for a GPU number that it does not see.",
     k101Words,
     kLayout,
     kLayoutNots,
     {},
     "CUDA runtime API, cudaErrorInvalidDevice"},
    {"cuda-802-fabric-manager",
     Depth::Setup,
     "system not yet initialized",
     "CUDA refuses to start before the NVSwitch fabric is set up.",
     k802Words,
     kFabricManager,
     kNotFabric,
     {},
     "CUDA runtime API, cudaErrorSystemNotReady"},
    {"cuda-failure", Depth::Outcome, "CUDA call failed",
     "A CUDA call made by NCCL failed; the text names the reason.", kCudaWords, kCuda, kNotFabric,
     kXidNext, "NCCL src/include/checks.h"},
    {"duplicate-gpu",
     Depth::Process,
     "several ranks on one GPU",
     "NCCL found two ranks of one communicator on the same GPU and refused to start.",
     kDupWords,
     kDuplicate,
     kDuplicateNots,
     {},
     "NCCL src/init.cc"},
    {"gpu-not-in-topology",
     Depth::Outcome,
     "GPU not in the topology",
     "NCCL did not find the rank's GPU among the devices that it sees.",
     kTopoWords,
     kLayout,
     kLayoutNots,
     {},
     "NCCL src/graph"},
};

}  // namespace

std::span<const ErrorRule> gpuErrorRules() noexcept {
  return kRows;
}

}  // namespace rdmaguard::engine
