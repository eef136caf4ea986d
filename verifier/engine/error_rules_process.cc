// Rows of the error table: ends of processes.
#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {
namespace {

Judged cited(const ErrorCase& c, const ErrorGroup& g) {
  return {Support::Supports, {c.evidence(g.first())}, {}, {}};
}

/// GB200 with a driver of branch 580: coherent driver-managed memory is on by default there.
Judged cdmmRace(const ErrorCase& c, const ErrorGroup& g) {
  const Setting* gpu = c.fact("gpu");
  const Setting* driver = c.fact("driver");
  Judged j;
  if (!gpu || !driver) return j;
  if (gpu->value.find("GB200") != std::string::npos && driver->value.starts_with("580."))
    return {
        Support::Supports, {c.evidence(g.first()), c.evidence(*gpu), c.evidence(*driver)}, {}, {}};
  return {Support::Against, {}, {c.evidence(*gpu), c.evidence(*driver)}, {}};
}

bool race(const ErrorCase& c, const ErrorGroup& g) {
  return cdmmRace(c, g).support == Support::Supports;
}

constexpr NotRow kNotFabric[] = {
    {"fabric", "The process ended by itself; its peers then lost their connections.", nullptr}};
constexpr NotRow kNotNetwork[] = {
    {"network", "The process ended by itself; its peers then lost their connections.", nullptr}};
constexpr NotRow kSegfaultNots[] = {
    {"cdmm", "Nothing places this crash in the checksum of a checkpoint.", nullptr}};
constexpr NotRow kRaceNots[] = {
    {"fabric", "The crash is in the host's memory, before any timeout.", nullptr},
    {"nvlink", "A crash in a checksum on the CPU is not NVLink's.", race},
    {"nccl-config", "No setting of NCCL reaches this code.", race}};

constexpr CauseRow kOomCuda[] = {{"rank-ran-out-of-gpu-memory", Layer::Application,
                                  "The rank asked for more GPU memory than was free.",
                                  "Lower the batch, shard more, or look for a leak on that rank.",
                                  cited}};
constexpr CauseRow kOomHost[] = {
    {"oom-killed", Layer::Node, "The kernel or the pod's limit killed the process for memory.",
     "dmesg -T | grep -i oom; raise the memory limit or cut workers.", cited}};
constexpr CauseRow kCrash[] = {{"application-crash", Layer::Application,
                                "The program or a library it loads crashed.",
                                "Get a core dump or run with PYTHONFAULTHANDLER=1.", cited}};
constexpr CauseRow kCrc32[] = {
    {"cdmm-driver-580-checkpoint-race", Layer::Gpu,
     "On GB200 with driver 580 (CDMM) the checkpoint reads memory that the GPU still writes.",
     "Synchronise before the checkpoint, write to object storage, or use driver 570.", cdmmRace},
    {"application-crash", Layer::Application, "The program crashed while it wrote a checkpoint.",
     "Get a core dump; check that tensors are not freed while they are written.", cited}};
constexpr CauseRow kException[] = {
    {"application-exception", Layer::Application, "The program raised an error and ended.",
     "Read the traceback of that rank, above its last line.", cited},
    {"application-crash", Layer::Application, "A signal ended the process.",
     "An exit code above 128 or below 0 is a signal: look in dmesg for its reason.", nullptr}};
constexpr CauseRow kBus[] = {
    {"shared-memory-full", Layer::Container, "/dev/shm or a mapped file gave out.",
     "df -h /dev/shm; enlarge it (--shm-size, emptyDir medium Memory).", nullptr},
    {"application-crash", Layer::Application, "The program crashed.", "Get a core dump.", nullptr}};
constexpr CauseRow kTest[] = {{"nccl-test-failed-on-node", Layer::Unknown,
                               "nccl-tests failed on these nodes.",
                               "Bisect: run the same test on each half of the nodes.", nullptr}};

constexpr std::string_view kOomCudaWords[] = {"torch.OutOfMemoryError: CUDA out of memory.",
                                              "torch.cuda.OutOfMemoryError: CUDA out of memory."};
constexpr std::string_view kOomHostWords[] = {"Out of memory: Killed process %d (%s)",
                                              "oom-kill event", "OOMKilled"};
constexpr std::string_view kSegWords[] = {"Segmentation fault", "segfault at %x ip %x"};
constexpr std::string_view kCrcWords[] = {"crc32_16bytes"};
constexpr std::string_view kBusWords[] = {"Bus error"};
constexpr std::string_view kAbortWords[] = {
    "Signal: Aborted (6)", "SIGABRT", "Aborted (core dumped)", "terminate called after throwing"};
constexpr std::string_view kPyWords[] = {"Traceback (most recent call last):"};
constexpr std::string_view kExitWords[] = {"exitcode: %d (local_rank: %d)", "exited with code %d"};
constexpr std::string_view kTestWords[] = {"Test NCCL failure %s"};

constexpr std::string_view kEnded = "The process of a rank ended before the job did.";

constexpr ErrorRule kRows[] = {
    {"oom-cuda",
     Depth::Process,
     "out of GPU memory",
     kEnded,
     kOomCudaWords,
     kOomCuda,
     kNotFabric,
     {},
     "PyTorch c10/cuda/CUDACachingAllocator.cpp"},
    {"oom-host",
     Depth::Process,
     "out of host memory",
     kEnded,
     kOomHostWords,
     kOomHost,
     kNotFabric,
     {},
     "Linux mm/oom_kill.c"},
    {"segfault",
     Depth::Process,
     "segmentation fault",
     kEnded,
     kSegWords,
     kCrash,
     kSegfaultNots,
     {},
     "Linux arch/x86/mm/fault.c"},
    {"segfault-crc32",
     Depth::Process,
     "crash in a checkpoint's checksum",
     kEnded,
     kCrcWords,
     kCrc32,
     kRaceNots,
     {},
     "PyTorch caffe2/serialize"},
    {"bus-error",
     Depth::Process,
     "bus error",
     kEnded,
     kBusWords,
     kBus,
     kNotFabric,
     {},
     "signal(7)"},
    {"process-aborted",
     Depth::Outcome,
     "process aborted",
     kEnded,
     kAbortWords,
     kException,
     kNotNetwork,
     {},
     "signal(7)"},
    {"python-exception",
     Depth::Process,
     "Python exception",
     kEnded,
     kPyWords,
     kException,
     kNotNetwork,
     {},
     "Python traceback module"},
    {"rank-exited",
     Depth::Process,
     "a rank exited",
     kEnded,
     kExitWords,
     kException,
     kNotNetwork,
     {},
     "PyTorch torch/distributed/elastic/multiprocessing/errors"},
    {"rank-exited-first",
     Depth::Process,
     "a rank exited first",
     kEnded,
     kExitWords,
     kException,
     kNotNetwork,
     {},
     "PyTorch torch/distributed/elastic/multiprocessing/errors"},
    {"nccl-test-failed",
     Depth::Outcome,
     "nccl-tests failed",
     "A run of nccl-tests on these nodes ended in an error.",
     kTestWords,
     kTest,
     {},
     {},
     "nccl-tests src/common.h"},
};

}  // namespace

std::span<const ErrorRule> processErrorRules() noexcept {
  return kRows;
}

}  // namespace rdmaguard::engine
