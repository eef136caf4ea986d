// A lock-free map from an address NCCL hands us (a comm, a request) to the connection it belongs
// to. Used by the ledger (ledger.h) only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plugin/tap/word.h"

namespace rdmaguard::tap {

/// Which connection record, and which of its lives: the index in the upper 16 bits of 48, the
/// record's generation in the lower 32.
using ConnectionId = std::uint64_t;

constexpr ConnectionId connectionId(std::uint32_t index, std::uint32_t generation) {
  return (static_cast<ConnectionId>(index) << 32) | generation;
}
constexpr std::uint32_t indexOf(ConnectionId id) {
  return static_cast<std::uint32_t>(id >> 32);
}
constexpr std::uint32_t generationOf(ConnectionId id) {
  return static_cast<std::uint32_t>(id);
}

/// Open addressing over a fixed array that is all zero at the start (.bss, touched where used).
///
/// An entry is never removed: it is stale once its connection's generation has moved on, and then
/// another key may take its cell. So closing a connection costs nothing here, and a chain of
/// probes never breaks. Each cell has one owner, the thread that drives its connection; only
/// taking over a stale cell needs a compare-and-swap, on `state`, before the key is written:
/// whoever still meets the old key sees a state that is not its own.
template <unsigned kBits, class Hash>
class PointerTable {
 public:
  /// `state` is the connection's id << 16 | 16 bits of the caller's.
  struct Cell {
    Word<std::uintptr_t> key;
    Word<std::uint64_t> state;
  };

  static constexpr ConnectionId ownerOf(std::uint64_t state) { return state >> 16; }
  static constexpr std::uint64_t stateOf(ConnectionId owner, std::uint16_t note) {
    return (owner << 16) | note;
  }

  /// The cell that carries `key`, nullptr if none does. Loads only.
  [[gnu::always_inline]] Cell* find(std::uintptr_t key) {
    Cell& first = cells_[Hash::of(key)];
    if (first.key.load(std::memory_order_relaxed) == key) [[likely]] {
      return &first;
    }
    return findFurther(key);
  }

  /// Gives `key` to `owner`. Returns false where every cell in reach belongs to a live connection.
  /// `stale(id)` tells whether a connection id is of the past.
  template <class Stale>
  bool put(std::uintptr_t key, ConnectionId owner, std::uint16_t note, const Stale& stale) {
    // A second round where another thread took the chosen cell first.
    for (int round = 0; round < 4; ++round) {
      Cell* free = nullptr;
      std::uint64_t freeState = 0;
      std::size_t at = Hash::of(key);
      for (unsigned probe = 0; probe < kProbes; ++probe, ++at) {
        Cell& cell = cells_[at & kMask];
        std::uint64_t state = cell.state.load(std::memory_order_acquire);
        const std::uintptr_t found = cell.key.load(std::memory_order_relaxed);
        const bool usable = ownerOf(state) == owner || stale(ownerOf(state));
        if (found == key && usable &&
            cell.state.compare_exchange_strong(state, stateOf(owner, note),
                                               std::memory_order_acq_rel)) {
          return true;
        }
        if (free == nullptr && usable && ownerOf(state) != owner) {
          free = &cell;
          freeState = state;
        }
        if (found == 0) break;
      }
      if (free == nullptr) return false;
      if (free->state.compare_exchange_strong(freeState, stateOf(owner, 0),
                                              std::memory_order_acq_rel)) {
        free->key.store(key, std::memory_order_relaxed);
        free->state.store(stateOf(owner, note), std::memory_order_release);
        return true;
      }
    }
    return false;
  }

 private:
  [[gnu::noinline]] Cell* findFurther(std::uintptr_t key) {
    std::size_t at = Hash::of(key);
    for (unsigned probe = 0; probe < kProbes; ++probe, ++at) {
      Cell& cell = cells_[at & kMask];
      const std::uintptr_t found = cell.key.load(std::memory_order_relaxed);
      if (found == key) return &cell;
      if (found == 0) return nullptr;
    }
    return nullptr;
  }

  static constexpr std::size_t kMask = (std::size_t{1} << kBits) - 1;
  static constexpr unsigned kProbes = 48;
  std::array<Cell, kMask + 1> cells_;
};

/// For comms: separate heap blocks, some of them page-aligned.
template <unsigned kBits>
struct SpreadHash {
  static constexpr std::size_t of(std::uintptr_t key) {
    return ((key >> 4) * 0x9e3779b97f4a7c15ULL) >> (64 - kBits);
  }
};

/// For requests: arrays inside a comm. Requests of one page stay together in the table, in a run
/// of 64 cells (1 kB), so that a connection's requests share a few cache lines and pages.
template <unsigned kBits>
struct RunHash {
  static constexpr std::size_t of(std::uintptr_t key) {
    const std::uint64_t run = ((key >> 12) * 0x9e3779b97f4a7c15ULL) >> (64 - (kBits - 6));
    return (run << 6) | ((key >> 6) & 63);
  }
};

}  // namespace rdmaguard::tap
