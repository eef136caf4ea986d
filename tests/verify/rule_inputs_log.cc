// The rules that look at NCCL's log lines: see rule_inputs.h.
#include "rule_inputs.h"

namespace rdmaguard::verify {
namespace {

// Two nodes of one rank each, healthy, on InfiniBand with GPUDirect RDMA.
constexpr std::string_view kHealthy =
    R"(n1:4000:4000 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.1<0>
n1:4000:4000 [0] NCCL INFO NCCL version 2.26.2+cuda12.8
n1:4000:4020 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>
n1:4000:4020 [0] NCCL INFO Using network IB
n1:4000:4020 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 0 / HCA 0 (distance 4 <= 5), read 1 mode Default
n1:4000:4020 [0] NCCL INFO ncclCommInitRank comm 0x55d1c0001400 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x5be21c07d94a3e18 - Init START
n1:4000:4020 [0] NCCL INFO comm 0x55d1c0001400 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
n2:5000:5000 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.2<0>
n2:5000:5000 [0] NCCL INFO NCCL version 2.26.2+cuda12.8
n2:5000:5020 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.2<0>
n2:5000:5020 [0] NCCL INFO Using network IB
n2:5000:5020 [0] NCCL INFO ncclCommInitRank comm 0x55d1c0002800 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x5be21c07d94a3e18 - Init START
n2:5000:5020 [0] NCCL INFO comm 0x55d1c0002800 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
n1:4000:4020 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
n1:4000:4020 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
n2:5000:5020 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0/GDRDMA
n2:5000:5020 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA
)";

std::string healthyAnd(std::string_view line) {
  return std::string(kHealthy) + std::string(line);
}

// The same up to the selection: no channel, no end of the init.
std::string selected() {
  return std::string(kHealthy.substr(0, kHealthy.find("n1:4000:4020 [0] NCCL INFO Channel")));
}

// A rank of its own whose network only an error shows.
std::string erring(std::string_view location, std::string_view gids) {
  return std::string("n1:4000:4031 [0] ") + std::string(location) +
         " NCCL WARN NET/IB: Got completion from peer 192.0.2.2<40001> with status=12 opcode=0 "
         "len=0 vendor err 129 (Send)" +
         std::string(gids) + " hca mlx5_0\n";
}

}  // namespace

std::vector<RuleInput> logRuleInputs() {
  const std::string connectFails =
      "\nn2:5000:5020 [0] misc/socket.cc:577 NCCL WARN socketPollConnect: connect to "
      "192.0.2.1<44417> returned Connection refused, exceeded error retry count after 35 "
      "attempts\n";
  return {
      {"gdr-distance",
       with(kHealthy, {{"Enabled for GPU 0 / HCA 0 (distance 4 <= 5), read 1 mode Default",
                        "Disabled for GPU 0 / HCA 0 (distance 7 > 5)"}}),
       std::string(kHealthy)},
      {"ranks-disagree",
       with(kHealthy,
            {{"n2:5000:5020 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
              "eth0:192.0.2.2<0>",
              "n2:5000:5020 [0] NCCL INFO NET/IB : No device found."},
             {"n2:5000:5020 [0] NCCL INFO Using network IB",
              "n2:5000:5020 [0] NCCL INFO Using network Socket"},
             {"n2:5000:5020 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via "
              "NET/IB/0/GDRDMA\n",
              ""},
             {"n2:5000:5020 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA\n",
              ""}}),
       // Rank 1 says nothing: that is no disagreement.
       with(kHealthy, {{"n2:5000:5020 [0] NCCL INFO Using network IB\n", ""}})},
      {"nccl-version-mismatch",
       with(kHealthy, {{"n2:5000:5000 [0] NCCL INFO NCCL version 2.26.2",
                        "n2:5000:5000 [0] NCCL INFO NCCL version 2.21.5"}}),
       std::string(kHealthy)},
      {"wrong-interface",
       with(selected() + connectFails,
            {{"Bootstrap: Using eth0:192.0.2.2", "Bootstrap: Using virbr0:198.51.100.1"}}),
       // The same fault over an interface that looks right.
       selected() + connectFails},
      {"unequal-hca-sets",
       with(kHealthy, {{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.2",
                        "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.2"}}),
       // Other names, as many.
       with(kHealthy, {{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.2",
                        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_5:1/IB [RO]; OOB "
                        "eth0:192.0.2.2"}})},
      {"gdr-partial",
       with(kHealthy, {{"1[0] -> 0[0] [send] via NET/IB/0/GDRDMA",
                        "1[0] -> 0[0] [send] via "
                        "NET/IB/0"}}),
       std::string(kHealthy)},
      {"setup-failed", selected() + connectFails,
       // The connection stood when it broke.
       healthyAnd(erring("transport/net_ib.cc:2200", ""))},
      {"selected-not-connected", selected(), std::string(kHealthy)},
      {"link-layer-not-shown", erring("transport/net_ib.cc:2200", ""),
       erring("transport/net_ib.cc:2200", " localGid ::ffff:192.0.2.1 remoteGids::ffff:192.0.2.2")},
      {"external-plugin",
       with(kHealthy, {{"n1:4000:4020 [0] NCCL INFO Using network IB",
                        "n1:4000:4020 [0] NCCL INFO Using network Spectrum-X"},
                       {"1[0] -> 0[0] [receive] via NET/IB/",
                        "1[0] -> 0[0] [receive] via "
                        "NET/Spectrum-X/"},
                       {"0[0] -> 1[0] [send] via NET/IB/",
                        "0[0] -> 1[0] [send] via "
                        "NET/Spectrum-X/"}}),
       // Loaded, started and then not used.
       with(kHealthy, {{"n1:4000:4020 [0] NCCL INFO Using network IB",
                        "n1:4000:4020 [0] NCCL INFO NET/Plugin: Loaded net plugin Spectrum-X "
                        "(v10)\nn1:4000:4020 [0] NCCL INFO Using network IB"}})},
      {"external-plugin-file", erring("ib_plugin.c:1588", ""),
       erring("transport/net_ib.cc:2200", "")},
  };
}

}  // namespace rdmaguard::verify
