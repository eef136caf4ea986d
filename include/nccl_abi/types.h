// The scalar vocabulary that NCCL and its plugins share: results, data types, log levels, limits.
// Stated here in our own words from NCCL 2.19.3 to 2.32.3; any part of rdmaguard may include it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nccl_abi/layout.h"

namespace nccl_abi {

/// What every NCCL and plugin function returns; the same values as `ncclResult_t`.
enum class Result : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,      ///< a system call or a library outside NCCL failed
  InternalError = 3,    ///< a defect, or memory corruption
  InvalidArgument = 4,  ///< one argument is wrong
  InvalidUsage = 5,     ///< the call itself is wrong here; also "no network could be used"
  RemoteError = 6,      ///< a peer or the network failed
  InProgress = 7,       ///< non-blocking communicator: not finished yet
  Timeout = 8,          ///< since 2.30; earlier releases end the list at InProgress
};
NCCL_ABI_SIZE(Result, 4);

/// Element types of a collective; the same values as `ncclDataType_t`.
enum class DataType : int {
  Int8 = 0,
  Uint8 = 1,
  Int32 = 2,
  Uint32 = 3,
  Int64 = 4,
  Uint64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9,     ///< before 2.24 the public header shows it only with CUDA's bf16 types
  Float8E4M3 = 10,  ///< since 2.24
  Float8E5M2 = 11,  ///< since 2.24
};
NCCL_ABI_SIZE(DataType, 4);

/// Built-in reductions; the same values as `ncclRedOp_t`. Larger values are user-made operations.
enum class RedOp : int { Sum = 0, Prod = 1, Max = 2, Min = 3, Avg = 4 };
NCCL_ABI_SIZE(RedOp, 4);

/// Operation numbers, as `ncclFunc_t`; profiler v1 hands them out, later versions hand out names.
enum class Func : int {
  Broadcast = 0,
  Reduce = 1,
  AllGather = 2,
  ReduceScatter = 3,
  AllReduce = 4,
  SendRecv = 5,
  Send = 6,
  Recv = 7,
  AlltoAll = 8,  ///< 8 to 10 since 2.28
  Scatter = 9,
  Gather = 10,
  AllGatherV = 11,  ///< 11 to 14 since 2.29
  PutSignal = 12,
  Signal = 13,
  WaitSignal = 14,
};
NCCL_ABI_SIZE(Func, 4);

/// One row for an element type: its value, the name a v2+ profiler descriptor carries, its bytes.
struct DataTypeRow {
  DataType type;
  std::string_view name;  ///< spelled as NCCL spells it to profilers
  std::uint8_t bytes;     ///< bytes of one element
};

/// Every element type of 2.19.3 to 2.32.3. NCCL's own name table has no entry for Uint8: asked for
/// each number, the released 2.22.3 to 2.32.3 answer kUntoldDataTypeName for Uint8 and for nothing
/// else that they accept. The row of Uint8 has the name it would have.
inline constexpr std::array<DataTypeRow, 12> kDataTypes{{
    {DataType::Int8, "ncclInt8", 1},
    {DataType::Uint8, "ncclUint8", 1},
    {DataType::Int32, "ncclInt32", 4},
    {DataType::Uint32, "ncclUint32", 4},
    {DataType::Int64, "ncclInt64", 8},
    {DataType::Uint64, "ncclUint64", 8},
    {DataType::Float16, "ncclFloat16", 2},
    {DataType::Float32, "ncclFloat32", 4},
    {DataType::Float64, "ncclFloat64", 8},
    {DataType::Bfloat16, "ncclBfloat16", 2},
    {DataType::Float8E4M3, "ncclFloat8e4m3", 1},
    {DataType::Float8E5M2, "ncclFloat8e5m2", 1},
}};

/// The word a profiler descriptor carries for a type that NCCL has no name for. It is not a row of
/// kDataTypes, because a release newer than 2.32.3 may say it of a type of any size.
inline constexpr std::string_view kUntoldDataTypeName = "Unknown";

/// Row of a profiler descriptor's type name; nothing for a name this statement does not know.
/// Any thread; no allocation.
constexpr std::optional<DataTypeRow> dataType(std::string_view name) {
  for (const DataTypeRow& row : kDataTypes) {
    if (row.name == name) return row;
  }
  return std::nullopt;
}

/// Row of an element type's number (profiler v1, collNet); nothing for an unknown number.
constexpr std::optional<DataTypeRow> dataType(int value) {
  for (const DataTypeRow& row : kDataTypes) {
    if (static_cast<int>(row.type) == value) return row;
  }
  return std::nullopt;
}

/// Severity of a log line; the same values as `ncclDebugLogLevel`.
enum class LogLevel : int {
  None = 0,
  Version = 1,
  Warn = 2,
  Info = 3,
  Abort = 4,
  Trace = 5,
  Attn = 6,  ///< since 2.32; ranks between Warn and Info despite its number
};
NCCL_ABI_SIZE(LogLevel, 4);

/// Subsystem bits of a log line (`flags` of a Logger); a line may carry several.
namespace log_subsys {
inline constexpr unsigned long kInit = 0x1;
inline constexpr unsigned long kColl = 0x2;
inline constexpr unsigned long kP2p = 0x4;
inline constexpr unsigned long kShm = 0x8;
inline constexpr unsigned long kNet = 0x10;
inline constexpr unsigned long kGraph = 0x20;
inline constexpr unsigned long kTuning = 0x40;
inline constexpr unsigned long kEnv = 0x80;
inline constexpr unsigned long kAlloc = 0x100;
inline constexpr unsigned long kCall = 0x200;
inline constexpr unsigned long kProxy = 0x400;
inline constexpr unsigned long kNvls = 0x800;
inline constexpr unsigned long kBootstrap = 0x1000;   // since 2.21
inline constexpr unsigned long kReg = 0x2000;         // since 2.21
inline constexpr unsigned long kProfile = 0x4000;     // since 2.22
inline constexpr unsigned long kRas = 0x8000;         // since 2.24
inline constexpr unsigned long kDestroy = 0x10000;    // since 2.30
inline constexpr unsigned long kAllocHost = 0x20000;  // since 2.30
inline constexpr unsigned long kAll = ~0UL;
}  // namespace log_subsys

/// NCCL's own logger, given to plugins at init. Any thread may call it; it takes NCCL's log lock
/// and may write to a file, so never from a callback in steady state.
using Logger = void (*)(LogLevel level, unsigned long subsys, const char* file, int line,
                        const char* format, ...);

/// Memory kinds: bits of a device's `ptrSupport`, and the `type` of regMr (Host or Cuda only).
inline constexpr int kPtrHost = 0x1;
inline constexpr int kPtrCuda = 0x2;
inline constexpr int kPtrDmaBuf = 0x4;

/// Bytes a listen handle may take; it travels between ranks.
inline constexpr std::size_t kNetHandleBytes = 128;
/// Requests that may be in flight on one send or receive comm (v7+; 8 in v6 and before).
inline constexpr int kNetMaxRequests = 32;
/// As `kNetMaxRequests`, for plugins of net v6 and before.
inline constexpr int kNetMaxRequestsV6 = 8;
/// Upper bound NCCL accepts for `maxP2pBytes` and `maxCollBytes` (v9+), in bytes.
inline constexpr std::int64_t kNetMaxSizeBytes = std::int64_t{1} << 40;
/// `*request` before irecv may hold this value instead of null (2.24+): the caller does not need
/// to learn of the completion. A wrapper must hand it through untouched.
inline constexpr std::uintptr_t kOptionalRecvCompletion = 0x1;
/// As above, for a request that is one of several (2.28+).
inline constexpr std::uintptr_t kMultiRequest = 0x2;

}  // namespace nccl_abi
