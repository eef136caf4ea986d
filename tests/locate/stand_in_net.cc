// See stand_in_net.h.
#include "stand_in_net.h"

namespace stand_in {
namespace {

Result start(void* opaque, int n, const std::size_t* sizes, void** request) {
  auto* comm = static_cast<Comm*>(opaque);
  comm->requestBefore = *request;
  *request = nullptr;
  if (comm->result != Result::Success) return comm->result;
  if (comm->refuses) return Result::Success;
  Request& next = comm->requests[comm->next++ % comm->requests.size()];
  next.n = n;
  for (int i = 0; i < n && i < 8; ++i) {
    next.sizes[static_cast<std::size_t>(i)] = static_cast<int>(sizes[i]);
  }
  *request = &next;
  return Result::Success;
}

Result init(void** context, std::uint64_t, nccl_abi::NetCommConfig*, nccl_abi::Logger,
            nccl_abi::NetProfilerCallback) {
  if (!makesNoContext) *context = new int(0);
  return Result::Success;
}
Result devices(int* count) {
  *count = 2;
  return Result::Success;
}
Result getProperties(int device, nccl_abi::net_v12::Properties* p) {
  static char name[] = "mlx5_0+mlx5_1";
  static char path[] = "/sys/devices/pci0000:00/0000:00:01.0";
  *p = {};
  p->name = name;
  p->pciPath = path;
  p->speed = 800000;
  p->port = 1;
  p->guid = 0xabcdu + static_cast<unsigned>(device);
  p->ptrSupport = nccl_abi::kPtrHost | nccl_abi::kPtrDmaBuf;
  p->vProps.ndevs = 2;
  p->vProps.devs[1] = 1;
  return Result::Success;
}
Result listen(void*, int, void*, void** comm) {
  *comm = new Comm;
  return Result::Success;
}
Result connect(void*, int, void*, void** comm, nccl_abi::NetDeviceHandle**) {
  *comm = pendingConnects-- > 0 ? nullptr : new Comm;
  return Result::Success;
}
Result accept(void*, void** comm, nccl_abi::NetDeviceHandle**) {
  *comm = new Comm;
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
Result isend(void* comm, void*, std::size_t size, int, void*, void*, void** request) {
  return start(comm, 1, &size, request);
}
Result irecv(void* comm, int n, void**, std::size_t* sizes, int*, void**, void**, void** request) {
  return start(comm, n, sizes, request);
}
Result test(void* opaque, int* done, int* sizes) {
  auto* request = static_cast<Request*>(opaque);
  *done = 0;
  if (request->result != Result::Success) return request->result;
  *done = request->done ? 1 : 0;
  for (int i = 0; request->done && sizes != nullptr && i < request->n; ++i) {
    sizes[i] = request->sizes[static_cast<std::size_t>(i)];
  }
  return Result::Success;
}
Result closeComm(void* comm) {
  delete static_cast<Comm*>(comm);
  return Result::Success;
}
Result finalize(void* context) {
  delete static_cast<int*>(context);
  return Result::Success;
}

}  // namespace

Net make() {
  Net net{};
  net.name = "stand-in";
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
  net.finalize = finalize;
  return net;
}

rdmaguard::tap::LocateResult locationOf(Net& ib, Net& socket) {
  rdmaguard::tap::LocateResult location;
  location.path = "stand-in";
  location.versionText = "2.32.3";
  location.netAbi = 12;
  location.ib = reinterpret_cast<void**>(&ib);
  location.socket = reinterpret_cast<void**>(&socket);
  return location;
}

Tapped::Tapped() : installed(rdmaguard::tap::install(locationOf(ib, socket))) {}

Tapped& tapped() {
  static Tapped instance;
  return instance;
}

}  // namespace stand_in
