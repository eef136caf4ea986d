// See ring.h.
#include "ring.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace rdmaguard::job {
namespace {

constexpr int kInFlight = 8;  // NCCL_STEPS: slices NCCL keeps in flight

// Where part `i` of `parts` begins when `count` elements are dealt out evenly.
std::size_t share(std::size_t count, std::size_t i, std::size_t parts) {
  return count / parts * i + std::min(i, count % parts);
}

}  // namespace

Ring::Ring(const RingShape& shape, float* data, float* scratch,
           std::vector<std::unique_ptr<Wire>>& wires)
    : shape_(shape), data_(data), scratch_(scratch), wires_(wires) {}

Ring::Piece Ring::piece(const Channel& channel, int transfer, bool isSend) const {
  const int step = transfer / channel.pieces;
  const int within = transfer % channel.pieces;
  const int n = shape_.ranks;
  // Rank r sends chunk r - step and receives the one before it; in the second half the chunk that
  // is complete on r after the first half is r + 1.
  const int shift = isSend ? 0 : 1;
  const auto chunk = static_cast<std::size_t>(((shape_.rank - step - shift) % n + n) % n);
  const auto parts = static_cast<std::size_t>(n);
  const std::size_t begin = share(channel.count, chunk, parts);
  const std::size_t size = share(channel.count, chunk + 1, parts) - begin;
  const std::size_t most = shape_.pieceBytes / sizeof(float);
  const std::size_t from = std::min(size, most * static_cast<std::size_t>(within));
  return {channel.begin + begin + from, std::min(most, size - from)};
}

bool Ring::post(Channel& channel, bool isSend, RingObserver& observer) {
  int& posted = isSend ? channel.sendPosted : channel.receivePosted;
  auto& flights = isSend ? channel.sends : channel.receives;
  if (posted == channel.total || flights.size() >= kInFlight) return false;
  // A chunk goes on only after the same piece of it came in and was added.
  if (isSend && posted >= channel.pieces && channel.receiveDone <= posted - channel.pieces) {
    return false;
  }
  const Piece p = piece(channel, posted, isSend);
  const bool reducing = posted < channel.pieces * (shape_.ranks - 1);
  float* memory = (isSend || !reducing ? data_ : scratch_) + p.offset;
  void* request = nullptr;
  if (p.count > 0) {
    Wire& wire = *wires_[static_cast<std::size_t>(channel.index)];
    const std::size_t bytes = p.count * sizeof(float);
    request = isSend ? wire.send(memory, bytes, channel.index)
                     : wire.receive(memory, bytes, channel.index);
    if (request == nullptr) return false;
  }
  flights.push_back({request, p});
  observer.posted(channel.index, isSend, posted);
  ++posted;
  return true;
}

void Ring::complete(Channel& channel, bool isSend, RingObserver& observer) {
  auto& flights = isSend ? channel.sends : channel.receives;
  int& done = isSend ? channel.sendDone : channel.receiveDone;
  while (!flights.empty()) {
    const Flight flight = flights.front();
    const std::size_t bytes = flight.piece.count * sizeof(float);
    if (flight.request != nullptr) {
      const auto moved = wires_[static_cast<std::size_t>(channel.index)]->test(flight.request);
      if (!moved) return;
      if (!isSend && *moved != bytes) throw std::runtime_error("a piece came with the wrong size");
    }
    flights.pop_front();
    (isSend ? sent_ : received_) += bytes;
    const bool reducing = done < channel.pieces * (shape_.ranks - 1);
    if (!isSend && reducing) {
      for (std::size_t i = 0; i < flight.piece.count; ++i) {
        data_[flight.piece.offset + i] += scratch_[flight.piece.offset + i];
      }
    }
    observer.transferred(channel.index, isSend, done, bytes);
    ++done;
  }
}

void Ring::progress(Channel& channel, RingObserver& observer) {
  while (post(channel, false, observer)) {
  }
  while (post(channel, true, observer)) {
  }
  complete(channel, false, observer);
  complete(channel, true, observer);
}

void Ring::run(RingObserver& observer) {
  std::vector<Channel> channels(wires_.size());
  const std::size_t most = shape_.pieceBytes / sizeof(float);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    Channel& channel = channels[c];
    channel.index = static_cast<int>(c);
    channel.begin = share(shape_.count, c, channels.size());
    channel.count = share(shape_.count, c + 1, channels.size()) - channel.begin;
    const auto parts = static_cast<std::size_t>(shape_.ranks);
    const std::size_t chunk = (channel.count + parts - 1) / parts;
    channel.pieces = static_cast<int>(std::max<std::size_t>(1, (chunk + most - 1) / most));
    channel.total = channel.pieces * 2 * (shape_.ranks - 1);
    observer.channelStarted(channel.index, channel.total, static_cast<int>(shape_.pieceBytes));
  }
  for (std::size_t left = channels.size(); left > 0;) {
    const std::uint64_t before = sent_ + received_;
    for (Channel& channel : channels) {
      if (channel.total < 0) continue;
      progress(channel, observer);
      if (channel.sendDone < channel.total || channel.receiveDone < channel.total) continue;
      observer.channelDone(channel.index);
      channel.total = -1;
      --left;
    }
    // As NCCL's progress thread does when nothing moved: ranks may share a core.
    if (sent_ + received_ == before) std::this_thread::yield();
  }
}

}  // namespace rdmaguard::job
