// A ring all-reduce (sum of float32, in place) on host memory: reduce-scatter, then all-gather,
// cut into pieces that are in flight together, as NCCL's proxy moves its slices.
// Owned and run by the progress thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "wire.h"

namespace rdmaguard::job {

/// Told of each step of a ring, on the progress thread.
class RingObserver {
 public:
  virtual ~RingObserver() = default;
  virtual void channelStarted(int channel, int transfers, int pieceBytes) = 0;
  virtual void posted(int channel, bool isSend, int index) = 0;
  virtual void transferred(int channel, bool isSend, int index, std::size_t bytes) = 0;
  virtual void channelDone(int channel) = 0;
};

struct RingShape {
  int rank = 0;
  int ranks = 1;
  std::size_t count = 0;  ///< elements
  std::size_t pieceBytes = 512 << 10;
};

class Ring {
 public:
  /// `data` and `scratch` hold `shape.count` elements each and are registered with `wires`, one
  /// wire a channel.
  Ring(const RingShape& shape, float* data, float* scratch,
       std::vector<std::unique_ptr<Wire>>& wires);

  /// One all-reduce, from start to end; returns when this rank's part is complete.
  void run(RingObserver& observer);

  std::uint64_t bytesSent() const { return sent_; }
  std::uint64_t bytesReceived() const { return received_; }

 private:
  struct Piece {
    std::size_t offset = 0;
    std::size_t count = 0;
  };
  struct Flight {
    void* request = nullptr;  ///< null: an empty piece, nothing was sent
    Piece piece;
  };
  struct Channel {
    int index = 0;
    std::size_t begin = 0;
    std::size_t count = 0;
    int pieces = 0;  ///< a chunk is cut into
    int total = 0;   ///< transfers each way
    int sendPosted = 0, sendDone = 0, receivePosted = 0, receiveDone = 0;
    std::deque<Flight> sends, receives;
  };

  Piece piece(const Channel& channel, int transfer, bool isSend) const;
  void progress(Channel& channel, RingObserver& observer);
  bool post(Channel& channel, bool isSend, RingObserver& observer);
  void complete(Channel& channel, bool isSend, RingObserver& observer);

  RingShape shape_;
  float* data_;
  float* scratch_;
  std::vector<std::unique_ptr<Wire>>& wires_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace rdmaguard::job
