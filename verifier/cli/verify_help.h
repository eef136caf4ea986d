// What `rdmaguard verify --help` says around its options.
#pragma once

namespace rdmaguard::cli {

inline constexpr const char* kVerifyDescription =
    "Say from logs, manifests, port listings and nccl-tests output whether a job's collectives "
    "use RDMA, what is missing and what to do.";

inline constexpr const char* kVerifyFooter =
    R"(What it reads, each kind told by its content, all of them in one file or paste if need be:
  NCCL logs         NCCL_DEBUG=INFO or WARN, 2.4 to 2.32, RCCL; behind any launcher's prefix
  manifests         Pod, Job, JobSet, MPIJob, PyTorchJob, Deployment, StatefulSet, List; YAML, JSON
  scripts           Slurm batch scripts and what starts a job: export, srun, mpirun -x, torchrun
  port listings     ibstat, ibstatus, ibv_devinfo [-v], ibv_devices, rdma link [-j], rdma dev,
                    ibdev2netdev [-v], show_gids
  nccl-tests        tables old and new, -J JSON, rccl-tests
  settings          env, printenv, export -p, set -x traces, nccl.conf, docker run -e
  a node's shell    ls [-l] /dev/infiniband, lsmod, dpkg -l, rpm -qa, ulimit -l, /proc/PID/limits
  errors            of NCCL, PyTorch, MPI, UCX, the kernel's log
.gz and .zst are unpacked; a folder stands for the files in and below it, but hidden ones.
Log lines of all ranks may be mixed in one file or stand in a file each: give them all at once.

What decides, strongest first: the log (channel lines, "Using network", "NET/IB : Using"), then
manifests and scripts, then port listings. What nothing shows is "unknown", with what to gather.

Exit codes:
   0  nothing wrong found: RDMA engaged; one node, no network needed; a complete manifest; good ports
   1  engaged or possible, but degraded, a documented condition missing, or an error identified
   2  not engaged or not possible, on some ranks or on all; or --require is not met
   3  the input cannot tell
  64  wrong usage
  66  nothing readable: missing, empty, no permission, or no text
  70  out of memory or a fault of the command itself
  74  the report could not be written

Examples:
  rdmaguard verify slurm-4711.out
  rdmaguard verify logs/                        every rank's log (NCCL_DEBUG_FILE=logs/%h.%p)
  kubectl logs -l job=train --prefix --tail=-1 | rdmaguard verify
  kubectl get pod train-0 -o yaml | rdmaguard verify
  rdmaguard verify job.yaml                     before it is submitted
  ibstat | rdmaguard verify
  rdmaguard verify --require rdma,gdr -q all_reduce.log || exit 1
  rdmaguard verify --json job.log pod.yaml | jq -r '.fix[]')";

}  // namespace rdmaguard::cli
