// Errors and events, as text: what each wording is called, what it proves of the network, and
// who said it when.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/readers/event_time.h"
#include "verifier/readers/input.h"

namespace rdmaguard::readers {
namespace {

using engine::Event;
using engine::Phase;

std::vector<Event> eventsOf(std::string_view text, std::string name = "log.txt") {
  return readText(text, std::move(name)).facts.run.events;
}

const Event* find(const std::vector<Event>& events, std::string_view id) {
  for (const Event& e : events)
    if (e.id == id) return &e;
  return nullptr;
}

std::string idsOf(const std::vector<Event>& events) {
  std::string ids;
  for (const Event& e : events) ids += e.id + " ";
  return ids;
}

constexpr Phase kSetup = Phase::Setup;
constexpr Phase kData = Phase::Data;
constexpr Phase kOther = Phase::Other;

struct Wording {
  std::string_view id;
  Phase phase;
  std::string_view message;
};

std::ostream& operator<<(std::ostream& out, const Wording& w) {
  return out << w.id << ": " << w.message;
}

class NcclWarning : public testing::TestWithParam<Wording> {};

TEST_P(NcclWarning, IsCalledByItsNameAndProvesWhatItProves) {
  const auto events = eventsOf("\nna:71:80 [0] transport/net_ib.cc:839 NCCL WARN " +
                               std::string(GetParam().message) + "\n");
  const Event* e = find(events, GetParam().id);
  ASSERT_TRUE(e) << idsOf(events);
  EXPECT_EQ(events.size(), 1u) << idsOf(events);
  EXPECT_EQ(e->phase, GetParam().phase);
  EXPECT_EQ(e->host, "na");
  EXPECT_EQ(e->at.line, 2u);
}

// A wording of every release that changed it.
INSTANTIATE_TEST_SUITE_P(
    Completions, NcclWarning,
    testing::Values(
        Wording{"vendor-err-129", kData,
                "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129"},
        Wording{"vendor-err-129", kData,
                "NET/IB : Got completion from peer 192.0.2.1<5> with error 12, opcode 1, len 0, "
                "vendor err 129 (Send)"},
        Wording{"vendor-err-249", kData,
                "NET/IB: Got completion from peer 192.0.2.1<5> with status=5 opcode=0 len=0 vendor "
                "err 249 (Recv) hca mlx5_0"},
        Wording{
            "vendor-err-129", kData,
            "NET/IB: Got completion from peer 192.0.2.1<5> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129 req_type=Send hca mlx5_0"},
        Wording{"vendor-err-129", kData,
                "NET/IB/GIN: Got completion from peer 192.0.2.1<5> with status=12 opcode=0 len=0 "
                "vendor err 129 (Send)"},
        Wording{"local-protection-error", kData,
                "NET/IB : Got completion from peer  with error 4, opcode 0, len 0, vendor err 81"},
        Wording{
            "remote-invalid-request", kData,
            "NET/IB: Got completion from peer a<5> with status=9 opcode=0 len=0 vendor err 138"},
        Wording{"remote-op-error", kData,
                "NET/IB: Got completion from peer a<5> with status=11 opcode=0 len=0 vendor err "
                "137"},
        Wording{"collective-mismatch", kData,
                "NET/IB : req 0/1 tag 0 peer a<5> collective mismatch error, local size 4 remote "
                "size 8"}));

INSTANTIATE_TEST_SUITE_P(
    AsyncEvents, NcclWarning,
    testing::Values(
        Wording{"async-port-error", kData, "NET/IB : Got async event : port error"},
        Wording{"async-port-error", kData, "NET/IB : mlx5_3:1 Got async error event: port error"},
        Wording{"async-access-violation", kData,
                "NET/IB : mlx5_2:1 Got async event : local access violation work queue error"},
        Wording{"async-fatal-event", kData, "NET/IB : Got async event : local catastrophic error"},
        Wording{"async-fatal-event", kData,
                "NET/IB : mlx5_0:1 async fatal event on QP (0x7f) qpn=1: local QP error"},
        Wording{"async-port-active", kOther,
                "NET/IB : mlx5_0:1 Got non-fatal async event: port active(9)"},
        Wording{"async-gid-change", kOther,
                "NET/IB : mlx5_0:1 Got non-fatal async event: GID table change(18)"}));

INSTANTIATE_TEST_SUITE_P(
    VerbsCalls, NcclWarning,
    testing::Values(
        Wording{"create-qp-failed", kSetup, "Call to ibv_create_qp failed"},
        Wording{"create-qp-enomem", kSetup,
                "Call to ibv_create_qp failed with error Cannot allocate memory"},
        Wording{"modify-qp-timeout", kSetup,
                "Call to ibv_modify_qp failed with error Connection timed out."},
        Wording{"modify-qp-timeout", kSetup,
                "Call to ibv_modify_qp failed with error Connection timed out errno 110"},
        Wording{"modify-qp-timeout", kSetup,
                "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr "
                "state INIT, next state RTR, local GID index 3, local GID fe80::1, remote GID "
                "fe80::2"},
        Wording{"modify-qp-unreachable", kSetup,
                "Call to ibv_modify_qp failed with error No route to host"},
        Wording{"modify-qp-no-such-device", kSetup,
                "Call to ibv_modify_qp failed with error No such device"},
        Wording{"reg-mr-iova2-einval", kSetup,
                "Call to ibv_reg_mr_iova2 failed with error Invalid argument"},
        Wording{"reg-mr-enomem", kSetup,
                "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"},
        Wording{"gdr-mr-bad-address", kSetup,
                "Call to ibv_reg_mr_iova2 failed with error Bad address"},
        Wording{"reg-mr-failed", kSetup, "Call to ibv_reg_mr failed with error Invalid argument"},
        Wording{"dmabuf-unsupported", kOther,
                "Call to ibv_reg_dmabuf_mr failed with error Operation not supported"},
        Wording{"ibv-create-cq-failed", kSetup,
                "Call to ibv_create_cq failed with error Cannot allocate memory"},
        Wording{"ibv-open-device-failed", kOther, "Call to ibv_open_device failed"},
        Wording{"ece-not-supported", kOther,
                "Call to ibv_set_ece failed with error Operation not supported"},
        Wording{"ibv-post-send-failed", kData,
                "ibv_post_send() failed with error Input/output error, Bad WR 0x1, First WR 0x1"}));

INSTANTIATE_TEST_SUITE_P(
    OutsideOfVerbs, NcclWarning,
    testing::Values(
        Wording{"version-mismatch", kSetup,
                "Mismatched NCCL version detected : rank 0 version 22605 rank 9 version 22707"},
        Wording{"duplicate-gpu", kOther,
                "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 4b000"},
        Wording{"no-socket-interface", kSetup, "Bootstrap : no socket interface found"},
        Wording{"bootstrap-message-truncated", kSetup,
                "Message truncated : received 172 bytes instead of 64"},
        Wording{"socket-connect-failed", kSetup,
                "socketStartConnect: Connect to 192.0.2.1<5> failed : Connection timed out"},
        Wording{"socket-connect-failed", kSetup,
                "socketPollConnect: connect to 192.0.2.1<5> returned Connection refused, exceeded "
                "error retry count after 35 attempts"},
        Wording{"socket-wrong-type", kOther, "socketFinalizeAccept: wrong type 4 != 3"},
        Wording{"socket-closed-by-peer", kOther,
                "socketProgress: Connection closed by remote peer na<5>"},
        Wording{"socket-closed-by-peer", kOther, "Net : Connection closed by remote peer na<5>"},
        Wording{"proxy-operation-failed", kSetup,
                "[Proxy Service 0] Failed to execute operation Connect from rank 0, retcode 2"},
        Wording{"proxy-recv-failed", kOther, "Socket recv failed while polling for opId=0x7f"},
        Wording{"no-network-usable", kSetup, "Error: network IB not found."},
        Wording{"cuda-101-invalid-ordinal", kOther, "Cuda failure 101 'invalid device ordinal'"},
        Wording{"cuda-failure", kOther, "Cuda failure 'unspecified launch failure'"},
        Wording{"efa-unresponsive-receiver", kData,
                "NET/OFI Request 0x7f completed with error. RC: 103. Error: 4126 (Unresponsive "
                "receiver)"},
        Wording{"ofi-endpoint-failed", kOther,
                "NET/OFI Creating new endpoint for domain 0x7f failed: Invalid argument"},
        Wording{"tcpx-reg-mr-failed", kSetup, "gpu_tx_reg_mr failed -22"},
        Wording{"ucx-plugin-failed", kSetup,
                "Failed: UCX error ucx_plugin.c:498 '-5' Invalid parameter"}));

struct Line {
  std::string_view id, text, host;
  int rank;
};
std::ostream& operator<<(std::ostream& out, const Line& l) {
  return out << l.id << ": " << l.text;
}

class OtherLine : public testing::TestWithParam<Line> {};

TEST_P(OtherLine, IsCalledByItsNameAndByWhoSaidIt) {
  const auto events = eventsOf(std::string(GetParam().text) + "\n");
  const Event* e = find(events, GetParam().id);
  ASSERT_TRUE(e) << idsOf(events);
  EXPECT_EQ(e->phase, kOther);
  EXPECT_EQ(e->host, GetParam().host);
  EXPECT_EQ(e->rank, GetParam().rank);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, OtherLine,
    testing::Values(
        Line{"nccl-error-1", "what():  NCCL Error 1: unhandled cuda error", "", -1},
        Line{"nccl-error-2",
             "[rank7]: torch.distributed.DistBackendError: NCCL error in: a.hpp:3, unhandled "
             "system error, NCCL version 2.18.5",
             "", 7},
        Line{"nccl-error-3",
             "2: [rank2]: torch.distributed.DistBackendError: NCCL error in: a.hpp:3, internal "
             "error - please report this issue to the NCCL developers, NCCL version 2.21.5",
             "", 2},
        Line{"nccl-error-6",
             "[rank2]:[E805 13:20:44.1 ProcessGroupNCCL.cpp:552] [Rank 2] Collective "
             "WorkNCCL(SeqNum=4) raised the following async exception: NCCL error: remote process "
             "exited or there was a network error, NCCL version 2.22.3",
             "", 2},
        Line{"watchdog-timeout",
             "\xE2\x94\x82 what():  [Rank 4] Watchdog caught collective operation timeout: "
             "WorkNCCL(SeqNum=1, OpType=ALLGATHER, Timeout(ms)=1800000) ran for 1803977 "
             "milliseconds before timing out.   \xE2\x94\x82",
             "", 4},
        Line{"nccl-test-failed", "h-13: Test NCCL failure common.cu:10 'internal error / '", "h-13",
             -1},
        Line{"oom-cuda",
             "[rank9]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3 GiB.", "",
             9},
        Line{"oom-host", "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=5.0", "", -1},
        Line{"segfault", "[hang-2:1    :0:141] Caught signal 11 (Segmentation fault: (nil))",
             "hang-2", -1},
        Line{"segfault", "Segmentation fault (core dumped)", "", -1},
        Line{"process-aborted", "terminate called after throwing an instance of 'a::b'", "", -1},
        Line{"rank-exited", "[2026-10-18 01:12:07] rank 3 exiting with code 1", "", 3},
        Line{"rank-exited", "srun: error: h100-r1: tasks 0-7: Exited with exit code 1", "h100-r1",
             -1},
        Line{"destroy-process-group-warning",
             "[rank0]:[W1101 03:00:12.1 ProcessGroupNCCL.cpp:1496] Warning: WARNING: "
             "destroy_process_group() was not called before program exit",
             "", 0},
        Line{"ucx-vendor-err-0x89",
             "[1793011.6] [kv-0:6100 :0]  ib_mlx5_log.c:179 UCX  ERROR Remote operation error on "
             "mlx5_0:1/RoCE (synd 0x14 vend 0x89 hw_synd 0/0)",
             "kv-0", -1},
        Line{"ucx-destination-unreachable",
             "[1793400.000] [dec-0:700 :0]  ucp_ep.c:1512 UCX  ERROR ep 0x7f: Destination is "
             "unreachable",
             "dec-0", -1},
        Line{"ofi-provider-empty",
             "libfabric:87:17::core:core:fi_getinfo_():1401<warn> fi_getinfo: provider efa output "
             "empty list",
             "", -1}));

INSTANTIATE_TEST_SUITE_P(
    Nodes, OtherLine,
    testing::Values(
        Line{"xid-79",
             "[Wed Oct 14 11:22:32 2026] NVRM: Xid (PCI:0000:1b:00): 79, pid=3, name=p, GPU has "
             "fallen off the bus.",
             "", -1},
        Line{"xid-31",
             "Oct 14 11:22:32 h200-1 kernel: NVRM: Xid (0000:1b:00): 31, pid=3, MMU Fault",
             "h200-1", -1},
        Line{"sxid-20034",
             "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "",
             -1},
        Line{"link-down", "[ 123.4] mlx5_core 0002:03:00.0 net4: Link down", "", -1},
        Line{"link-up", "[ 123.4] bnxt_en 0000:17:00.0 ens1f0np0: NIC Link is Up, 200000 Mbps", "",
             -1},
        Line{"storage-stalled", "[ 9.1] nfs: server nas-1 not responding, still trying", "", -1}));

TEST(Events, NeedMoreThanAWord) {
  for (const std::string_view text :
       {"the segment faulted", "rank 3: exit code 0", "veth12: Link down", "all nodes are healthy",
        "epoch 3 done: Xid counter is 0", "read 3.1 GB/s from disk", "no error so far"})
    EXPECT_TRUE(eventsOf(std::string(text) + "\n").empty()) << text;
}

TEST(Events, AreCountedAndKeptOnce) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text +=
        "\nna:71:80 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote "
        "peer nb<5>\n";
  const auto events = eventsOf(text);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].count, 1000u);
  EXPECT_EQ(events[0].at.line, 2u);
  EXPECT_EQ(events[0].lastAt.line, 2000u);
}

TEST(Events, TakeABootstrapsSocketFromTheTrailBelowIt) {
  const std::string warn =
      "\nna:71:80 [5] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to fe80::1%ib2<5> "
      "failed : Software caused connection abort\n"
      "na:71:80 [5] NCCL INFO misc/socket.cc:564 -> 2\n";
  EXPECT_TRUE(find(eventsOf(warn), "socket-connect-failed"));
  EXPECT_TRUE(find(eventsOf(warn + "na:71:80 [5] NCCL INFO bootstrap.cc:270 -> 2\n"),
                   "bootstrap-connect-failed"));
}

TEST(Events, NameWhatATracebackEndsWith) {
  const auto events = eventsOf(
      "[2026-10-18 01:12:06] Traceback (most recent call last):\n"
      "[2026-10-18 01:12:06]   File \"/app/data.py\", line 88, in __getitem__\n"
      "[2026-10-18 01:12:06] KeyError: 'tokens'\n",
      "rank-3.log");
  ASSERT_EQ(events.size(), 1u) << idsOf(events);
  EXPECT_EQ(events[0].id, "python-exception");
  EXPECT_EQ(events[0].detail, "KeyError: 'tokens'");
  EXPECT_EQ(events[0].rank, 3) << "of the file's name";
}

TEST(Events, FindTheFrameOfAChecksumBelowACrash) {
  const std::string crash = "*** SIGSEGV (@0x0) received by PID 55; stack trace: ***\n";
  EXPECT_TRUE(find(eventsOf(crash + "    @ 0x7f00 memcpy_erms\n"), "segfault"));
  EXPECT_TRUE(find(eventsOf(crash + "    @ 0x7f00 crc32_16bytes\n"), "segfault-crc32"));
}

TEST(Events, ArePutInOneYearByTheStampsThatNameIt) {
  const auto events = eventsOf(
      "[2026-10-19 04:10:01] step 880\n"
      "[rank9]: [2026-10-19 04:10:12] x\n"
      "[2026-10-19 04:10:13] rank 9: exit code 1\n"
      "[rank0]:[E1019 04:10:31.5 ProcessGroupNCCL.cpp:552] [Rank 0] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=1)\n");
  ASSERT_EQ(events.size(), 2u) << idsOf(events);
  EXPECT_DOUBLE_EQ(events[1].seconds - events[0].seconds, 18.5);
}

TEST(Events, OfMetricsNeedAGpuThatStillWorks) {
  const std::string head = "time,gpu0_util_pct,storage_read_mib_s\n21:05:00,98,2210\n";
  EXPECT_TRUE(find(eventsOf(head + "21:10:00,99,3\n21:15:00,99,0\n"), "storage-stalled"));
  EXPECT_FALSE(find(eventsOf(head + "21:10:00,0,3\n21:15:00,0,0\n"), "storage-stalled"));
}

TEST(TimeStamps, OfEveryFormMeanTheSameSecond) {
  const double second = secondsOf("2026-10-14 11:22:32");
  EXPECT_DOUBLE_EQ(second, 1791976952);
  for (const std::string_view stamp :
       {"[2026-10-14 11:22:32]", "2026-10-14T11:22:32Z", "2026/10/14 11:22:32",
        "[Wed Oct 14 11:22:32 2026]", "2026-10-14T11:22:32+00:00"})
    EXPECT_DOUBLE_EQ(secondsOf(stamp), second) << stamp;
  for (const std::string_view stamp : {"Oct 14 11:22:32", "E1014 11:22:32"})
    EXPECT_DOUBLE_EQ(inYear(secondsOf(stamp), 2026), second) << stamp;
  EXPECT_DOUBLE_EQ(secondsOf("21:05:00"), 75900);
  EXPECT_DOUBLE_EQ(secondsOf("[12345.5]"), 12345.5);
}

TEST(TimeStamps, AreNotSeenInOtherWords) {
  for (const std::string_view text :
       {"", "[", "step 3", "[rank3]:", "12 apples", "2026", "E12", "99:99:99", "[abc] x"})
    EXPECT_EQ(stampLength(text), 0u) << text;
}

}  // namespace
}  // namespace rdmaguard::readers
