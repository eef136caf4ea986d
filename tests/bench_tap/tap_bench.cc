// What the tap adds to a call of NCCL's net: isend, irecv and test through a struct, untapped and
// tapped. The struct is a stand-in of ours whose functions do next to nothing, because a real
// transport needs a peer; so the difference between a pair of rows is the tap, all of it. The real
// transports are tapped in tests/locate and in the Soft-RoCE guest.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "nccl_abi/net_v12.h"
#include "plugin/tap/tap.h"

namespace {

using nccl_abi::Result;
using Net = nccl_abi::net_v12::Net;

// A comm that keeps its requests inside itself, as IB's and Socket's do (a 2.32 IB request is 328
// bytes), and hands them out in turn.
struct Request {
  std::array<std::uint64_t, 41> body;
};
struct Comm {
  std::array<Request, 32> requests;
  unsigned next;
};

void* openComm() {
  void* memory = std::aligned_alloc(4096, (sizeof(Comm) + 4095) / 4096 * 4096);
  return new (memory) Comm{};
}

Result init(void**, std::uint64_t, nccl_abi::NetCommConfig*, nccl_abi::Logger,
            nccl_abi::NetProfilerCallback) {
  return Result::Success;
}
Result devices(int* count) {
  *count = 1;
  return Result::Success;
}
Result getProperties(int, nccl_abi::net_v12::Properties*) {
  return Result::Success;
}
Result listen(void*, int, void*, void** comm) {
  *comm = openComm();
  return Result::Success;
}
Result connect(void*, int, void*, void** comm, nccl_abi::NetDeviceHandle**) {
  *comm = openComm();
  return Result::Success;
}
Result accept(void*, void** comm, nccl_abi::NetDeviceHandle**) {
  *comm = openComm();
  return Result::Success;
}
Result regMr(void*, void*, std::size_t, int, void**) {
  return Result::Success;
}
Result regMrDmaBuf(void*, void*, std::size_t, int, std::uint64_t, int, void**) {
  return Result::Success;
}
Result deregMr(void*, void*) {
  return Result::Success;
}
Result isend(void* comm, void*, std::size_t, int, void*, void*, void** request) {
  auto* c = static_cast<Comm*>(comm);
  *request = &c->requests[c->next++ % 8];
  return Result::Success;
}
Result irecv(void* comm, int, void**, std::size_t*, int*, void**, void**, void** request) {
  auto* c = static_cast<Comm*>(comm);
  *request = &c->requests[c->next++ % 8];
  return Result::Success;
}
Result test(void* request, int* done, int* sizes) {
  auto* r = static_cast<Request*>(request);
  // Every call but the last of a polling loop finds nothing; body[0] says which this is.
  *done = r->body[0] == 0 ? 1 : 0;
  if (sizes != nullptr) *sizes = 4096;
  return Result::Success;
}
Result closeComm(void* comm) {
  std::free(comm);
  return Result::Success;
}

Net standIn() {
  Net net{};
  net.name = "IB";
  net.init = init;
  net.devices = devices;
  net.getProperties = getProperties;
  net.listen = listen;
  net.connect = connect;
  net.accept = accept;
  net.regMr = regMr;
  net.regMrDmaBuf = regMrDmaBuf;
  net.deregMr = deregMr;
  net.isend = isend;
  net.irecv = irecv;
  net.test = test;
  net.closeSend = closeComm;
  net.closeRecv = closeComm;
  net.closeListen = closeComm;
  return net;
}

Net g_untapped = standIn();
Net g_tapped = standIn();
Net g_tappedSocket = standIn();

// The pointer is volatile as NCCL's is: it comes from the communicator, unknown to the compiler.
Net* volatile g_nets[2] = {&g_untapped, &g_tapped};

Net& netOf(const benchmark::State& state) {
  return *g_nets[state.range(0)];
}

struct Pair {
  void* send = nullptr;
  void* receive = nullptr;
};

Pair openPair(Net& net) {
  std::array<char, nccl_abi::kNetHandleBytes> handle{};
  Pair pair;
  void* listening = nullptr;
  net.listen(nullptr, 0, handle.data(), &listening);
  net.connect(nullptr, 0, handle.data(), &pair.send, nullptr);
  net.accept(listening, &pair.receive, nullptr);
  net.closeListen(listening);
  return pair;
}

void closePair(Net& net, const Pair& pair) {
  net.closeSend(pair.send);
  net.closeRecv(pair.receive);
}

void send(benchmark::State& state) {
  Net& net = netOf(state);
  const Pair pair = openPair(net);
  for (auto _ : state) {
    void* request = nullptr;
    net.isend(pair.send, nullptr, 4096, 0, nullptr, nullptr, &request);
    benchmark::DoNotOptimize(request);
  }
  closePair(net, pair);
}

void receive(benchmark::State& state) {
  Net& net = netOf(state);
  const Pair pair = openPair(net);
  void* data = nullptr;
  std::size_t size = 4096;
  int tag = 0;
  for (auto _ : state) {
    void* request = nullptr;
    net.irecv(pair.receive, 1, &data, &size, &tag, nullptr, nullptr, &request);
    benchmark::DoNotOptimize(request);
  }
  closePair(net, pair);
}

void testNotDone(benchmark::State& state) {
  Net& net = netOf(state);
  const Pair pair = openPair(net);
  void* request = nullptr;
  net.isend(pair.send, nullptr, 4096, 0, nullptr, nullptr, &request);
  static_cast<Request*>(request)->body[0] = 1;
  for (auto _ : state) {
    int done = 0;
    net.test(request, &done, nullptr);
    benchmark::DoNotOptimize(done);
  }
  closePair(net, pair);
}

// One whole send and its completion, on each of `range(1)` connections in turn, as the proxy
// progress thread does: isend, a poll that finds nothing, the poll that finds it done. Three calls.
void sendCycle(benchmark::State& state) {
  Net& net = netOf(state);
  std::vector<Pair> pairs(static_cast<std::size_t>(state.range(1)));
  for (Pair& pair : pairs) pair = openPair(net);
  std::size_t at = 0;
  for (auto _ : state) {
    void* request = nullptr;
    net.isend(pairs[at].send, nullptr, 4096, 0, nullptr, nullptr, &request);
    auto* body = static_cast<Request*>(request)->body.data();
    int done = 0;
    body[0] = 1;
    net.test(request, &done, nullptr);
    body[0] = 0;
    net.test(request, &done, nullptr);
    benchmark::DoNotOptimize(done);
    at = at + 1 == pairs.size() ? 0 : at + 1;
  }
  for (const Pair& pair : pairs) closePair(net, pair);
  state.counters["calls"] = 3;
}

void receiveCycle(benchmark::State& state) {
  Net& net = netOf(state);
  std::vector<Pair> pairs(static_cast<std::size_t>(state.range(1)));
  for (Pair& pair : pairs) pair = openPair(net);
  void* data = nullptr;
  std::size_t size = 4096;
  int tag = 0;
  std::size_t at = 0;
  for (auto _ : state) {
    void* request = nullptr;
    net.irecv(pairs[at].receive, 1, &data, &size, &tag, nullptr, nullptr, &request);
    auto* body = static_cast<Request*>(request)->body.data();
    int done = 0;
    int sizes[8];
    body[0] = 1;
    net.test(request, &done, sizes);
    body[0] = 0;
    net.test(request, &done, sizes);
    benchmark::DoNotOptimize(done);
    at = at + 1 == pairs.size() ? 0 : at + 1;
  }
  for (const Pair& pair : pairs) closePair(net, pair);
  state.counters["calls"] = 3;
}

BENCHMARK(send)->ArgName("tapped")->Arg(0)->Arg(1);
BENCHMARK(receive)->ArgName("tapped")->Arg(0)->Arg(1);
BENCHMARK(testNotDone)->ArgName("tapped")->Arg(0)->Arg(1);
BENCHMARK(sendCycle)->ArgNames({"tapped", "connections"})->ArgsProduct({{0, 1}, {1, 32}});
BENCHMARK(receiveCycle)->ArgNames({"tapped", "connections"})->ArgsProduct({{0, 1}, {1, 32}});

}  // namespace

int main(int argc, char** argv) {
  rdmaguard::tap::LocateResult located;
  located.path = "stand-in";
  located.versionText = "stand-in";
  located.netAbi = 12;
  located.ib = reinterpret_cast<void**>(&g_tapped);
  located.socket = reinterpret_cast<void**>(&g_tappedSocket);
  const auto installed = rdmaguard::tap::install(located);
  if (!installed.installed) return 1;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  const auto snapshot = rdmaguard::tap::snapshot();
  // A benchmark that measured untracked calls would be too good: say so instead.
  return snapshot.untrackedConnections + snapshot.untrackedRequests + snapshot.untrackedOperations
             ? 1
             : 0;
}
