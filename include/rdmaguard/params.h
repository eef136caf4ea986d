// Every environment variable the guard reads, declared once. `rdmaguard env`
// prints this table and the plugin parses by it. Values only, any thread.
#pragma once

#include <array>
#include <string_view>

namespace rdmaguard {

/// What a parameter's value may be.
enum class ParamKind : unsigned char {
  Switch,   ///< 0 or 1
  Choice,   ///< one word of `values`, which are separated by '|'
  Integer,  ///< a whole number from `low` to `high`
  Text,     ///< anything
};

/// One parameter. All of them are read once, when NCCL first loads the guard in a
/// process; NCCL copies variables out of its own nccl.conf files into the
/// environment before that, so they may stand there too.
struct Param {
  std::string_view name;
  ParamKind kind;
  std::string_view fallback;  ///< the value that holds when it is unset or bad
  std::string_view values;    ///< Choice: the words; others: a description
  long low, high;             ///< Integer: the range
  std::string_view help;
};

namespace param {
inline constexpr std::string_view kEnable = "NCCL_RDMAGUARD_ENABLE";
inline constexpr std::string_view kTap = "NCCL_RDMAGUARD_TAP";
inline constexpr std::string_view kOnFallback = "NCCL_RDMAGUARD_ON_FALLBACK";
inline constexpr std::string_view kFailFast = "NCCL_RDMAGUARD_FAIL_FAST";
inline constexpr std::string_view kRequire = "NCCL_RDMAGUARD_REQUIRE";
inline constexpr std::string_view kExitCode = "NCCL_RDMAGUARD_EXIT_CODE";
inline constexpr std::string_view kLog = "NCCL_RDMAGUARD_LOG";
inline constexpr std::string_view kInterval = "NCCL_RDMAGUARD_INTERVAL";
inline constexpr std::string_view kDir = "NCCL_RDMAGUARD_DIR";
inline constexpr std::string_view kMaxMb = "NCCL_RDMAGUARD_DIR_MAX_MB";
}  // namespace param

inline constexpr std::array<Param, 10> kParams{{
    {param::kEnable, ParamKind::Switch, "1", "0|1", 0, 1,
     "0 turns the guard off: its symbols are there, and it does nothing."},
    {param::kTap, ParamKind::Switch, "1", "0|1", 0, 1,
     "0 leaves NCCL's internal transports untapped: no bytes per device and no GPUDirect RDMA "
     "status; the verdict stands on weaker evidence."},
    {param::kOnFallback, ParamKind::Choice, "warn", "off|warn|abort", 0, 0,
     "What to do when a communicator of two or more nodes is not on the network that "
     "NCCL_RDMAGUARD_REQUIRE names."},
    {param::kFailFast, ParamKind::Switch, "0", "0|1", 0, 1,
     "1 is the same as NCCL_RDMAGUARD_ON_FALLBACK=abort."},
    {param::kRequire, ParamKind::Text, "rdma", "rdma|ib|roce[,gdr]", 0, 0,
     "The network that is wanted: any RDMA, InfiniBand, or RoCE; with ',gdr' also GPUDirect RDMA."},
    {param::kExitCode, ParamKind::Integer, "78", "1..255", 1, 255,
     "Exit code of a process that the guard aborts."},
    {param::kLog, ParamKind::Text, "", "a file; %h host, %p process, %r rank, %% percent", 0, 0,
     "Where the guard's log lines go; unset is standard error."},
    {param::kInterval, ParamKind::Integer, "60", "0..86400 seconds", 0, 86400,
     "Seconds between two lines of live bus bandwidth from rank 0; 0 for none."},
    {param::kDir, ParamKind::Text, "", "a directory", 0, 0,
     "Where each process writes its JSON lines (rdmaguard-HOST-pidPID.jsonl); unset is none. "
     "It is created when missing."},
    {param::kMaxMb, ParamKind::Integer, "1024", "1..1048576 MiB", 1, 1048576,
     "Size at which a process's JSON lines file is rotated; one older file (.1) is kept."},
}};

}  // namespace rdmaguard
