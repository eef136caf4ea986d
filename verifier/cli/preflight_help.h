// What `rdmaguard preflight --help` says around its options.
#pragma once

namespace rdmaguard::cli {

inline constexpr const char* kPreflightDescription =
    "Say before the job whether NCCL would use RDMA on this node, in this container, with this "
    "environment, what is missing and what to do. Needs no GPU.";

inline constexpr const char* kPreflightFooter =
    R"(What it looks at: RDMA devices, their ports, GIDs and counters, their nodes in /dev/infiniband and
whether they open; libibverbs and its providers, and whether host memory can be registered; locked
memory, /dev/shm, GPUDirect RDMA; NCCL's settings in the environment and the nccl.conf files.
With --nccl the real library initialises its transports in a process of its own, with the job's
environment, and finalizes them again: the network it would select, its devices in its order.
Without, the answer follows from the facts by NCCL's rules, and says so.

Run it where the job runs: in its container, as its user, with its environment.

With --listen on one node and --peer on another, messages go from HCA to HCA through NCCL's own IB
transport, their bytes are checked, and bandwidth and latency stand beside the line rate.

Exit codes:
   0  NCCL would use RDMA here
   1  it would, but degraded; or the spec of --pod lacks a documented condition
   2  it would not: TCP, or no start at all; or so by the spec of --pod; or --require is not met
   3  cannot be told
      (--listen, --peer: 0 every HCA moved the right bytes, 1 some did, 2 none, 3 cannot be told)
  64  wrong usage
  66  --pod: nothing readable
  70  a fault of its own
  74  the output could not be written

Examples:
  rdmaguard preflight                              this node, from its facts
  rdmaguard preflight --nccl auto                  and from the libnccl that python3 would load
  rdmaguard preflight --require roce --quiet       for a prolog: the exit code alone
  rdmaguard preflight --watch 10                   which error counters grow
  rdmaguard preflight --pod trainer.yaml           this node and the spec that will run on it
  rdmaguard preflight --listen                     on one node, and on the other:
  rdmaguard preflight --peer node-a --bidirectional
  rdmaguard preflight --json | jq .fix)";

}  // namespace rdmaguard::cli
