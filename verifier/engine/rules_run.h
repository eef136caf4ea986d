// Rows of the rule table for errors, kernel messages, storage and measured bandwidth. Joined into
// the table by rules.cc; predicates in rules_run*.cc. Pure, any thread.
#pragma once

#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules.h"

namespace rdmaguard::engine {

// rules_run_node.cc: what the nodes' kernels and storage say.
MaybeFinding linkFlap(const Case& c);
MaybeFinding nvlinkFault(const Case& c);
MaybeFinding storageStalled(const Case& c);
MaybeFinding xidNotAtFailureTime(const Case& c);
/// A port that went down while the job ran; a row of rules_port.cc asks it.
MaybeFinding portDownInRun(const Case& c);

// rules_run_errors.cc: where errors began and what only follows them.
MaybeFinding onsetSeveralNodes(const Case& c);
MaybeFinding onsetOnePod(const Case& c);
MaybeFinding laterAbort(const Case& c);
MaybeFinding laterSegfault(const Case& c);
MaybeFinding destroyWarning(const Case& c);
MaybeFinding errnoNotPrinted(const Case& c);
MaybeFinding modifyQpRetried(const Case& c);
MaybeFinding eceNotSupported(const Case& c);
MaybeFinding dmabufUnsupported(const Case& c);
MaybeFinding ucxOnly(const Case& c);

// rules_run_spec.cc: a log beside a spec.
MaybeFinding specCannotMatchPod(const Case& c);

// rules_run_tests.cc: what bandwidth tests show.
MaybeFinding harnessDiffers(const Case& c);
MaybeFinding belowBaseline(const Case& c);
MaybeFinding wrongResults(const Case& c);
MaybeFinding testFailedSameNodes(const Case& c);
MaybeFinding testPassedSameNodes(const Case& c);
MaybeFinding allReduceCertifiesLittle(const Case& c);
MaybeFinding everyRankAlone(const Case& c);

inline constexpr std::array kRunRules{
    Rule{"link-flap", "A link went down and up while the job ran", FindingKind::DegradedSignal,
         "Drain the node and have cable, transceiver and switch port checked.", "",
         "Linux drivers/net/ethernet (link messages), vendor error 249 on several nodes at once",
         linkFlap, Scope::Job},
    Rule{"nvlink-fault", "NVLink or an NVSwitch reported a fault", FindingKind::DegradedSignal,
         "Stop Fabric Manager, reset the GPUs, start Fabric Manager, in this order.", "",
         "NVIDIA Xid catalogue, Fabric Manager user guide", nvlinkFault, Scope::Job},
    Rule{"storage-stalled", "Storage stopped to deliver", FindingKind::DegradedSignal,
         "Look at the storage mount and the data loader before the fabric.", "",
         "metrics over time, kernel messages of NFS and Lustre", storageStalled, Scope::Job},
    Rule{"harness-result-differs", "A test of one's own is slower than nccl-tests",
         FindingKind::DegradedSignal,
         "Measure with sizes of 1 GiB and more, and synchronize the device before reading the "
         "clock.",
         "", "nccl-tests doc/PERFORMANCE.md", harnessDiffers, Scope::Job},
    Rule{"busbw-below-baseline", "A bandwidth is well below the baseline given",
         FindingKind::DegradedSignal,
         "Compare devices, settings and GPUDirect RDMA with the run that the baseline is of.", "",
         "--baseline: same operation, size, GPU count and NCCL version", belowBaseline, Scope::Job},
    Rule{"nccl-test-wrong-results", "A bandwidth test found wrong results",
         FindingKind::DegradedSignal,
         "Run the test on each node alone and take the one with wrong results out of service.", "",
         "nccl-tests src/common.cu (#wrong)", wrongResults, Scope::Job},

    Rule{"onset-several-nodes", "The same error on several nodes at once", FindingKind::Note,
         "Report the time and the nodes to the fabric's operator.", "", "times of the messages",
         onsetSeveralNodes, Scope::Job},
    Rule{"onset-one-pod", "The errors are one pod's alone", FindingKind::Note,
         "Look at that container and its links before the fabric.", "", "hosts of the messages",
         onsetOnePod, Scope::Job},
    Rule{"later-abort-is-follow-up", "A process aborted after its NCCL error", FindingKind::Note,
         "Explain the first error; the abort only reports it.", "",
         "PyTorch ProcessGroupNCCL (watchdog)", laterAbort, Scope::Job},
    Rule{"later-segfault-is-follow-up", "A process crashed after its NCCL error", FindingKind::Note,
         "Explain the first error; the crash came while the job was taken down.", "",
         "order of the messages", laterSegfault, Scope::Job},
    Rule{"nccl-test-failed-same-nodes", "nccl-tests fails on the job's nodes", FindingKind::Note,
         "Halve the node list until the test passes, and take what is left out of service.", "",
         "nccl-tests src/common.h", testFailedSameNodes, Scope::Job},
    Rule{"nccl-test-passed-same-nodes", "nccl-tests passes on the job's nodes", FindingKind::Note,
         "Compare the job's image, environment and code with the test's.", "",
         "nccl-tests src/util.cu", testPassedSameNodes, Scope::Job},
    Rule{"all-reduce-does-not-certify-all-to-all", "Only all-reduce was tested", FindingKind::Note,
         "Run alltoall_perf: it connects every pair of ranks.", "",
         "NCCL's rings and trees connect few pairs", allReduceCertifiesLittle, Scope::Job},
    Rule{"every-rank-alone", "Every process of the test ran alone", FindingKind::Note,
         "Build nccl-tests with MPI=1 and start it with mpirun or srun.", "",
         "nccl-tests src/util.cu (device list without MPI)", everyRankAlone, Scope::Job},
    Rule{"destroy-process-group-warning", "PyTorch ended without destroy_process_group()",
         FindingKind::Note, "Call destroy_process_group() at the end of the program.", "",
         "PyTorch ProcessGroupNCCL", destroyWarning, Scope::Job},
    Rule{"errno-not-printed", "A verbs call failed and this NCCL does not say why",
         FindingKind::Note, "Run once with strace -e trace=ioctl, or with a newer NCCL.", "",
         "NCCL src/misc/ibvwrap.cc", errnoNotPrinted, Scope::Job},
    Rule{"modify-qp-retried-ok", "A connection came up at a later try", FindingKind::Note,
         "Nothing, unless it happens often.", "", "NCCL src/misc/ibvwrap.cc (2.24 and later)",
         modifyQpRetried, Scope::Job},
    Rule{"ece-not-supported-harmless", "The device has no enhanced connection establishment",
         FindingKind::Note, "Nothing.", "", "NCCL src/misc/ibvwrap.cc (ibv_set_ece)",
         eceNotSupported, Scope::Job},
    Rule{"dmabuf-unsupported-harmless", "DMA-BUF is not supported and not needed",
         FindingKind::Note, "Nothing.", "", "NCCL src/transport/net_ib (ncclIbDmaBufSupport)",
         dmabufUnsupported, Scope::Job},
    Rule{"xid-not-at-failure-time", "The GPU errors do not fall in the time of the failure",
         FindingKind::Note, "Look for another cause of the failure.", "", "times of the messages",
         xidNotAtFailureTime, Scope::Job},
    Rule{"spec-cannot-match-running-pod", "The job did not run from this spec", FindingKind::Note,
         "Read the pod that runs: kubectl get pod NAME -o yaml.", "",
         "Kubernetes: extended resources need limits", specCannotMatchPod, Scope::Job},
    Rule{"ucx-only", "What is wrong is UCX's, not NCCL's", FindingKind::Note,
         "Look at UCX's settings and libraries; NCCL's network is another matter.", "",
         "UCX log messages", ucxOnly, Scope::Job},
};

}  // namespace rdmaguard::engine
