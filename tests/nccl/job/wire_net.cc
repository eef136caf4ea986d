// Wires over NCCL's own transport: see wire.h.
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "wire.h"

namespace rdmaguard::job {
namespace {

struct Region {
  Buffer buffer;
  void* send = nullptr;
  void* receive = nullptr;
};

class NetWire final : public Wire {
 public:
  NetWire(Net& net, int device) : net_(net), device_(device) {
    listen_ = net_.listen(device_, mine_);
  }

  std::string handle() const { return {mine_.data(), mine_.size()}; }
  void setPeer(const std::string& handle) {
    std::memcpy(next_.data(), handle.data(), next_.size());
  }

  /// One step of both non-blocking calls; true once both are through.
  bool connect() {
    if (send_ == nullptr) send_ = net_.connect(device_, next_);
    if (receive_ == nullptr) receive_ = net_.accept(listen_);
    return send_ != nullptr && receive_ != nullptr;
  }

  void registerBuffers(const std::vector<Buffer>& buffers) {
    for (const Buffer& buffer : buffers) {
      regions_.push_back({buffer, net_.registerHost(send_, buffer.data, buffer.bytes),
                          net_.registerHost(receive_, buffer.data, buffer.bytes)});
    }
  }

  void* send(void* data, std::size_t bytes, int tag) override {
    return net_.isend(send_, data, bytes, tag, regionOf(data).send, nullptr);
  }
  void* receive(void* data, std::size_t bytes, int tag) override {
    return net_.irecv(receive_, data, bytes, tag, regionOf(data).receive, nullptr);
  }
  std::optional<std::size_t> test(void* request) override { return net_.test(request); }

  void close() override {
    for (const Region& region : regions_) {
      net_.deregister(send_, region.send);
      net_.deregister(receive_, region.receive);
    }
    net_.closeSend(send_);
    net_.closeRecv(receive_);
    net_.closeListen(listen_);
  }

 private:
  const Region& regionOf(const void* data) const {
    for (const Region& region : regions_) {
      const auto* begin = static_cast<const char*>(region.buffer.data);
      if (data >= begin && data < begin + region.buffer.bytes) return region;
    }
    throw std::logic_error("a transfer outside the registered buffers");
  }

  Net& net_;
  int device_;
  ListenHandle mine_{};
  ListenHandle next_{};  // connect keeps its state in here: one object for all calls
  void* listen_ = nullptr;
  void* send_ = nullptr;
  void* receive_ = nullptr;
  std::vector<Region> regions_;
};

}  // namespace

std::vector<std::unique_ptr<Wire>> connectOverNet(Net& net, int devices, int channels, int rank,
                                                  Rendezvous& ranks,
                                                  const std::vector<Buffer>& buffers,
                                                  int timeoutSeconds) {
  std::vector<std::unique_ptr<NetWire>> wires;
  std::string handles;
  for (int c = 0; c < channels; ++c) {
    wires.push_back(std::make_unique<NetWire>(net, c % devices));
    handles += wires.back()->handle();
  }
  const std::vector<std::string> all = ranks.allGather(handles);
  const std::string& next = all[(static_cast<std::size_t>(rank) + 1) % all.size()];
  for (std::size_t c = 0; c < wires.size(); ++c) {
    wires[c]->setPeer(next.substr(c * nccl_abi::kNetHandleBytes, nccl_abi::kNetHandleBytes));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(timeoutSeconds);
  for (bool ready = false; !ready;) {
    ready = true;
    for (const auto& wire : wires) ready = wire->connect() && ready;
    if (ready) break;
    if (std::chrono::steady_clock::now() > until) throw PeerLost("the connection is not coming up");
    std::this_thread::yield();
  }
  std::vector<std::unique_ptr<Wire>> out;
  for (auto& wire : wires) {
    wire->registerBuffers(buffers);
    out.push_back(std::move(wire));
  }
  return out;
}

}  // namespace rdmaguard::job
