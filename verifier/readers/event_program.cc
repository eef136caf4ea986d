// Events of the programs around NCCL: PyTorch, MPI, Slurm, nccl-tests, Python, the C library.
#include <algorithm>
#include <array>
#include <utility>

#include "verifier/readers/event_pattern.h"

namespace rdmaguard::readers {
namespace {

using engine::Event;
using engine::Phase;

constexpr int kMaxRank = 10'000'000;

void takeRank(std::string_view text, Event& e) {
  for (const std::string_view key : {"[Rank ", " Rank ", "[rank", "rank "}) {
    const long rank = numberAt(after(text, key));
    if (rank < 0 || rank >= kMaxRank) continue;
    e.rank = static_cast<int>(rank);
    return;
  }
}

// "WorkNCCL(SeqNum=402, OpType=ALLREDUCE, NumelIn=..., Timeout(ms)=600000) ran for ..."
bool readWatchdog(std::string_view text, Event& e) {
  if (e.rank < 0) takeRank(text, e);
  const std::string_view work = after(text, "WorkNCCL(");
  e.detail = std::string(upTo(after(work, "OpType="), ",)"));
  const long number = numberAfter(work, "SeqNum");
  if (number >= 0) e.detail += " number " + std::to_string(number);
  const long ms = numberAfter(work, "Timeout(ms)");
  if (ms > 0) e.detail += ", timeout " + std::to_string(ms / 1000) + " s";
  return true;
}

// ncclResult_t by the words of ncclGetErrorString and by its name.
constexpr std::array<std::pair<std::string_view, int>, 13> kCodes{{
    {"unhandled cuda error", 1},
    {"ncclUnhandledCudaError", 1},
    {"unhandled system error", 2},
    {"ncclSystemError", 2},
    {"ncclInternalError", 3},
    {"internal error", 3},
    {"ncclInvalidArgument", 4},
    {"invalid argument", 4},
    {"ncclInvalidUsage", 5},
    {"invalid usage", 5},
    {"ncclRemoteError", 6},
    {"remote process exited or there was a network error", 6},
    {"remote error", 6},
}};

bool readCode(std::string_view text, Event& e) {
  // "NCCL Error 2: unhandled system error" names it by itself.
  long code = numberAfter(text, "NCCL Error ");
  if (code < 0) code = numberAfter(text, "NCCL error ", -1);
  if (code < 1 || code > 8) {
    code = -1;
    for (const auto& [words, number] : kCodes)
      if (has(text, words)) {
        code = number;
        break;
      }
  }
  if (code < 0) return false;
  e.id = "nccl-error-" + std::to_string(code);
  if (e.rank < 0) takeRank(text, e);
  return true;
}

// "h100-13: Test NCCL failure common.cu:1010 '...'", " .. h100-13 pid 811: Test failure ..."
bool readTest(std::string_view text, Event& e) {
  if (e.host.empty()) {
    std::string_view front = text.substr(0, text.find(": Test "));
    if (front.size() < text.size()) {
      if (const auto pid = front.find(" pid "); pid != std::string_view::npos)
        front = front.substr(0, pid);
      front.remove_prefix(std::min(front.size(), front.rfind(' ') + 1));
      e.host = std::string(front);
    }
  }
  const std::string_view words = after(text, "'");
  e.detail = brief(upTo(words, "'"));
  while (e.detail.ends_with(" /") || e.detail.ends_with('/')) e.detail.pop_back();
  while (e.detail.ends_with(' ')) e.detail.pop_back();
  return true;
}

bool readRest(std::string_view text, Event& e) {
  e.detail = brief(text);
  return true;
}

// UCX's handler: "[hang-2:1    :0:141] Caught signal 11 (Segmentation fault: ...)".
void takeBracketedHost(std::string_view text, Event& e) {
  if (!e.host.empty() || !text.starts_with('[')) return;
  const std::string_view who = upTo(text.substr(1), "]");
  const auto colon = who.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 64) return;
  if (numberAt(who.substr(0, colon)) >= 0 && who.substr(0, colon).find('-') == who.npos) return;
  e.host = std::string(who.substr(0, colon));
  e.pid = std::max(0L, numberAfter(who, ":", 0));
}

bool readSegfault(std::string_view text, Event& e) {
  takeBracketedHost(text, e);
  if (const long pid = numberAfter(text, "by PID "); pid > 0) e.pid = pid;
  if (has(text, "crc32")) e.id = "segfault-crc32";
  if (e.rank < 0 && has(text, "process rank ")) takeRank(after(text, "process "), e);
  return true;
}

bool readAbort(std::string_view text, Event& e) {
  const std::string_view what = upTo(after(text, "instance of '"), "'");
  e.detail = brief(what);
  return true;
}

bool readOom(std::string_view text, Event& e) {
  if (e.rank < 0) takeRank(text, e);
  std::string_view size = after(text, "Tried to allocate ");
  size = size.substr(0, size.find(". "));
  if (!size.empty()) e.detail = "tried to allocate " + brief(size);
  return true;
}

// "rank 3 exiting with code 1", "tasks 0-7: Exited with exit code 1", "failed (exitcode: -11)
// local_rank: 0 (pid: 4)", "process rank 3 with PID 0 on node x exited on signal 9 (Killed)".
bool readExit(std::string_view text, Event& e) {
  long code = 0;
  for (const std::string_view key : {"exiting with code", "Exited with exit code", "exit code",
                                     "exitcode", "exited on signal", "exit status", "Exit status"})
    if (has(text, key)) {
      code = numberAfter(text, key, 0);
      break;
    }
  if (code == 0) return false;
  if (e.rank < 0) takeRank(text, e);
  if (const std::string_view host = after(text, "srun: error: "); !host.empty() && e.host.empty())
    e.host = std::string(upTo(host, ": "));
  if (const std::string_view host = after(text, " on node "); !host.empty() && e.host.empty())
    e.host = std::string(upTo(host, " ,"));
  e.detail = (has(text, "exited on signal") ? "signal " : "exit code ") + std::to_string(code);
  return true;
}

bool readTraceback(std::string_view, Event&) {
  return true;  // the exception's own line completes it
}

// Somebody's own measurement: "bench.py: all_reduce 4 MiB x 20 -> 21.4 GB/s".
bool readHarness(std::string_view text, Event& e) {
  const auto unit = text.find(" GB/s");
  std::size_t from = unit;
  while (from > 0 && (text[from - 1] == '.' || (text[from - 1] >= '0' && text[from - 1] <= '9')))
    --from;
  if (from == unit) return false;
  std::string folded;
  for (const char c : text.substr(0, 256))
    if (c != '_' && c != '-') folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const std::string_view op :
       {"allreduce", "allgather", "reducescatter", "alltoall", "broadcast"})
    if (folded.find(op) != std::string::npos) {
      e.detail = std::string(text.substr(from, unit - from)) + " GB/s " + std::string(op);
      return true;
    }
  return false;
}

constexpr auto kCode = Family::Code;
constexpr auto kProcess = Family::Process;
constexpr auto kRemark = Family::Remark;
constexpr auto kOther = Phase::Other;
constexpr std::array kPatterns{
    Pattern{"", kCode, kOther, "unhandled cuda error", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "unhandled system error", {}, {}, true, readCode},
    Pattern{"",
            kCode,
            kOther,
            "internal error - please report this issue to the NCCL",
            {},
            {},
            true,
            readCode},
    Pattern{"", kCode, kOther, "internal error", "NCCL", {}, true, readCode},
    Pattern{"",
            kCode,
            kOther,
            "remote process exited or there was a network error",
            {},
            {},
            true,
            readCode},
    Pattern{"", kCode, kOther, "invalid usage", "NCCL", {}, true, readCode},
    Pattern{"", kCode, kOther, "invalid argument", "NCCL error", {}, true, readCode},
    Pattern{"", kCode, kOther, "ncclUnhandledCudaError", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "ncclSystemError", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "ncclInternalError", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "ncclInvalidUsage", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "ncclInvalidArgument", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "ncclRemoteError", {}, {}, true, readCode},
    Pattern{"", kCode, kOther, "NCCL Error ", {}, {}, true, readCode},

    Pattern{"watchdog-timeout",
            kProcess,
            kOther,
            "Watchdog caught collective operation timeout",
            {},
            {},
            true,
            readWatchdog},
    Pattern{"watchdog-timeout", kProcess, kOther, "atchdog", "timeout", {}, true, readWatchdog},
    Pattern{"nccl-test-failed", kProcess, kOther, "Test NCCL failure", {}, {}, true, readTest},
    Pattern{"nccl-test-failed", kProcess, kOther, ": Test failure ", {}, {}, true, readTest},
    Pattern{"nccl-test-failed", kProcess, kOther, ": Test CUDA failure ", {}, {}, true, readTest},
    Pattern{"nccl-test-failed", kProcess, kOther, ": Test timeout (", {}, {}, true, readTest},
    Pattern{"oom-cuda", kProcess, kOther, "CUDA out of memory", {}, {}, true, readOom},
    Pattern{"oom-cuda", kProcess, kOther, "torch.OutOfMemoryError", {}, {}, true, readOom},
    Pattern{"oom-host", kProcess, kOther, "oom-kill", {}, {}, true, readRest},
    Pattern{"oom-host", kProcess, kOther, "oom_kill", {}, {}, true, readRest},
    Pattern{"oom-host", kProcess, kOther, "OOMKilled", {}, {}, true, readRest},
    Pattern{"oom-host", kProcess, kOther, "out of memory: Killed process", {}, {}, true, readRest},
    Pattern{"oom-host", kProcess, kOther, "Out of memory: Killed process", {}, {}, true, readRest},
    Pattern{"oom-host", kProcess, kOther, "Out Of Memory", "slurm", {}, true, readRest},
    Pattern{"segfault", kProcess, kOther, "SIGSEGV", {}, {}, true, readSegfault},
    Pattern{"segfault", kProcess, kOther, "Segmentation fault", {}, {}, true, readSegfault},
    Pattern{"segfault", kProcess, kOther, "segfault at ", {}, {}, true, readSegfault},
    Pattern{"segfault", kProcess, kOther, "exited on signal 11", {}, {}, true, readSegfault},
    Pattern{"bus-error", kProcess, kOther, "SIGBUS", {}, {}, true, readSegfault},
    Pattern{"bus-error", kProcess, kOther, "Bus error", {}, {}, true, readSegfault},
    Pattern{"process-aborted",
            kProcess,
            kOther,
            "terminate called after throwing",
            {},
            {},
            true,
            readAbort},
    Pattern{"process-aborted", kProcess, kOther, "SIGABRT", {}, {}, true, readAbort},
    Pattern{"process-aborted", kProcess, kOther, "Aborted (core dumped)", {}, {}, true, readAbort},
    Pattern{"process-aborted", kProcess, kOther, "Signal: Aborted (6)", {}, {}, true, readAbort},
    Pattern{"python-exception",
            kProcess,
            kOther,
            "Traceback (most recent call last)",
            {},
            {},
            true,
            readTraceback},
    Pattern{"rank-exited", kProcess, kOther, "exiting with code", {}, {}, true, readExit},
    Pattern{"rank-exited", kProcess, kOther, "exit code", {}, {}, true, readExit},
    Pattern{"rank-exited", kProcess, kOther, "exitcode", {}, {}, true, readExit},
    Pattern{"rank-exited", kProcess, kOther, "exited on signal", {}, {}, true, readExit},
    Pattern{"destroy-process-group-warning",
            kProcess,
            kOther,
            "destroy_process_group() was not called",
            {},
            {},
            false,
            nullptr},

    Pattern{"silent-stall", kRemark, kOther, "no new line since", {}, {}, true, readRest},
    Pattern{"silent-stall", kRemark, kOther, "no output for", {}, {}, true, readRest},
    Pattern{"silent-stall", kRemark, kOther, "no output since", {}, {}, true, readRest},
    Pattern{"silent-stall", kRemark, kOther, "hangs at the same", {}, {}, true, readRest},
    Pattern{"same-nodes", kRemark, kOther, "same node", {}, {}, false, readRest},
    Pattern{"same-nodes", kRemark, kOther, "same two nodes", {}, {}, false, readRest},
    Pattern{"harness-figure", kRemark, kOther, " GB/s", {}, {}, false, readHarness},
};

}  // namespace

std::span<const Pattern> programPatterns() noexcept {
  return kPatterns;
}

}  // namespace rdmaguard::readers
