// See replayer.h.
#include "replayer.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "nccl_abi/profiler_v1.h"
#include "nccl_abi/profiler_v2.h"
#include "nccl_abi/profiler_v3.h"
#include "nccl_abi/profiler_v4.h"
#include "nccl_abi/profiler_v5.h"
#include "nccl_abi/profiler_v6.h"
#include "nccl_abi/profiler_v7.h"
#include "plugin/collective/names.h"
#include "plugin/entry/lifecycle.h"

extern "C" {
extern const nccl_abi::profiler_v1::Profiler ncclProfiler_v1;
extern const nccl_abi::profiler_v2::Profiler ncclProfiler_v2;
extern const nccl_abi::profiler_v3::Profiler ncclProfiler_v3;
extern const nccl_abi::profiler_v4::Profiler ncclProfiler_v4;
extern const nccl_abi::profiler_v5::Profiler ncclProfiler_v5;
extern const nccl_abi::profiler_v6::Profiler ncclProfiler_v6;
extern const nccl_abi::profiler_v7::Profiler ncclProfiler_v7;
}

namespace {

namespace collective = rdmaguard::collective;

struct Open {
  collective::Communicator* communicator;
  replay::Outcome outcome;
};
std::mutex lock;
std::map<void*, std::unique_ptr<Open>> opened;  // by context
std::vector<std::unique_ptr<Open>> finished;    // in order of finalize

collective::Sink into(replay::Outcome& outcome) {
  return [&outcome](const collective::Finished& f) {
    outcome.finished.push_back(
        {f, std::string(f.algorithm), std::string(f.protocol), std::string(f.datatype)});
  };
}

}  // namespace

namespace rdmaguard::entry {

void* onInit(const InitArgs& args, int* mask) noexcept {
  collective::Communicator* c =
      collective::open({args.abiVersion, args.nRanks, args.rank, args.caller});
  *mask = c == nullptr ? 0 : collective::wantedMask(args.abiVersion);
  if (c == nullptr) return nullptr;
  const std::lock_guard guard(lock);
  opened[c] = std::make_unique<Open>(Open{c, {}});
  opened[c]->outcome.mask = *mask;
  return c;
}

void onFinalize(void* context) noexcept {
  const std::lock_guard guard(lock);
  const auto found = opened.find(context);
  if (found == opened.end()) return;
  Open& open = *found->second;
  open.outcome.counters = collective::finish(*open.communicator, into(open.outcome));
  open.outcome.apiOnly = collective::apiOnly(*open.communicator);
  collective::close(open.communicator);
  finished.push_back(std::move(found->second));
  opened.erase(found);
}

}  // namespace rdmaguard::entry

namespace replay {
namespace {

/// A word at an address that lasts and lies in this executable's read-only memory, as NCCL's do.
const char* literal(const std::string& word) {
  static constexpr const char* kWords[] = {"AllReduce",      "AllGather",
                                           "ReduceScatter",  "Broadcast",
                                           "Reduce",         "Send",
                                           "Recv",           "AlltoAll",
                                           "ncclInt8",       "ncclFloat32",
                                           "RING",           "TREE",
                                           "SIMPLE",         "LL",
                                           "LL128",          "ncclBfloat16",
                                           "ncclFloat16",    "ncclFloat64",
                                           "Unknown",        "NVLS",
                                           "COLLNET_DIRECT", ""};
  for (const char* known : kWords) {
    if (word == known) return known;
  }
  throw std::runtime_error("replayer: no literal for " + word);
}

/// Words as one call sees them; in memory that is overwritten afterwards unless literals are asked.
class Words {
 public:
  explicit Words(const Options& options) : options_(options) {}
  ~Words() {
    for (auto& copy : copies_) std::memset(copy.get(), 'x', std::strlen(copy.get()));
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  const char* operator()(const std::string& word) {
    if (options_.nullWords) return nullptr;
    if (options_.literals) return literal(word);
    auto copy = std::make_unique<char[]>(word.size() + 1);
    std::memcpy(copy.get(), word.c_str(), word.size() + 1);
    copies_.push_back(std::move(copy));
    return copies_.back().get();
  }

 private:
  const Options& options_;
  std::vector<std::unique_ptr<char[]>> copies_;
};

std::uint8_t number(const std::vector<std::string>& words, const std::string& word) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<std::uint8_t>(i);
  }
  return 0xff;
}

template <class Coll>
void fillColl(Coll& d, const Event& e, Words& words) {
  d.seqNumber = e.sequence;
  d.count = e.count;
  d.root = e.root;
  const auto channels = static_cast<std::uint8_t>(e.channels);
  if constexpr (requires { d.nMaxChannels; }) {
    d.nMaxChannels = channels;
  } else {
    d.nChannels = channels;
  }
  if constexpr (requires { d.trafficBytes; }) d.trafficBytes = e.traffic;
  if constexpr (std::is_same_v<decltype(d.func), std::uint8_t>) {
    // NCCL 2.23's numbers.
    d.func = number({"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"}, e.func);
    d.datatype = number({"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64",
                         "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64"},
                        e.datatype);
    d.algo = number({"TREE", "RING"}, e.algo);
    d.proto = number({"LL", "LL128", "SIMPLE"}, e.proto);
  } else {
    d.func = words(e.func);
    d.datatype = words(e.datatype);
    d.algo = words(e.algo);
    d.proto = words(e.proto);
  }
}

template <class P2p>
void fillP2p(P2p& d, const Event& e, Words& words) {
  d.count = e.count;
  d.peer = e.peer;
  if constexpr (requires { d.nChannels; }) d.nChannels = static_cast<std::uint8_t>(e.channels);
  if constexpr (std::is_same_v<decltype(d.func), std::uint8_t>) {
    d.func = e.func == "Send" ? 6 : 7;
    d.datatype = 7;
  } else {
    d.func = words(e.func);
    d.datatype = words(e.datatype);
  }
}

template <class Descriptor>
void fillApi(Descriptor& d, const Event& e, Words& words) {
  if (e.type == nccl_abi::event_type::kGroupApi) d.groupApi.graphCaptured = e.graph;
  if (e.type == nccl_abi::event_type::kCollApi) {
    d.collApi.func = words(e.func);
    d.collApi.datatype = words(e.datatype);
    d.collApi.count = e.count;
    d.collApi.graphCaptured = e.graph;
  }
  if (e.type == nccl_abi::event_type::kP2pApi) {
    d.p2pApi.func = words(e.func);
    d.p2pApi.datatype = words(e.datatype);
    d.p2pApi.count = e.count;
    d.p2pApi.graphCaptured = e.graph;
  }
}

template <class Descriptor, class Profiler>
void* start(const Profiler& profiler, void* context, const Event& e, void* parent, void* group,
            const Options& options) {
  Words words(options);
  Descriptor d{};
  d.type = static_cast<decltype(d.type)>(e.type);
  if (d.type != e.type) return nullptr;  // a kind this version does not have
  d.parentObj = parent;
  d.rank = e.rank;
  switch (e.type) {
    case nccl_abi::event_type::kColl:
      fillColl(d.coll, e, words);
      if constexpr (requires { d.coll.parentGroup; }) d.coll.parentGroup = group;
      if constexpr (requires { d.coll.isSymColl; }) d.coll.isSymColl = e.symmetric;
      break;
    case nccl_abi::event_type::kP2p:
      fillP2p(d.p2p, e, words);
      if constexpr (requires { d.p2p.parentGroup; }) d.p2p.parentGroup = group;
      break;
    case nccl_abi::event_type::kProxyOp:
      d.proxyOp.pid = e.foreign ? getpid() + 1 : getpid();
      d.proxyOp.channelId = static_cast<std::uint8_t>(e.channel);
      break;
    case nccl_abi::event_type::kKernelCh:
      if constexpr (requires { d.kernelCh.channelId; }) {
        d.kernelCh.channelId = static_cast<std::uint8_t>(e.channel);
        if constexpr (requires { d.kernelCh.pTimer; }) d.kernelCh.pTimer = e.pTimer;
      }
      break;
    default:
      if constexpr (requires { d.kernelPhase; }) {
        if (e.type == nccl_abi::event_type::kKernelPhase) d.kernelPhase.pTimer = e.pTimer;
      }
      if constexpr (requires { d.collApi; }) fillApi(d, e, words);
  }
  void* handle = &d;  // must be overwritten
  profiler.startEvent(context, &handle, &d);
  if (handle == &d) throw std::runtime_error("startEvent left the handle as it was");
  return handle;
}

/// Calls `use` with the version's object and descriptor type.
template <class Use>
auto withVersion(int version, Use use) {
  switch (version) {
    case 1:
      return use(ncclProfiler_v1, nccl_abi::profiler_v1::EventDescriptor{});
    case 2:
      return use(ncclProfiler_v2, nccl_abi::profiler_v2::EventDescriptor{});
    case 3:
      return use(ncclProfiler_v3, nccl_abi::profiler_v3::EventDescriptor{});
    case 4:
      return use(ncclProfiler_v4, nccl_abi::profiler_v4::EventDescriptor{});
    case 5:
      return use(ncclProfiler_v5, nccl_abi::profiler_v5::EventDescriptor{});
    case 6:
      return use(ncclProfiler_v6, nccl_abi::profiler_v6::EventDescriptor{});
    case 7:
      return use(ncclProfiler_v7, nccl_abi::profiler_v7::EventDescriptor{});
    default:
      throw std::runtime_error("no such version");
  }
}

void* init(int version, const Event& e) {
  void* context = nullptr;
  int mask = 0;
  if (version <= 3) {
    withVersion(version, [&](const auto& p, auto) {
      if constexpr (std::is_invocable_v<decltype(p.init), void**, int*>) p.init(&context, &mask);
    });
  } else if (version == 4) {
    ncclProfiler_v4.init(&context, &mask, nullptr, e.commId, e.nNodes, e.nRanks, e.rank, nullptr);
  } else {
    withVersion(version, [&](const auto& p, auto) {
      if constexpr (std::is_invocable_v<decltype(p.init), void**, std::uint64_t, int*, const char*,
                                        int, int, int, nccl_abi::Logger>) {
        p.init(&context, e.commId, &mask, nullptr, e.nNodes, e.nRanks, e.rank, nullptr);
      }
    });
  }
  return context;
}

/// State of one run. Its maps are touched by one thread at a time: the one whose turn it is.
struct Run {
  const Options& options;
  std::map<int, void*> contexts;
  std::map<int, void*> twins;
  std::map<int, void*> handles;
  Outcomes outcomes;

  void* handle(int id) const {
    const auto found = handles.find(id);
    return found == handles.end() ? nullptr : found->second;
  }

  Outcome finalize(void* context) {
    withVersion(options.version, [&](const auto& p, auto) { p.finalize(context); });
    const std::lock_guard guard(lock);
    return finished.empty() ? Outcome{} : finished.back()->outcome;
  }

  void drainAll() {
    const std::lock_guard guard(lock);
    for (auto& [context, open] : opened) {
      collective::drain(*open->communicator, into(open->outcome));
    }
  }

  void play(const Event& e) {
    if (options.before) options.before(e, handles);
    if (options.skip && options.skip(e)) return;
    switch (e.callback) {
      case Callback::Init:
        contexts[e.context] = init(options.version, e);
        if (options.initTwice) twins[e.context] = init(options.version, e);
        break;
      case Callback::Start:
        handles[e.handle] = withVersion(options.version, [&](const auto& p, auto descriptor) {
          return start<decltype(descriptor)>(p, contexts[e.context], e, handle(e.parent),
                                             handle(e.group), options);
        });
        break;
      case Callback::Stop:
        stopEvent(options.version, handle(e.handle));
        break;
      case Callback::Record: {
        std::uint64_t argument = e.argument;
        recordEventState(options.version, handle(e.handle), e.state,
                         e.state == 22 ? &argument : nullptr);
        break;
      }
      case Callback::Finalize:
        outcomes[e.context] = finalize(contexts[e.context]);
        if (options.initTwice) outcomes[-e.context] = finalize(twins[e.context]);
        break;
    }
    if (options.drainLive) drainAll();
  }
};

}  // namespace

void stopEvent(int version, void* handle) {
  withVersion(version, [&](const auto& p, auto) { p.stopEvent(handle); });
}

void recordEventState(int version, void* handle, int state, std::uint64_t* argument) {
  withVersion(version, [&](const auto& p, auto) {
    if constexpr (std::is_invocable_v<decltype(p.recordEventState), void*, nccl_abi::EventState,
                                      nccl_abi::EventStateArgsV4*>) {
      p.recordEventState(handle, static_cast<nccl_abi::EventState>(state),
                         reinterpret_cast<nccl_abi::EventStateArgsV4*>(argument));
    } else {
      p.recordEventState(handle, static_cast<nccl_abi::EventState>(state), nullptr);
    }
  });
}

void* startEvent(int version, void* context, const Event& event, void* parent, void* group) {
  const Options options{version, true, false, false, false, false, {}, {}};
  return withVersion(version, [&](const auto& p, auto descriptor) {
    return start<decltype(descriptor)>(p, context, event, parent, group, options);
  });
}

Outcomes run(const Trace& trace, const Options& options) {
  Run state{options, {}, {}, {}, {}};
  if (!options.threads) {
    for (const Event& e : trace) state.play(e);
    return std::move(state.outcomes);
  }
  // Each thread plays its events when all earlier ones are over, as they were when recorded.
  std::atomic<std::size_t> turn{0};
  std::set<long> ids;
  for (const Event& e : trace) ids.insert(e.thread);
  std::vector<std::thread> threads;
  for (const long id : ids) {
    threads.emplace_back([&, id] {
      for (std::size_t i = 0; i < trace.size(); ++i) {
        if (trace[i].thread != id) continue;
        while (turn.load(std::memory_order_acquire) != i) std::this_thread::yield();
        state.play(trace[i]);
        turn.store(i + 1, std::memory_order_release);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::move(state.outcomes);
}

}  // namespace replay
