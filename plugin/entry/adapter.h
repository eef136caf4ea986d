// The callbacks of every profiler interface version, from NCCL's descriptors to collective/.
// Included by profiler_v1.cc to profiler_v7.cc only. Each version's start, stop and record become
// one short stretch of text: NCCL calls them from its launching and proxy threads.
#pragma once

#include <cstdint>

#include "plugin/collective/record.h"
#include "plugin/entry/lifecycle.h"

namespace rdmaguard::entry {

namespace event_type = nccl_abi::event_type;
using collective::Communicator;
using collective::Handle;
using nccl_abi::Result;

/// Children awaited by a Coll, as word bits. v4+ announces them exactly, but none for CollNet,
/// whose channels report all the same; v3 announces an upper bound; v1 and v2 have proxy operations
/// only, whose number is not announced.
template <int kVersion>
constexpr std::uint64_t childrenOf(std::uint8_t channels) {
  namespace word = collective::word;
  if constexpr (kVersion <= 2) return word::kTracked | word::kUnbounded;
  if (channels == 0) return word::kTracked | word::kUnbounded;
  return kVersion == 3 ? word::kTracked | channels : channels;
}

/// v1, v2: the traffic of an AllGather or ReduceScatter is its bytes times the number of ranks
/// (NCCL 2.23 to 2.25), which these versions tell nowhere else.
template <class Coll>
void learnRanks(Communicator& c, const Coll& d, const collective::Launch& launch) {
  if (collective::ranks(c) > 0) return;
  const std::uint64_t bytes = launch.count * launch.type.bytes;
  const bool tells =
      launch.operation == Operation::AllGather || launch.operation == Operation::ReduceScatter;
  if (!tells || bytes == 0 || d.trafficBytes % bytes != 0) return;
  collective::setRanks(c, static_cast<int>(d.trafficBytes / bytes));
}

template <int kVersion, class Descriptor>
Handle startColl(Communicator& c, const Descriptor& event) {
  const auto& d = event.coll;
  collective::Launch launch;
  launch.count = d.count;
  launch.sequence = d.seqNumber;
  if constexpr (kVersion == 1) {
    launch.operation = collective::operationFrom(static_cast<int>(d.func));
    launch.type = collective::typeFrom(static_cast<int>(d.datatype));
    launch.algorithm = collective::algorithmFrom(d.algo);
    launch.protocol = collective::protocolFrom(d.proto);
  } else {
    collective::CollMemo scratch;
    const auto* memo = collective::findColl(c, d.func, d.datatype, d.algo, d.proto, scratch);
    launch.operation = memo->operation;
    launch.type = memo->type;
    launch.algorithm = memo->algorithm;
    launch.protocol = memo->protocol;
  }
  if constexpr (kVersion <= 3) {
    launch.channels = d.nMaxChannels;
  } else {
    launch.channels = d.nChannels;
  }
  if constexpr (kVersion <= 2) learnRanks(c, d, launch);
  std::uint64_t flags = 0;
  if constexpr (kVersion >= 5) {
    flags = collective::flagsFrom(c, collective::handleFrom(event.parentObj), launch.type.code);
  }
  if constexpr (kVersion >= 7) {
    if (d.isSymColl) [[unlikely]] {
      return collective::startSymmetric(c, collective::handleFrom(d.parentGroup), launch, flags);
    }
  }
  return collective::startColl(c, launch, flags, childrenOf<kVersion>(launch.channels));
}

template <int kVersion, class Descriptor>
Handle startP2p(Communicator& c, const Descriptor& event) {
  const auto& d = event.p2p;
  Operation operation{};
  collective::TypeCode type;
  if constexpr (kVersion == 1) {
    operation = collective::operationFrom(static_cast<int>(d.func));
    type = collective::typeFrom(static_cast<int>(d.datatype));
  } else {
    collective::ApiMemo scratch;
    const auto* memo = collective::findApi(c, d.func, d.datatype, scratch);
    operation = memo->operation;
    type = memo->type;
  }
  unsigned channels = collective::word::kUnbounded;
  if constexpr (kVersion >= 4) channels = d.nChannels;
  if (operation != Operation::Send && operation != Operation::Recv) [[unlikely]] {
    // No direction, no batch: counted by itself as an unknown operation.
    const collective::Launch launch{Operation::Unknown, type, 0, 0, 0, d.count, 0};
    return collective::startColl(c, launch, 0,
                                 collective::word::kTracked | collective::word::kUnbounded);
  }
  const void* group = event.parentObj;
  bool graph = false;
  if constexpr (kVersion >= 5) {
    group = d.parentGroup;
    const Handle api = collective::handleFrom(event.parentObj);
    graph = collective::kindOf(api) == collective::Kind::P2pApi &&
            collective::communicatorOf(api) == &c && collective::apiCallOf(api).captured;
  }
  return collective::addP2p(c, collective::handleFrom(group), graph, operation == Operation::Send,
                            type, d.count, d.peer, c.rank, channels);
}

/// Events that only the versions with API events have; 0 for every other.
template <int kVersion, class Descriptor>
Handle startApi(Communicator& c, const Descriptor& event) {
  if constexpr (kVersion >= 5) {
    if (event.type == event_type::kCollApi) {
      return collective::startCollApi(c, event.collApi.func, event.collApi.datatype,
                                      event.collApi.count, event.collApi.graphCaptured);
    }
    if (event.type == event_type::kGroupApi) {
      collective::expectLaunch(c);
    } else if (event.type == event_type::kP2pApi && event.p2pApi.graphCaptured) {
      // Only a captured one says what its launches do not.
      return collective::apiHandle(c.launch.handleBase.load(std::memory_order_relaxed),
                                   collective::Kind::P2pApi, {0, true, Operation::Unknown, 0});
    }
  }
  return 0;
}

/// Proxy operations: with PXN another process's, whose context and parent are not our addresses.
template <int kVersion, class Descriptor>
Handle startProxyOp(const Descriptor& event) {
  if (event.proxyOp.pid != collective::pool.pid.load(std::memory_order_relaxed)) {
    collective::countForeign();
    return 0;
  }
  if constexpr (kVersion <= 2) {
    return collective::startChild<true>(collective::handleFrom(event.parentObj),
                                        event.proxyOp.channelId, 0);
  }
  return 0;
}

template <int kVersion, class Descriptor>
Handle start(void* context, const Descriptor& event) {
  if constexpr (kVersion >= 4) {
    if (event.type == event_type::kKernelCh) {
      return collective::startChild<false>(collective::handleFrom(event.parentObj),
                                           event.kernelCh.channelId, event.kernelCh.pTimer);
    }
  } else if constexpr (kVersion == 3) {
    if (event.type == event_type::kKernelCh) {
      return collective::startChild<true>(collective::handleFrom(event.parentObj),
                                          event.kernelCh.channelId, 0);
    }
  }
  if (event.type == event_type::kProxyOp) return startProxyOp<kVersion>(event);
  constexpr std::uint32_t kWithContext = event_type::kGroup | event_type::kColl | event_type::kP2p |
                                         event_type::kGroupApi | event_type::kCollApi |
                                         event_type::kP2pApi;
  if ((event.type & kWithContext) == 0 || context == nullptr) return 0;
  auto& c = *static_cast<Communicator*>(context);
  if (event.type == event_type::kColl) return startColl<kVersion>(c, event);
  if (event.type == event_type::kGroup) return collective::startGroup(c);
  if (event.type == event_type::kP2p) return startP2p<kVersion>(c, event);
  return startApi<kVersion>(c, event);
}

/// The handle is always written: NCCL keeps what it finds there.
template <int kVersion, class Descriptor>
[[gnu::hot]] Result startEvent(void* context, void** handle, Descriptor* event) {
  *handle = collective::pointerFrom(start<kVersion>(context, *event));
  return Result::Success;
}

template <int kVersion>
[[gnu::hot]] Result stopEvent(void* handle) {
  const Handle h = collective::handleFrom(handle);
  const collective::Kind kind = collective::kindOf(h);
  if (kind == collective::Kind::Child) {
    collective::stopChild<(kVersion <= 3)>(h);
  } else if (kind == collective::Kind::Group) {
    collective::stopGroup(h);
  }
  return Result::Success;
}

template <int kVersion, class StateArgs>
[[gnu::hot]] Result recordEventState(void* handle, nccl_abi::EventState state, StateArgs* args) {
  if constexpr (kVersion >= 4) {
    const Handle h = collective::handleFrom(handle);
    if (state == nccl_abi::EventState::KernelChStop && args != nullptr &&
        collective::kindOf(h) == collective::Kind::Child) {
      collective::recordStop(h, args->kernelCh.pTimer);
    }
  }
  return Result::Success;
}

inline Result finalize(void* context) {
  onFinalize(context);
  return Result::Success;
}

/// init of v1 to v3, which tell nothing of the communicator.
template <int kVersion>
Result initUntold(void** context, int* mask) {
  const InitArgs args{kVersion, 0, nullptr, -1, -1, -1, nullptr, __builtin_return_address(0)};
  *context = onInit(args, mask);
  return Result::Success;
}

}  // namespace rdmaguard::entry

/// Defines `ncclProfiler_vN`, the object NCCL looks up.
#define RDMAGUARD_PROFILER(version, init_)                                                        \
  extern "C" __attribute__((visibility("default")))                                               \
  const nccl_abi::profiler_v##version::Profiler ncclProfiler_v##version;                          \
  constinit const nccl_abi::profiler_v##version::Profiler ncclProfiler_v##version = {             \
      "rdmaguard",                                                                                \
      init_,                                                                                      \
      rdmaguard::entry::startEvent<version, nccl_abi::profiler_v##version::EventDescriptor>,      \
      rdmaguard::entry::stopEvent<version>,                                                       \
      rdmaguard::entry::recordEventState<version, nccl_abi::profiler_v##version::EventStateArgs>, \
      rdmaguard::entry::finalize}
