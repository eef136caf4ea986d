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
inline void learnRanks(Communicator& c, std::uint64_t words, std::uint64_t bytes,
                       std::uint64_t traffic) {
  if (collective::ranks(c) > 0) return;
  const Operation operation = collective::memo::operation(words);
  const bool tells = operation == Operation::AllGather || operation == Operation::ReduceScatter;
  if (!tells || bytes == 0 || traffic % bytes != 0) return;
  collective::setRanks(c, static_cast<int>(traffic / bytes));
}

/// v1 to v3: who the communicator is, which init did not tell.
inline void learnIdentity(Communicator& c, std::uint64_t commHash, int rank) {
  if (c.learnedId.load(std::memory_order_relaxed) != 0) return;
  c.learnedRank.store(rank, std::memory_order_relaxed);
  c.learnedId.store(commHash, std::memory_order_release);
}

/// A Coll of v5+ that startAnswer() does not know.
template <int kVersion, class Descriptor>
[[gnu::noinline]] Handle startOtherColl(Communicator& c, const Descriptor& event) {
  const auto& d = event.coll;
  const collective::CollWords words{d.func, d.datatype, d.algo, d.proto};
  const Handle api = collective::handleFrom(event.parentObj);
  if constexpr (kVersion >= 7) {
    if (d.isSymColl) {
      return collective::startSymmetric(c, collective::handleFrom(d.parentGroup), api, words,
                                        d.count, d.seqNumber, d.nChannels);
    }
  }
  return collective::startOtherColl(c, collective::handleFrom(d.parentGroup), api, words, d.count,
                                    d.seqNumber, d.nChannels, childrenOf<kVersion>(d.nChannels));
}

template <int kVersion, class Descriptor>
[[gnu::always_inline]] inline Handle startColl(Communicator& c, const Descriptor& event) {
  namespace memo = collective::memo;
  const auto& d = event.coll;
  if constexpr (kVersion >= 5) {
    Handle handle = 0;
    bool symmetric = false;
    if constexpr (kVersion >= 7) symmetric = d.isSymColl;
    if (!symmetric &&
        collective::startAnswer(c, collective::handleFrom(d.parentGroup),
                                collective::handleFrom(event.parentObj), d.func, d.datatype, d.algo,
                                d.proto, d.count, d.seqNumber, d.nChannels,
                                childrenOf<kVersion>(d.nChannels), handle)) [[likely]] {
      return handle;
    }
    return startOtherColl<kVersion>(c, event);
  } else {
    if constexpr (kVersion <= 3) learnIdentity(c, d.commHash, event.rank);
    std::uint64_t words = 0;
    if constexpr (kVersion == 1) {
      const collective::TypeCode type = collective::typeFrom(static_cast<int>(d.datatype));
      words = memo::make(collective::operationFrom(static_cast<int>(d.func)), type, type.bytes,
                         collective::algorithmFrom(d.algo), collective::protocolFrom(d.proto));
    } else {
      words = collective::collWords(c, {d.func, d.datatype, d.algo, d.proto});
    }
    const std::uint64_t bytes = d.count * memo::launchedBytes(words);
    if constexpr (kVersion <= 2) learnRanks(c, words, bytes, d.trafficBytes);
    std::uint8_t channels = 0;
    if constexpr (kVersion == 4) {
      channels = d.nChannels;
    } else {
      channels = d.nMaxChannels;
    }
    constexpr std::uint64_t kLaunched = memo::kCodes & ~(std::uint64_t{0xff} << 56);
    return collective::startColl(
        c, collective::handleFrom(event.parentObj),
        {(words & kLaunched) | std::uint64_t{channels} << 24 |
             (memo::launchedBytes(words) == 0 ? collective::codes::kNoSize : 0),
         bytes, d.seqNumber, childrenOf<kVersion>(channels)});
  }
}

template <int kVersion, class Descriptor>
Handle startP2p(Communicator& c, const Descriptor& event) {
  namespace memo = collective::memo;
  const auto& d = event.p2p;
  if constexpr (kVersion <= 3) learnIdentity(c, d.commHash, event.rank);
  std::uint64_t words = 0;
  if constexpr (kVersion == 1) {
    words = memo::make(collective::operationFrom(static_cast<int>(d.func)),
                       collective::typeFrom(static_cast<int>(d.datatype)), 0, 0, 0);
  } else {
    words = collective::p2pWords(c, d.func, d.datatype);
  }
  const Operation operation = memo::operation(words);
  if (operation != Operation::Send && operation != Operation::Recv) [[unlikely]] {
    // No direction, no batch: counted by itself as an unknown operation.
    const std::uint64_t type = words & std::uint64_t{0xff} << 16;
    return collective::startColl(c, 0,
                                 {type, d.count * memo::calledBytes(words), 0,
                                  collective::word::kTracked | collective::word::kUnbounded});
  }
  unsigned channels = collective::word::kUnbounded;
  if constexpr (kVersion >= 4) channels = d.nChannels;
  const void* group = event.parentObj;
  bool graph = false;
  if constexpr (kVersion >= 5) {
    group = d.parentGroup;
    graph = collective::isApiOf(collective::handleFrom(event.parentObj),
                                c.launch.handleBase.load(std::memory_order_relaxed),
                                collective::Kind::P2pApi);
  }
  return collective::addP2p(c, collective::handleFrom(group), graph, words, d.count, d.peer,
                            channels);
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
                                        event.proxyOp.channelId, 0, [] {});
  }
  return 0;
}

template <int kVersion, class Descriptor>
Result startEvent(void* context, void** handle, Descriptor* event);
template <int kVersion>
Result stopEvent(void* handle);
template <int kVersion, class StateArgs>
Result recordEventState(void* handle, nccl_abi::EventState state, StateArgs* args);

/// What few collectives pass through, kept off the others' path.
template <int kVersion, class Descriptor>
[[gnu::noinline]] Handle startRare(void* context, const Descriptor& event) {
  if (event.type == event_type::kProxyOp) return startProxyOp<kVersion>(event);
  if (context == nullptr) return 0;
  auto& c = *static_cast<Communicator*>(context);
  if (event.type == event_type::kP2p) return startP2p<kVersion>(c, event);
  if constexpr (kVersion >= 5) {
    // A P2pApi is of use only when it says what its launches do not.
    if (event.type == event_type::kP2pApi && event.p2pApi.graphCaptured) {
      return collective::apiHandle(c.launch.handleBase.load(std::memory_order_relaxed),
                                   collective::Kind::P2pApi, {});
    }
  }
  return 0;
}

template <int kVersion, class Descriptor>
[[gnu::always_inline]] inline Handle start(void* context, const Descriptor& event) {
  if constexpr (kVersion >= 3) {
    if (event.type == event_type::kKernelCh) {
      std::uint64_t startNs = 0;
      if constexpr (kVersion >= 4) startNs = event.kernelCh.pTimer;
      return collective::startChild<(kVersion == 3)>(
          collective::handleFrom(event.parentObj), event.kernelCh.channelId, startNs, [] {
            collective::expectCode<320>(&stopEvent<kVersion>);
            if constexpr (kVersion >= 4) {
              collective::expectCode<192>(&recordEventState<kVersion, nccl_abi::EventStateArgsV4>);
            }
          });
    }
  }
  constexpr std::uint32_t kUsual =
      event_type::kGroup | event_type::kColl | event_type::kGroupApi | event_type::kCollApi;
  if ((event.type & kUsual) == 0 || context == nullptr) [[unlikely]] {
    return startRare<kVersion>(context, event);
  }
  auto& c = *static_cast<Communicator*>(context);
  if constexpr (kVersion >= 5) {
    if (event.type == event_type::kGroupApi) {
      collective::expectLaunch(c);
      collective::expectCode<960>(&startEvent<kVersion, Descriptor>);
      collective::expectCode<192>(&stopEvent<kVersion>);
      return 0;
    }
    if (event.type == event_type::kCollApi) {
      return collective::startCollApi(c, event.collApi.func, event.collApi.datatype,
                                      event.collApi.count, event.collApi.graphCaptured);
    }
  }
  if (event.type == event_type::kGroup) return collective::startGroup(c);
  return startColl<kVersion>(c, event);
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
    collective::stopChild(h, kVersion <= 3);
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

/// init of v5 and later; v4 tells the same in another order.
template <int kVersion>
Result initTold(void** context, std::uint64_t commId, int* mask, const char* commName, int nNodes,
                int nRanks, int rank, nccl_abi::Logger logger) {
  const InitArgs args{kVersion,
                      commId,
                      commName,
                      nNodes,
                      nRanks,
                      rank,
                      reinterpret_cast<const void*>(logger),
                      __builtin_return_address(0)};
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
