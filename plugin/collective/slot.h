// One collective while it runs: a cache line in its communicator's ring. Written by the launching
// thread and by the thread that delivers the children, read by drain.
//
// `word` decides everything: whose the slot is (ring position), its state and how many children
// are still awaited, so that one compare-and-swap both checks and counts, and a child that comes
// after the slot has a new owner cannot touch it. The other fields are published by the store that
// makes the word Active (release) and read after loading it (acquire); the times are written by
// one thread at a time, NCCL's proxy or profiler thread of the communicator, and published by the
// child's stop.
#pragma once

#include <atomic>
#include <cstdint>

namespace rdmaguard::collective {

enum class SlotState : std::uint8_t {
  Free,     ///< nobody's
  Writing,  ///< claimed on the slow path, not published yet
  Active,   ///< children may come
  Done,     ///< finished, waiting for drain
};

/// The word of a slot, taken apart.
///   [63:34] position  [33:31] state  [30] tracked  [29] sealed  [28:16] open  [15:0] remaining
namespace word {
inline constexpr std::uint64_t kOpenOne = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kOpenMax = 0x1fff;
inline constexpr std::uint64_t kSealed = std::uint64_t{1} << 29;
/// Opened children are counted too: how many will come is not known, or not known for sure.
inline constexpr std::uint64_t kTracked = std::uint64_t{1} << 30;
/// Value of `remaining` when the number of children is unknown.
inline constexpr std::uint64_t kUnbounded = 0xffff;

constexpr std::uint64_t position(std::uint64_t w) {
  return w >> 34;
}
constexpr SlotState state(std::uint64_t w) {
  return static_cast<SlotState>(w >> 31 & 7);
}
constexpr std::uint64_t open(std::uint64_t w) {
  return w >> 16 & kOpenMax;
}
constexpr std::uint64_t remaining(std::uint64_t w) {
  return w & 0xffff;
}
constexpr std::uint64_t make(std::uint64_t position, SlotState state) {
  return position << 34 | std::uint64_t{static_cast<std::uint8_t>(state)} << 31;
}
constexpr std::uint64_t with(std::uint64_t w, SlotState state) {
  return (w & ~(std::uint64_t{7} << 31)) | std::uint64_t{static_cast<std::uint8_t>(state)} << 31;
}
/// Position and state in one comparison.
constexpr bool is(std::uint64_t w, std::uint64_t position, SlotState state) {
  return w >> 31 == (position << 3 | static_cast<std::uint8_t>(state));
}
/// Whether the owner of `position` has not published yet: an earlier owner's word is still there,
/// or it was claimed for this one.
constexpr bool unpublished(std::uint64_t w, std::uint64_t position) {
  const std::uint64_t behind = (position - word::position(w)) & ((std::uint64_t{1} << 30) - 1);
  return (behind != 0 && behind < std::uint64_t{1} << 29) || is(w, position, SlotState::Writing);
}
constexpr bool complete(std::uint64_t w) {
  return remaining(w) == 0 && (w & kSealed) != 0 && open(w) == 0;
}
}  // namespace word

/// What the launch knew, in one 64-bit field.
///   [15:0] flags  [23:16] data type  [31:24] channels
///   Coll: [39:32] operation  [47:40] algorithm  [55:48] protocol  [63:56] operation of its API
///   call P2P batch: [47:32] sends  [63:48] receives (both stop at 65535)
namespace codes {
inline constexpr std::uint64_t kP2p = 1;          ///< a batch of sends and receives
inline constexpr std::uint64_t kGraph = 2;        ///< launched by a CUDA graph
inline constexpr std::uint64_t kFromApi = 4;      ///< answers a counted CollApi
inline constexpr std::uint64_t kSymmetric = 8;    ///< symmetric-memory kernel
inline constexpr std::uint64_t kSharedPlan = 16;  ///< others share its kernel: no time of its own
inline constexpr std::uint64_t kNoSize = 32;      ///< a data type's size was unknown
inline constexpr std::uint64_t kUnequal = 64;     ///< batch: calls of different size

constexpr std::uint64_t flags(std::uint64_t c) {
  return c & 0xffff;
}
constexpr std::uint8_t datatype(std::uint64_t c) {
  return static_cast<std::uint8_t>(c >> 16);
}
constexpr std::uint8_t channels(std::uint64_t c) {
  return static_cast<std::uint8_t>(c >> 24);
}
constexpr std::uint8_t operation(std::uint64_t c) {
  return static_cast<std::uint8_t>(c >> 32);
}
constexpr std::uint8_t algorithm(std::uint64_t c) {
  return static_cast<std::uint8_t>(c >> 40);
}
constexpr std::uint8_t protocol(std::uint64_t c) {
  return static_cast<std::uint8_t>(c >> 48);
}
/// With kFromApi only.
constexpr std::uint8_t apiOperation(std::uint64_t c) {
  return static_cast<std::uint8_t>(c >> 56);
}
constexpr unsigned sends(std::uint64_t c) {
  return static_cast<unsigned>(c >> 32 & 0xffff);
}
constexpr unsigned receives(std::uint64_t c) {
  return static_cast<unsigned>(c >> 48);
}
}  // namespace codes

struct alignas(64) Slot {
  using Field = std::atomic<std::uint64_t>;
  Field word;
  Field startNs;   ///< least start of a child; kNoStart before the first
  Field stopNs;    ///< greatest stop of a child; 0 before the first
  Field bytes;     ///< per rank as NCCL counts; batch: sent
  Field received;  ///< batch only
  Field sequence;  ///< NCCL's number; batch: bytes of its first call
  Field codes;
  /// Batch: sum of peerMark() over the calls. A Coll in its group's slot: position + 1 of the batch
  /// of the same group, 0 when there is none (a plan rarely holds both).
  Field peers;
  static constexpr std::uint64_t kNoStart = ~std::uint64_t{0};
};
static_assert(sizeof(Slot) == 64);
static_assert(Slot::Field::is_always_lock_free);

/// A peer's share of Slot::peers: sums over all ranks can be compared, whatever the order.
constexpr std::uint64_t peerMark(std::uint64_t peer, bool send) {
  std::uint64_t z = (peer * 2 + (send ? 1 : 0) + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace rdmaguard::collective
