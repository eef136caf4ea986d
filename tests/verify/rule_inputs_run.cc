// The rules that look at errors, events and tables: see rule_inputs.h.
#include <iterator>

#include "rule_inputs.h"

namespace rdmaguard::verify {
namespace {

// A job of two nodes on InfiniBand, connected and with GPUDirect RDMA.
constexpr std::string_view kLog =
    "na:71:71 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>\n"
    "na:71:71 [0] NCCL INFO Using network IB\n"
    "na:71:80 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
    "na:71:80 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
    "nb:72:72 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.2<0>\n"
    "nb:72:72 [0] NCCL INFO Using network IB\n"
    "nc:73:73 [0] NCCL INFO Using network IB\n";

std::string logAnd(std::string_view more) {
  return std::string(kLog).append(more);
}

std::string flushed(std::string_view host, std::string_view time) {
  return "\n[2026-03-04 " + std::string(time) + "] " + std::string(host) +
         ":71:80 [0] transport/net_ib.cc:2121 NCCL WARN NET/IB: Got completion from peer "
         "192.0.2.9<4711> with status=5 opcode=0 len=0 vendor err 249 (Send) hca mlx5_0\n";
}

constexpr std::string_view kWatchdog =
    "[rank0]:[E304 10:00:00.1 ProcessGroupNCCL.cpp:633] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600049 "
    "milliseconds before timing out.\n";

constexpr std::string_view kTable =
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid     71 on         na device  0 [0000:0a:00] NVIDIA H100\n"
    "#  Rank  1 Group  0 Pid     72 on         nb device  0 [0000:0a:00] NVIDIA H100\n"
    "  1073741824     268435456     float     sum      -1   5210.3  206.08  386.40      0   "
    "5208.1  206.17  386.56      0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 386.48\n";

RuleInput links() {
  const std::string down = "[Wed Mar  4 10:00:01 2026] mlx5_core 0002:03:00.0 net4: Link down\n";
  const std::string up = "[Wed Mar  4 10:00:04 2026] mlx5_core 0002:03:00.0 net4: Link up\n";
  return {"link-flap", down + up + down, "[Wed Mar  4 09:00:00 2026] veth0: Link down\n" + up};
}

RuleInput onsetSeveral() {
  return {"onset-several-nodes",
          flushed("na", "10:00:01") + flushed("nb", "10:00:01") + flushed("nc", "10:00:02"),
          flushed("na", "10:00:01") + flushed("nb", "10:09:01") + flushed("nc", "10:20:02")};
}

RuleInput onsetOne() {
  const std::string twice = flushed("na", "10:00:01") + flushed("na", "10:04:01");
  return {"onset-one-pod", logAnd(twice), logAnd(twice + flushed("nb", "10:05:00"))};
}

RuleInput crash() {
  const std::string end = "[na:71   :0:80] Caught signal 11 (Segmentation fault: address (nil))\n";
  return {"later-segfault-is-follow-up", std::string(kWatchdog) + end,
          end + std::string(kWatchdog)};
}

RuleInput abortion() {
  const std::string end =
      "terminate called after throwing an instance of 'c10::DistBackendError'\n";
  return {"later-abort-is-follow-up", std::string(kWatchdog) + end, end + std::string(kWatchdog)};
}

RuleInput xid() {
  const std::string line =
      "[Wed Mar  4 03:00:00 2026] NVRM: Xid (PCI:0000:1b:00): 31, pid=9, name=python3, MMU Fault\n";
  return {"xid-not-at-failure-time", line + std::string(kWatchdog),
          with(line, {{"03:00:00", "09:49:30"}}) + std::string(kWatchdog)};
}

std::vector<RuleInput> harmless() {
  const std::string warn = "\nna:71:80 [0] misc/ibvwrap.cc:155 NCCL WARN Call to ";
  const std::string dmabuf = warn + "ibv_reg_dmabuf_mr failed with error Operation not supported\n";
  const std::string retried =
      "na:71:80 [0] NCCL INFO Call to ibv_modify_qp failed with 110 Connection timed out, on dev "
      "mlx5_0:1, curr state INIT, next state RTR, retrying 1/34 after 100 msec of sleep\n";
  return {
      {"dmabuf-unsupported-harmless", logAnd(dmabuf),
       with(with(logAnd(dmabuf), {{"/GDRDMA", ""}}), {{"/GDRDMA", ""}})},
      {"ece-not-supported-harmless",
       logAnd(warn + "ibv_set_ece failed with error Operation not supported\n"),
       logAnd(warn + "ibv_set_ece failed with error Invalid argument\n")},
      {"modify-qp-retried-ok", logAnd(retried),
       logAnd(retried + warn +
              "ibv_modify_qp failed with 110 Connection timed out, on dev "
              "mlx5_0:1, curr state INIT, next state RTR\n")},
      {"errno-not-printed", logAnd(warn + "ibv_create_qp failed\n"),
       logAnd(warn + "ibv_create_qp failed with error Cannot allocate memory\n")},
      {"destroy-process-group-warning",
       "[rank0]:[W304 03:00:12.1 ProcessGroupNCCL.cpp:1496] Warning: WARNING: "
       "destroy_process_group() was not called before program exit\n",
       "[rank0]:[W304 03:00:12.1 ProcessGroupNCCL.cpp:1496] Warning: barrier() was called\n"},
  };
}

RuleInput ucx() {
  const std::string line =
      "[1793400.000] [na:70 :0]  ucp_ep.c:1512 UCX  ERROR ep 0x7f: Destination is unreachable\n";
  return {"ucx-only", logAnd(line), logAnd(line + flushed("na", "10:00:00"))};
}

std::vector<RuleInput> tests() {
  const std::string failed =
      "# same nodes\nna: Test NCCL failure common.cu:1010 'remote process exited or there was a "
      "network error / '\n";
  const std::string own = "bench.py: all_reduce 4 MiB x 20 -> 21.4 GB/s\n";
  const std::string table(kTable);
  const std::string allToAll = with(table, {{"all_reduce_perf", "alltoall_perf"},
                                            {"float     sum", "float    none"},
                                            {"386.40      0", "200.40      0"}});
  const std::string alone =
      "   536870912     134217728     float     sum      -1   1185.5  452.86    0.00      0     "
      "0.30  180.07    0.00      0\n# Avg bus bandwidth    : 0\n";
  return {
      {"harness-result-differs", logAnd(own + table),
       logAnd(with(own, {{"21.4", "371.4"}}) + table)},
      {"busbw-below-baseline", "NCCL version 2.29.3+cuda13.0\n" + table,
       "NCCL version 2.28.9+cuda13.0\n" + table,
       R"([{"op":"all_reduce","size_bytes":1073741824,"gpus":2,"nccl":"2.29.3","gbps":480}])"},
      {"nccl-test-wrong-results", with(table, {{"386.40      0", "386.40     12"}}), table},
      {"all-reduce-does-not-certify-all-to-all", table + logAnd(flushed("na", "10:00:00")),
       table + allToAll + logAnd(flushed("na", "10:00:00"))},
      {"nccl-test-failed-same-nodes", std::string(kWatchdog) + failed,
       std::string(kWatchdog) + with(failed, {{"# same nodes\n", "# other machines\n"}})},
      {"nccl-test-passed-same-nodes", logAnd("# same nodes\n" + table),
       logAnd("# same nodes\n" + with(table, {{"values : 0 OK", "values : 3 FAILED"}}))},
      {"every-rank-alone", alone + "# Avg bus bandwidth    : 0\n", alone},
  };
}

RuleInput refusedSpec() {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: half\nspec:\n  containers:\n    - name: t\n"
      "      resources:\n        requests:\n          rdma/ib: 1\n        limits:\n"
      "          nvidia.com/gpu: 8\n";
  return {
      "spec-cannot-match-running-pod", pod + "---\n" + std::string(kLog),
      with(pod, {{"limits:\n", "limits:\n          rdma/ib: 1\n"}}) + "---\n" + std::string(kLog)};
}

}  // namespace

std::vector<RuleInput> runRuleInputs() {
  std::vector<RuleInput> rows{links(),    onsetSeveral(), onsetOne(), crash(),
                              abortion(), xid(),          ucx()};
  rows.push_back(
      {"nvlink-fault",
       "[Wed Mar  4 10:00:00 2026] NVRM: Xid (PCI:0000:e3:00): 74, NVLink: fatal error on link "
       "11\n",
       "[Wed Mar  4 10:00:00 2026] NVRM: Xid (PCI:0000:e3:00): 94, Contained: SM (0x1)\n"});
  const std::string metrics =
      "time,gpu3_util_pct,storage_read_mib_s\n21:05:00,98,2210\n21:10:00,97,14\n21:15:00,97,0\n";
  rows.push_back({"storage-stalled", metrics, with(metrics, {{"97,14", "0,14"}, {"97,0", "0,0"}})});
  rows.push_back(refusedSpec());
  for (auto more : {harmless(), tests()})
    rows.insert(rows.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  return rows;
}

}  // namespace rdmaguard::verify
