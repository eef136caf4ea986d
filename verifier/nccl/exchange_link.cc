// See exchange_link.h.
#include "verifier/nccl/exchange_link.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

#include "verifier/nccl/exchange_pattern.h"

namespace rdmaguard::nccl {
namespace {

constexpr int kTag = 0x7264;
constexpr std::size_t kSmallBytes = 8;  // of a ping
constexpr std::size_t kStampBytes = 16;
// NCCL keeps as many slices in flight (NCCL_STEPS).
constexpr std::size_t kMostSlots = 8;
constexpr std::size_t kLaneBytes = std::size_t{64} << 20;

std::size_t slotsFor(std::size_t messageBytes) {
  return std::clamp<std::size_t>(kLaneBytes / messageBytes, 2, kMostSlots);
}

// Where the state lies that connect keeps in a handle (struct ncclIbCommStage, 2.19 to 2.30): it
// holds addresses of the process that connects.
constexpr std::size_t kStageBegin = 40;
constexpr std::size_t kStageEnd = 64;

bool stageIsEmpty(const ListenHandle& handle) {
  return std::all_of(handle.begin() + kStageBegin, handle.begin() + kStageEnd,
                     [](char c) { return c == 0; });
}

/// Gives up after a time without progress, and lets the owner look round meanwhile.
class Patience {
 public:
  Patience(std::chrono::milliseconds limit, const Link::Idle& idle) : limit_(limit), idle_(idle) {}

  void moved() { moved_ = true; }
  /// False: nothing moved for the whole limit.
  bool wait() {
    constexpr std::chrono::milliseconds kLook{2};
    const auto now = Clock::now();
    if (moved_) {
      moved_ = false;
      since_ = now;
      return true;
    }
    if (now - looked_ >= kLook) {
      looked_ = now;
      idle_();
    }
    // As NCCL's progress thread does: the other side may need this core.
    std::this_thread::yield();
    return now - since_ < limit_;
  }

 private:
  std::chrono::milliseconds limit_;
  const Link::Idle& idle_;
  bool moved_ = false;
  Clock::time_point since_ = Clock::now();
  Clock::time_point looked_ = since_;
};

}  // namespace

PageMemory::PageMemory(std::size_t bytes) : bytes_(bytes) {
  void* const at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(at);
}

PageMemory::~PageMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

/// One direction.
struct Link::Lane {
  explicit Lane(std::size_t messageBytes)
      : slotBytes((messageBytes + 63) / 64 * 64),
        slots(slotsFor(messageBytes)),
        memory(slotBytes * slots),
        requests(slots) {}

  char* slot(std::uint64_t message) const { return memory.data() + message % slots * slotBytes; }

  std::size_t slotBytes;
  std::size_t slots;
  PageMemory memory;
  std::vector<void*> requests;
  void* comm = nullptr;
  void* region = nullptr;
  // Of the round.
  std::uint64_t posted = 0, done = 0;
  bool prepared = false;  ///< the next message lies in its slot, the transport has not taken it

  bool full() const { return posted - done == slots; }
  void*& request(std::uint64_t message) { return requests[message % slots]; }
};

Link::Link(Net& net, int device, std::uint64_t index, bool connecting, std::size_t messageBytes,
           std::chrono::milliseconds timeout)
    : net_(net),
      device_(device),
      index_(index),
      connecting_(connecting),
      messageBytes_(messageBytes),
      timeout_(timeout),
      send_(std::make_unique<Lane>(std::max(messageBytes, kSmallBytes))),
      receive_(std::make_unique<Lane>(std::max(messageBytes, kSmallBytes))) {}

Link::~Link() {
  if (closed_) return;
  send_->memory.keepForEver();
  receive_->memory.keepForEver();
}

ListenHandle Link::listen() {
  listen_ = net_.listen(device_, mine_);
  return mine_;
}

void Link::connect(const ListenHandle& theirs, const Idle& idle) {
  theirs_ = theirs;
  // The other side is trusted with where to connect to, not with addresses in this process.
  if (stageIsEmpty(mine_)) std::fill(theirs_.begin() + kStageBegin, theirs_.begin() + kStageEnd, 0);
  Patience patience(timeout_, idle);
  for (;;) {
    if (send_->comm == nullptr) send_->comm = net_.connect(device_, theirs_);
    if (receive_->comm == nullptr) receive_->comm = net_.accept(listen_);
    if (send_->comm != nullptr && receive_->comm != nullptr) return;
    if (patience.wait()) continue;
    const std::string address = handshakeAddress(theirs);
    throw std::runtime_error(fmt::format(
        "the connection {} did not come up within {}{}",
        send_->comm == nullptr ? "to the other side" : "from the other side", secondsText(timeout_),
        address.empty() ? std::string()
                        : fmt::format("; NCCL's own handshake goes to {}, the other side's "
                                      "interface by NCCL_SOCKET_IFNAME",
                                      address)));
  }
}

void Link::registerMemory() {
  for (Lane* lane : {send_.get(), receive_.get()})
    lane->region = net_.registerHost(lane->comm, lane->memory.data(), lane->memory.bytes());
}

std::uint64_t Link::seed(bool mine, const Round& round, std::uint64_t message) const {
  // A direction's name is the same on both sides: 0 goes out from the side that connects.
  const std::uint64_t direction = mine == connecting_ ? 0 : 1;
  return seedOf(index_, direction, round.number, message);
}

std::size_t Link::sizeOf(const Round& round, std::uint64_t message) const {
  if (!round.whole) return messageBytes_;
  switch (message % 4) {
    case 1:
      return 1;
    case 2:
      return messageBytes_ - messageBytes_ / 3;
    case 3:
      return std::max<std::size_t>(1, messageBytes_ - 1);
    default:
      return messageBytes_;
  }
}

void Link::prepareRound(const Round& round) {
  for (Lane* lane : {send_.get(), receive_.get()}) {
    lane->posted = lane->done = 0;
    lane->prepared = false;
  }
  if (round.receives) std::memset(receive_->memory.data(), 0, receive_->memory.bytes());
  if (round.whole || !round.sends) return;
  for (std::uint64_t i = 0; i < send_->slots; ++i)
    fillPattern(send_->slot(i), messageBytes_, seed(true, round, i));
}

void Link::prepare(const Round& round, std::uint64_t message) {
  const std::size_t bytes = sizeOf(round, message);
  if (round.whole)
    fillPattern(send_->slot(message), bytes, seed(true, round, message));
  else if (bytes >= kStampBytes)
    stamp(send_->slot(message), bytes, seed(true, round, message));
}

void Link::wrong(const Round& round, std::uint64_t message, const std::string& what) {
  if (traffic_.wrong.empty())
    traffic_.wrong = fmt::format("message {} of round {}: {}", message, round.number, what);
}

void Link::compare(const Round& round, std::uint64_t message, std::size_t got) {
  const std::size_t bytes = sizeOf(round, message);
  const std::uint64_t own = seed(false, round, message);
  const char* const slot = receive_->slot(message);
  if (got != bytes) {
    wrong(round, message, fmt::format("{} bytes came instead of {}", got, bytes));
  } else if (round.whole) {
    if (const auto at = firstDifference(slot, 0, bytes, own))
      wrong(round, message, fmt::format("the byte at {} of {} is wrong", *at, bytes));
  } else if (bytes >= kStampBytes && !hasStamp(slot, bytes, own)) {
    wrong(round, message, "it is not the message that was sent");
  }
}

void Link::compareBodies(const Round& round) {
  if (!round.receives || round.whole) return;
  const std::size_t edge = messageBytes_ >= kStampBytes ? 8 : 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(receive_->slots, round.count); ++i) {
    const auto at =
        firstDifference(receive_->slot(i), edge, messageBytes_ - edge, seed(false, round, i));
    if (at) wrong(round, i, fmt::format("the byte at {} of {} is wrong", *at, messageBytes_));
  }
}

bool Link::progressReceive(const Round& round) {
  Lane& lane = *receive_;
  bool moved = false;
  while (lane.posted < round.count && !lane.full()) {
    void* const request =
        net_.irecv(lane.comm, lane.slot(lane.posted), messageBytes_, kTag, lane.region, nullptr);
    if (request == nullptr) break;
    lane.request(lane.posted++) = request;
    moved = true;
  }
  while (lane.done < lane.posted) {
    const auto got = net_.test(lane.request(lane.done));
    if (!got) break;
    compare(round, lane.done, *got);
    ++lane.done;
    ++traffic_.receivedMessages;
    traffic_.receivedBytes += *got;
    moved = true;
  }
  return moved;
}

bool Link::progressSend(const Round& round) {
  Lane& lane = *send_;
  bool moved = false;
  while (lane.posted < round.count && !lane.full()) {
    if (!lane.prepared) prepare(round, lane.posted);
    lane.prepared = true;
    const std::size_t bytes = sizeOf(round, lane.posted);
    void* const request =
        net_.isend(lane.comm, lane.slot(lane.posted), bytes, kTag, lane.region, nullptr);
    if (request == nullptr) break;
    lane.prepared = false;
    lane.request(lane.posted++) = request;
    moved = true;
  }
  while (lane.done < lane.posted) {
    if (!net_.test(lane.request(lane.done))) break;
    traffic_.sentBytes += sizeOf(round, lane.done);
    ++traffic_.sentMessages;
    ++lane.done;
    moved = true;
  }
  return moved;
}

double Link::stream(const Round& round, const Idle& idle) {
  Patience patience(timeout_, idle);
  const std::uint64_t toSend = round.sends ? round.count : 0;
  const std::uint64_t toReceive = round.receives ? round.count : 0;
  const auto begun = Clock::now();
  while (send_->done < toSend || receive_->done < toReceive) {
    if (round.receives && progressReceive(round)) patience.moved();
    if (round.sends && progressSend(round)) patience.moved();
    if (!patience.wait())
      throw std::runtime_error(
          fmt::format("it connected, and then no message moved for {} ({} of {} sent, {} of {} "
                      "received)",
                      secondsText(timeout_), send_->done, toSend, receive_->done, toReceive));
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  compareBodies(round);
  return seconds;
}

std::vector<double> Link::pingPong(const Round& round, const Idle& idle) {
  Patience patience(timeout_, idle);
  const auto wait = [&] {
    if (!patience.wait())
      throw std::runtime_error(fmt::format("it connected, and then no small message moved for {}",
                                           secondsText(timeout_)));
  };
  const auto postReceives = [&] {
    Lane& lane = *receive_;
    while (lane.posted < round.count && !lane.full()) {
      void* const request =
          net_.irecv(lane.comm, lane.slot(lane.posted), kSmallBytes, kTag, lane.region, nullptr);
      if (request == nullptr) return;
      lane.request(lane.posted++) = request;
    }
  };
  const auto sendOne = [&](std::uint64_t i) {
    fillPattern(send_->slot(i), kSmallBytes, seed(true, round, i));
    void* request = nullptr;
    while ((request = net_.isend(send_->comm, send_->slot(i), kSmallBytes, kTag, send_->region,
                                 nullptr)) == nullptr)
      wait();
    return request;
  };
  const auto finish = [&](void* request) {
    for (;;) {
      if (const auto bytes = net_.test(request)) {
        patience.moved();
        return *bytes;
      }
      wait();
    }
  };
  const auto receiveOne = [&](std::uint64_t i) {
    while (receive_->posted <= i) {
      postReceives();
      if (receive_->posted <= i) wait();
    }
    const std::size_t got = finish(receive_->request(i));
    if (got != kSmallBytes)
      wrong(round, i, fmt::format("{} bytes came instead of {}", got, kSmallBytes));
    else if (firstDifference(receive_->slot(i), 0, kSmallBytes, seed(false, round, i)))
      wrong(round, i, "it is not the message that was sent");
    ++receive_->done;
    ++traffic_.receivedMessages;
    traffic_.receivedBytes += got;
  };
  std::vector<double> halves;
  for (std::uint64_t i = 0; i < round.count; ++i) {
    postReceives();
    const auto begun = Clock::now();
    if (!connecting_) receiveOne(i);
    void* const sent = sendOne(i);
    if (connecting_) receiveOne(i);
    if (connecting_)
      halves.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / 2);
    finish(sent);
    ++traffic_.sentMessages;
    traffic_.sentBytes += kSmallBytes;
  }
  return halves;
}

void Link::close() {
  for (Lane* lane : {send_.get(), receive_.get()})
    if (lane->region != nullptr) net_.deregister(lane->comm, lane->region);
  net_.closeSend(send_->comm);
  net_.closeRecv(receive_->comm);
  net_.closeListen(listen_);
  closed_ = true;
}

std::string handshakeAddress(const ListenHandle& handle) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  sockaddr_in6 six{};
  std::memcpy(&six, handle.data(), sizeof six);
  if (six.sin6_family == AF_INET6 &&
      ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size()) != nullptr)
    return fmt::format("[{}]:{}", text.data(), ntohs(six.sin6_port));
  sockaddr_in four{};
  std::memcpy(&four, handle.data(), sizeof four);
  if (four.sin_family == AF_INET &&
      ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size()) != nullptr)
    return fmt::format("{}:{}", text.data(), ntohs(four.sin_port));
  return "";
}

}  // namespace rdmaguard::nccl
