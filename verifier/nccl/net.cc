// The six versions of NCCL's net interface behind one: see net.h.
#include "verifier/nccl/net.h"

#include <fmt/format.h>

#include <stdexcept>

#include "nccl_abi/net_v10.h"
#include "nccl_abi/net_v11.h"
#include "nccl_abi/net_v12.h"
#include "nccl_abi/net_v7.h"
#include "nccl_abi/net_v8.h"
#include "nccl_abi/net_v9.h"

namespace rdmaguard::nccl {
namespace {

using nccl_abi::Result;

void check(Result result, const char* call) {
  if (result == Result::Success) return;
  throw std::runtime_error(
      fmt::format("the transport's {} failed with {}", call, static_cast<int>(result)));
}

template <int kVersion, typename Interface, typename Properties>
class NetOf final : public Net {
 public:
  explicit NetOf(void* object) : net_(static_cast<Interface*>(object)) {}

  std::string name() const override { return net_->name; }

  bool init(std::uint64_t commId, nccl_abi::Logger logger, void* profilerCallback) override {
    [[maybe_unused]] const auto callback =
        reinterpret_cast<nccl_abi::NetProfilerCallback>(profilerCallback);
    if constexpr (kVersion >= 11) {
      nccl_abi::NetCommConfig config{nccl_abi::kNetTrafficClassUndefined};
      return net_->init(&context_, commId, &config, logger, callback) == Result::Success;
    } else if constexpr (kVersion == 10) {
      (void)commId;
      return net_->init(logger, callback) == Result::Success;
    } else {
      (void)commId;
      return net_->init(logger) == Result::Success;
    }
  }

  int devices() override {
    int count = 0;
    return net_->devices(&count) == Result::Success ? count : 0;
  }

  Device device(int index) override {
    Properties p{};
    check(net_->getProperties(index, &p), "getProperties");
    return {p.name != nullptr ? p.name : "", p.pciPath != nullptr ? p.pciPath : "", p.port, p.speed,
            p.ptrSupport};
  }

  void* listen(int device, ListenHandle& handle) override {
    void* comm = nullptr;
    if constexpr (kVersion >= 11) {
      check(net_->listen(context_, device, handle.data(), &comm), "listen");
    } else {
      check(net_->listen(device, handle.data(), &comm), "listen");
    }
    return comm;
  }

  void* connect(int device, ListenHandle& handle) override {
    void* comm = nullptr;
    nccl_abi::NetDeviceHandle* offload = nullptr;
    if constexpr (kVersion >= 11) {
      // NCCL states how it will use the connection before it makes it.
      if (net_->setNetAttr != nullptr) {
        const nccl_abi::NetCommAttr one{1, 1, 1, 1};
        nccl_abi::NetAttr attr{one, one, 0, 0, 0};
        check(net_->setNetAttr(context_, &attr), "setNetAttr");
      }
      check(net_->connect(context_, device, handle.data(), &comm, &offload), "connect");
    } else if constexpr (kVersion == 10) {
      nccl_abi::NetCommConfig config{nccl_abi::kNetTrafficClassUndefined};
      check(net_->connect(device, &config, handle.data(), &comm, &offload), "connect");
    } else {
      check(net_->connect(device, handle.data(), &comm, &offload), "connect");
    }
    return comm;
  }

  void* accept(void* listenComm) override {
    void* comm = nullptr;
    nccl_abi::NetDeviceHandle* offload = nullptr;
    check(net_->accept(listenComm, &comm, &offload), "accept");
    return comm;
  }

  void* registerHost(void* comm, void* data, std::size_t bytes) override {
    void* region = nullptr;
    check(net_->regMr(comm, data, size(bytes), nccl_abi::kPtrHost, &region), "regMr");
    return region;
  }

  void deregister(void* comm, void* region) override {
    check(net_->deregMr(comm, region), "deregMr");
  }

  void* isend(void* comm, void* data, std::size_t bytes, int tag, void* region,
              [[maybe_unused]] void* profilerHandle) override {
    void* request = nullptr;
    if constexpr (kVersion >= 10) {
      check(net_->isend(comm, data, bytes, tag, region, profilerHandle, &request), "isend");
    } else {
      check(net_->isend(comm, data, transferSize(bytes), tag, region, &request), "isend");
    }
    return request;
  }

  void* irecv(void* comm, void* data, std::size_t bytes, int tag, void* region,
              [[maybe_unused]] void* profilerHandle) override {
    void* request = nullptr;
    auto sizes = transferSize(bytes);
    if constexpr (kVersion >= 10) {
      check(net_->irecv(comm, 1, &data, &sizes, &tag, &region, &profilerHandle, &request), "irecv");
    } else {
      check(net_->irecv(comm, 1, &data, &sizes, &tag, &region, &request), "irecv");
    }
    return request;
  }

  std::optional<std::size_t> test(void* request) override {
    int done = 0;
    // A grouped receive reports up to maxRecvs sizes; ours are never grouped.
    std::array<int, 8> sizes{};
    check(net_->test(request, &done, sizes.data()), "test");
    if (done == 0) return std::nullopt;
    return static_cast<std::size_t>(sizes[0]);
  }

  void closeSend(void* comm) override { check(net_->closeSend(comm), "closeSend"); }
  void closeRecv(void* comm) override { check(net_->closeRecv(comm), "closeRecv"); }
  void closeListen(void* comm) override { check(net_->closeListen(comm), "closeListen"); }

  void finalize() override {
    if constexpr (kVersion >= 11) {
      if (net_->finalize != nullptr) check(net_->finalize(context_), "finalize");
      context_ = nullptr;
    }
  }

 private:
  // v8 widened regMr's size, v9 the transfers'.
  static auto size(std::size_t bytes) {
    if constexpr (kVersion >= 8) return bytes;
    if constexpr (kVersion < 8) return static_cast<int>(bytes);
  }
  static auto transferSize(std::size_t bytes) {
    if constexpr (kVersion >= 9) return bytes;
    if constexpr (kVersion < 9) return static_cast<int>(bytes);
  }

  Interface* net_;
  [[maybe_unused]] void* context_ = nullptr;
};

}  // namespace

std::unique_ptr<Net> netAt(void* object, int version) {
  using namespace nccl_abi;
  switch (version) {
    case 7:
      return std::make_unique<NetOf<7, net_v7::Net, net_v7::Properties>>(object);
    case 8:
      return std::make_unique<NetOf<8, net_v8::Net, net_v8::Properties>>(object);
    case 9:
      return std::make_unique<NetOf<9, net_v9::Net, net_v9::Properties>>(object);
    case 10:
      return std::make_unique<NetOf<10, net_v10::Net, net_v10::Properties>>(object);
    case 11:
      return std::make_unique<NetOf<11, net_v11::Net, net_v11::Properties>>(object);
    case 12:
      return std::make_unique<NetOf<12, net_v12::Net, net_v12::Properties>>(object);
    default:
      throw std::runtime_error(fmt::format("no net interface v{} is known", version));
  }
}

}  // namespace rdmaguard::nccl
