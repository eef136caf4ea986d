// What all versions of NCCL's profiler interface share: event kinds, states, common payloads.
// Included by profiler_v1.h to profiler_v7.h; collective/ may include it alone.
//
// Slots of every version's `Profiler`, in this order (48 bytes, NCCL 2.23.4 to 2.32.3):
//   init, finalize     the thread that makes or destroys the communicator
//   startEvent         API kinds: the caller of the collective. Group, Coll, P2p, KernelLaunch: the
//                      launching thread or a CUDA host callback (no CUDA call allowed there).
//                      Proxy kinds: the proxy progress thread. KernelCh: the same up to 2.30, a
//                      thread of its own per communicator in 2.31 and later.
//   stopEvent          as startEvent; for Coll and P2p it says "enqueued", never "completed".
//                      Children may start after their parent's stop. The handle may be null.
//   recordEventState   the proxy, kernel and API threads; handle and args may each be null.
// A non-success result of init crashes 2.23 to 2.27 when the communicator is destroyed: answer
// Success with an empty mask instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_abi/types.h"

namespace nccl_abi {

/// Kinds of event: bits of the activation mask, and the value of a descriptor's `type`.
namespace event_type {
inline constexpr std::uint32_t kGroup = 1U << 0;
inline constexpr std::uint32_t kColl = 1U << 1;
inline constexpr std::uint32_t kP2p = 1U << 2;
inline constexpr std::uint32_t kProxyOp = 1U << 3;
inline constexpr std::uint32_t kProxyStep = 1U << 4;
inline constexpr std::uint32_t kProxyCtrl = 1U << 5;
inline constexpr std::uint32_t kKernelCh = 1U << 6;       // v3, NCCL 2.26
inline constexpr std::uint32_t kNetPlugin = 1U << 7;      // v3, NCCL 2.26; not compiled in releases
inline constexpr std::uint32_t kGroupApi = 1U << 8;       // v5, NCCL 2.28
inline constexpr std::uint32_t kCollApi = 1U << 9;        // v5
inline constexpr std::uint32_t kP2pApi = 1U << 10;        // v5
inline constexpr std::uint32_t kKernelLaunch = 1U << 11;  // v5
inline constexpr std::uint32_t kCeColl = 1U << 12;        // v6, NCCL 2.29
inline constexpr std::uint32_t kCeSync = 1U << 13;        // v6
inline constexpr std::uint32_t kCeBatch = 1U << 14;       // v6
inline constexpr std::uint32_t kKernelPhase = 1U << 15;   // v7, NCCL 2.31; needs kKernelCh
}  // namespace event_type

/// Transitions that recordEventState reports. One list for all versions.
enum class EventState : int {
  // Proxy operation, v1 to v3 only.
  ProxyOpSendPosted = 0,
  ProxyOpSendRemFifoWait = 1,
  ProxyOpSendTransmitted = 2,
  ProxyOpSendDone = 3,
  ProxyOpRecvPosted = 4,
  ProxyOpRecvReceived = 5,
  ProxyOpRecvTransmitted = 6,
  ProxyOpRecvDone = 7,
  // Proxy step.
  ProxyStepSendGpuWait = 8,
  ProxyStepSendWait = 9,
  ProxyStepRecvWait = 10,
  ProxyStepRecvFlushWait = 11,
  ProxyStepRecvGpuWait = 12,
  // Proxy thread.
  ProxyCtrlIdle = 13,
  ProxyCtrlActive = 14,
  ProxyCtrlSleep = 15,
  ProxyCtrlWakeup = 16,
  ProxyCtrlAppend = 17,
  ProxyCtrlAppendEnd = 18,
  // Since v4, NCCL 2.27.
  ProxyOpInProgress = 19,
  ProxyStepSendPeerWait = 20,
  NetPluginUpdate = 21,
  KernelChStop = 22,  ///< args.kernelCh.pTimer is the channel's end, GPU clock, ns
  // Since v5, NCCL 2.28.
  GroupStartApiStop = 23,
  GroupEndApiStart = 24,
  // Since v6, NCCL 2.29; defined, never recorded by NCCL itself.
  CeCollStart = 25,
  CeCollComplete = 26,
  CeSyncStart = 27,
  CeSyncComplete = 28,
  CeBatchStart = 29,
  CeBatchComplete = 30,
  // Since v7, NCCL 2.31.
  KernelPhaseStop = 31,  ///< args.kernelCh.pTimer is the phase's end, GPU clock, ns
};
NCCL_ABI_SIZE(EventState, 4);

/// Proxy operation payload, the same bytes in v1 to v7. With PXN the proxy of another rank runs
/// it: when `pid` is not this process, context and parentObj are foreign addresses.
struct ProxyOp {
  std::int32_t pid;  ///< process that asked for the operation
  std::uint8_t channelId;
  int peer;       ///< remote rank
  int nSteps;     ///< steps this operation takes
  int chunkSize;  ///< bytes a step moves at most
  int isSend;     ///< 1 send, 0 receive
};

/// Proxy step payload, the same bytes in v1 to v7.
struct ProxyStep {
  int step;  ///< index within its operation
};

/// Payload of an event that a net plugin raised, v3 to v7.
struct NetPlugin {
  std::int64_t id;  ///< transport kind << 16 | version of `data`
  void* data;       ///< plugin-defined
};

/// Arguments of recordEventState in v1, v2, v3.
union EventStateArgsV1 {
  struct {
    std::size_t transSize;  ///< bytes moved so far
    int steps;              ///< steps done so far
  } proxyOp;
  struct {
    int appendedProxyOps;  ///< operations taken over from the main thread
  } proxyCtrl;
};
NCCL_ABI_SIZE(EventStateArgsV1, 16);
NCCL_ABI_AT(EventStateArgsV1, proxyOp.transSize, 0);
NCCL_ABI_AT(EventStateArgsV1, proxyOp.steps, 8);
NCCL_ABI_AT(EventStateArgsV1, proxyCtrl.appendedProxyOps, 0);

/// Arguments of recordEventState in v4, v5, v6, v7.
union EventStateArgsV4 {
  struct {
    std::size_t transSize;  ///< bytes of this step
  } proxyStep;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
  struct {
    void* data;
  } netPlugin;
  struct {
    std::uint64_t pTimer;  ///< GPU global timer, ns; not comparable between GPUs
  } kernelCh;
};
NCCL_ABI_SIZE(EventStateArgsV4, 8);
NCCL_ABI_AT(EventStateArgsV4, proxyStep.transSize, 0);
NCCL_ABI_AT(EventStateArgsV4, proxyCtrl.appendedProxyOps, 0);
NCCL_ABI_AT(EventStateArgsV4, netPlugin.data, 0);
NCCL_ABI_AT(EventStateArgsV4, kernelCh.pTimer, 0);

}  // namespace nccl_abi

/// Holds the six slots of a version's Profiler where NCCL reads them.
#define NCCL_ABI_PROFILER_SLOTS(struct_)      \
  NCCL_ABI_SIZE(struct_, 48);                 \
  NCCL_ABI_AT(struct_, name, 0);              \
  NCCL_ABI_AT(struct_, init, 8);              \
  NCCL_ABI_AT(struct_, startEvent, 16);       \
  NCCL_ABI_AT(struct_, stopEvent, 24);        \
  NCCL_ABI_AT(struct_, recordEventState, 32); \
  NCCL_ABI_AT(struct_, finalize, 40)

/// Holds the head of a version's EventDescriptor and the payloads that never changed.
#define NCCL_ABI_DESCRIPTOR_HEAD(struct_)      \
  NCCL_ABI_AT(struct_, type, 0);               \
  NCCL_ABI_AT(struct_, parentObj, 8);          \
  NCCL_ABI_AT(struct_, rank, 16);              \
  NCCL_ABI_AT(struct_, proxyOp.pid, 24);       \
  NCCL_ABI_AT(struct_, proxyOp.channelId, 28); \
  NCCL_ABI_AT(struct_, proxyOp.peer, 32);      \
  NCCL_ABI_AT(struct_, proxyOp.nSteps, 36);    \
  NCCL_ABI_AT(struct_, proxyOp.chunkSize, 40); \
  NCCL_ABI_AT(struct_, proxyOp.isSend, 44);    \
  NCCL_ABI_AT(struct_, proxyStep.step, 24)
