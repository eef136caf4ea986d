// Inputs that the tests of `rdmaguard verify` share, as shell that writes them to files.
#pragma once

#include <string>

namespace rdmaguard::cli::test {

/// Two nodes, one rank each, on InfiniBand with GPUDirect RDMA.
inline const std::string kHealthyLog = R"log(
node-a:100:110 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>
node-a:100:110 [0] NCCL INFO Using network IB
node-a:100:110 [0] NCCL INFO ncclCommInitRank comm 0x5501 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc1 - Init START
node-a:100:110 [0] NCCL INFO comm 0x5501 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
node-a:100:111 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
node-a:100:111 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
node-b:200:210 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.2<0>
node-b:200:210 [0] NCCL INFO Using network IB
node-b:200:210 [0] NCCL INFO ncclCommInitRank comm 0x5502 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc1 - Init START
node-b:200:210 [0] NCCL INFO comm 0x5502 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
node-b:200:211 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0/GDRDMA
node-b:200:211 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA
)log";

/// The same job with NCCL_IB_DISABLE=1: on TCP.
inline const std::string kSocketLog = R"log(
node-a:100:110 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.
node-a:100:110 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>
node-a:100:110 [0] NCCL INFO Using network Socket
node-a:100:110 [0] NCCL INFO comm 0x5501 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
node-a:100:111 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
node-a:100:111 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
)log";

inline const std::string kTable = R"log(
# nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   100 on     node-a device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   200 on     node-b device  0 [0x1b] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       2097152     float     sum      -1    187.1   44.83   44.83      0    186.4   45.00   45.00      0
    16777216       4194304     float     sum      -1    361.2   46.45   46.45      0    360.9   46.49   46.49      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 45.69
#
)log";

inline const std::string kPod = R"log(
apiVersion: v1
kind: Pod
metadata:
  name: train-0
spec:
  containers:
  - name: train
    image: registry.example/train:1
    env:
    - {name: NCCL_IB_HCA, value: ibp}
    - {name: NCCL_SOCKET_IFNAME, value: eth0}
    resources:
      limits: {nvidia.com/gpu: 8, rdma/ib: 1}
      requests: {nvidia.com/gpu: 8, rdma/ib: 1}
)log";

/// Shell that writes `text` to `file`.
inline std::string write(const std::string& file, const std::string& text) {
  // The first byte is the line end behind R"log(.
  return "cat >" + file + " <<'END-OF-FILE'\n" + text.substr(1) + "END-OF-FILE\n";
}

/// Goes into a folder of its own that is gone with the shell.
inline const std::string kInFolder = "D=$(mktemp -d); trap 'rm -rf \"$D\"' EXIT; cd \"$D\"\n";

}  // namespace rdmaguard::cli::test
