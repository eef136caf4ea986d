// See memory_net.h.
#include "memory_net.h"

#include <array>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

namespace rdmaguard::nccl::test {
namespace {

constexpr std::size_t kMostRequests = 32;
constexpr std::size_t kStage = 40;  // where connect keeps its state in the handle

struct Posted {
  char* data;
  std::size_t room;
  int tag;
  std::size_t got = 0;
  bool done = false;
};

/// What both ends of a connection share.
struct Pipe {
  std::mutex lock;
  std::deque<std::shared_ptr<Posted>> waiting;
  std::uint64_t messages = 0;
  Faults faults;  ///< of the receiving device
};

std::mutex gLock;
std::map<std::uint64_t, std::deque<std::shared_ptr<Pipe>>> gArriving;
std::uint64_t gNext = 1;

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

struct MemoryNet::Comm {
  std::shared_ptr<Pipe> pipe;
  std::vector<std::unique_ptr<Request>> requests;
  char* region = nullptr;
  std::size_t regionBytes = 0;
  int calls = 0;

  void check(const char* data, std::size_t bytes, const void* given) const {
    require(given == region && region != nullptr, "not the memory's region");
    require(data >= region && data + bytes <= region + regionBytes, "outside the region");
    require(requests.size() < kMostRequests, "too many requests are open");
  }
};

struct MemoryNet::Listener {
  std::uint64_t id;
  int device;
};

struct MemoryNet::Request {
  Comm* comm;
  std::shared_ptr<Posted> posted;  ///< null: of a send, which is complete at once
  std::size_t bytes;
};

MemoryNet::MemoryNet(std::vector<Device> devices, std::map<int, Faults> faults)
    : devices_(std::move(devices)), faults_(std::move(faults)) {}
MemoryNet::~MemoryNet() = default;

void* MemoryNet::listen(int device, ListenHandle& handle) {
  if (faults_[device].listenFails) throw std::runtime_error("the transport's listen failed with 2");
  const std::lock_guard hold(gLock);
  listeners_.push_back(std::make_unique<Listener>(Listener{gNext++, device}));
  handle = {};
  std::memcpy(handle.data(), &listeners_.back()->id, sizeof(std::uint64_t));
  gArriving[listeners_.back()->id];
  ++open_;
  return listeners_.back().get();
}

void* MemoryNet::connect(int device, ListenHandle& handle) {
  if (faults_[device].neverConnects) return nullptr;
  // Three calls: it begins, it waits, it is there.
  char& state = handle[kStage];
  if (state < 0 || state > 2) foreignState_ = true;
  if (++state < 3) return nullptr;
  std::uint64_t id = 0;
  std::memcpy(&id, handle.data(), sizeof id);
  const std::lock_guard hold(gLock);
  const auto at = gArriving.find(id);
  require(at != gArriving.end(), "nobody listens there");
  comms_.push_back(std::make_unique<Comm>());
  comms_.back()->pipe = std::make_shared<Pipe>();
  at->second.push_back(comms_.back()->pipe);
  ++open_;
  return comms_.back().get();
}

void* MemoryNet::accept(void* listenComm) {
  const auto* listener = static_cast<Listener*>(listenComm);
  const std::lock_guard hold(gLock);
  auto& arriving = gArriving[listener->id];
  if (arriving.empty()) return nullptr;
  comms_.push_back(std::make_unique<Comm>());
  comms_.back()->pipe = arriving.front();
  arriving.pop_front();
  const std::lock_guard holdPipe(comms_.back()->pipe->lock);
  comms_.back()->pipe->faults = faults_[listener->device];
  ++open_;
  return comms_.back().get();
}

void* MemoryNet::registerHost(void* comm, void* data, std::size_t bytes) {
  auto* c = static_cast<Comm*>(comm);
  c->region = static_cast<char*>(data);
  c->regionBytes = bytes;
  return data;
}

void MemoryNet::deregister(void* comm, void* region) {
  auto* c = static_cast<Comm*>(comm);
  require(c->region == region, "not the region of this connection");
  require(c->requests.empty(), "a request is open");
  c->region = nullptr;
}

void* MemoryNet::isend(void* comm, void* data, std::size_t bytes, int tag, void* region, void*) {
  auto* c = static_cast<Comm*>(comm);
  c->check(static_cast<char*>(data), bytes, region);
  Pipe& pipe = *c->pipe;
  const std::lock_guard hold(pipe.lock);
  if (pipe.waiting.empty()) return nullptr;
  const auto n = static_cast<int>(pipe.messages);
  if (pipe.faults.stallsAt >= 0 && n >= pipe.faults.stallsAt) return nullptr;
  const std::shared_ptr<Posted> to = pipe.waiting.front();
  require(to->tag == tag, "another tag");
  require(bytes <= to->room, "longer than what waits for it");
  pipe.waiting.pop_front();
  ++pipe.messages;
  if (n != pipe.faults.repeatsAt) std::memcpy(to->data, data, bytes);
  if (n == pipe.faults.changesAt) to->data[bytes / 2] = static_cast<char>(~to->data[bytes / 2]);
  to->got = n == pipe.faults.shortensAt ? bytes - 1 : bytes;
  to->done = true;
  c->requests.push_back(std::make_unique<Request>(Request{c, nullptr, bytes}));
  return c->requests.back().get();
}

void* MemoryNet::irecv(void* comm, void* data, std::size_t bytes, int tag, void* region, void*) {
  auto* c = static_cast<Comm*>(comm);
  c->check(static_cast<char*>(data), bytes, region);
  const auto posted = std::make_shared<Posted>(Posted{static_cast<char*>(data), bytes, tag});
  const std::lock_guard hold(c->pipe->lock);
  c->pipe->waiting.push_back(posted);
  c->requests.push_back(std::make_unique<Request>(Request{c, posted, bytes}));
  return c->requests.back().get();
}

std::optional<std::size_t> MemoryNet::test(void* request) {
  auto* r = static_cast<Request*>(request);
  std::size_t bytes = r->bytes;
  if (r->posted) {
    const std::lock_guard hold(r->comm->pipe->lock);
    if (!r->posted->done) return std::nullopt;
    bytes = r->posted->got;
    const Pipe& pipe = *r->comm->pipe;
    if (pipe.faults.throwsAt >= 0 && static_cast<int>(pipe.messages) > pipe.faults.throwsAt)
      throw std::runtime_error("the transport's test failed with 6");
  }
  std::erase_if(r->comm->requests, [r](const auto& one) { return one.get() == r; });
  return bytes;
}

void MemoryNet::close(void* comm) {
  auto* c = static_cast<Comm*>(comm);
  require(c->requests.empty() && c->region == nullptr, "closed while in use");
  --open_;
}

void MemoryNet::closeListen(void* comm) {
  const std::lock_guard hold(gLock);
  gArriving.erase(static_cast<Listener*>(comm)->id);
  --open_;
}

}  // namespace rdmaguard::nccl::test
