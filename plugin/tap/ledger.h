// What the tap knows: connections, requests, devices, calls. Written on NCCL's threads by the slots
// (slots.h), read by snapshot.cc. Fixed memory in .bss; no lock and no allocation anywhere here, no
// read-modify-write on the data path (isend, irecv, test).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "plugin/tap/pointer_table.h"
#include "plugin/tap/seqlock.h"
#include "plugin/tap/vocabulary.h"
#include "plugin/tap/word.h"

namespace rdmaguard::tap {

inline constexpr std::size_t kMaxInstances = 2;       ///< NCCLs tapped in one process
inline constexpr std::size_t kMaxConnections = 8192;  ///< open listens, sends and receives
inline constexpr std::size_t kMaxDevices = 256;       ///< IB allows 32 HCAs and 256 merged devices
inline constexpr std::size_t kMaxContexts = 512;      ///< net contexts of live communicators (v11+)

/// One net of one NCCL: instance * 2 + net.
using Place = unsigned;
inline constexpr std::size_t kPlaces = kMaxInstances * 2;
constexpr Place placeOf(unsigned instance, Net net) {
  return instance * 2 + static_cast<unsigned>(net);
}

/// An open listen, send or receive comm. Odd generation: in use. The identity is written before
/// the generation turns odd; the counters of the first cache line only by the thread that drives
/// the comm; the rest by NCCL's proxy service thread.
struct alignas(64) Connection {
  Word<std::uint32_t> generation;
  Word<std::uint16_t> device;
  Word<std::uint8_t> place;
  Word<std::uint8_t> role;
  Word<std::uint64_t> bytes;      ///< sent, or received, by role
  Word<std::uint64_t> started;    ///< sends or receives the transport accepted
  Word<std::uint64_t> completed;  ///< of those, done
  Word<std::uint64_t> unsized;    ///< receives done whose size nobody told
  Word<std::uint64_t> failures;

  alignas(64) Word<std::uint64_t> commId;  ///< 0 where not told
  Word<std::uint64_t> openedNs;
  std::array<Word<std::uint64_t>, 4> peer;  ///< sockaddr bytes of connect's handle
  std::array<Word<std::uint32_t>, kRegistrationKinds> registrations;
};

/// What closed connections of a device left behind.
struct DeviceTotals {
  Word<std::uint64_t> bytesSent, bytesReceived, sends, receives, completed, unsized, failures;
  std::array<Word<std::uint64_t>, kRegistrationKinds> registrations;
  std::array<Word<std::uint64_t>, kRoles> opened;  ///< ever opened, by role
};

/// Properties of a device as the transport gave them.
struct DeviceCard {
  char name[128];
  char pciPath[256];
  std::uint64_t guid;
  std::int32_t ptrSupport;
  std::int32_t speedMbps;
  std::int32_t port;
  std::int32_t members;
  std::int32_t member[8];
};

/// Calls on one net, all communicators together.
struct NetCalls {
  std::array<Word<std::uint64_t>, kCalls> succeeded;
  std::array<Word<std::uint64_t>, kCalls> failed;
  Word<std::uint64_t> lastFailure;  ///< call << 32 | ncclResult_t; result 0: none yet
  Word<std::uint64_t> firstListenNs, firstConnectNs, firstAcceptNs;
  Word<std::int64_t> devicesPlusTwo;  ///< last answer of devices() + 2; 0: not asked yet
};

class Ledger {
 public:
  // ---- data path: the thread that drives the comm or request ----

  /// After isend: `request` is what the transport left in *request.
  void onSend(Place place, const void* comm, std::uint64_t size, const void* request, int result);
  /// After irecv of `n` buffers, at most 255; 0 where test will not be able to tell their sizes.
  void onReceive(Place place, const void* comm, unsigned n, const void* request, int result);
  /// After test said done. `sizes` may be null.
  void onDone(const void* request, const int* sizes);
  /// After test failed.
  void onBroken(Place place, const void* request, int result);

  // ---- set-up and tear-down: init and proxy service threads ----

  void onCall(Place place, Call call, int result);
  void onDevices(Place place, int count, int result);
  void onProperties(Place place, int device, const DeviceCard& card);
  /// Init made `context` for the communicator `commId`; its splits share it.
  void onContext(Place place, const void* context, std::uint64_t commId);
  void onContextGone(Place place, const void* context);
  /// A comm came into being. `handle` (28 bytes, the peer's sockaddr) only for a connect.
  void onOpen(Place place, Role role, const void* comm, int device, std::uint64_t commId,
              const void* handle);
  /// A comm is about to go; called before the transport frees it, or its address could come back.
  void onClose(const void* comm);
  void onRegister(const void* comm, Registration kind);

  /// Device and communicator of a listen comm, for accept. False where it is not known.
  bool listenOf(const void* comm, int& device, std::uint64_t& commId) const;
  std::uint64_t commIdOf(Place place, const void* context) const;

  // ---- read by snapshot.cc ----

  /// Calls `visit(connection)` for every record that may be in use.
  template <class Visit>
  void forEachRecord(const Visit& visit) const;

  std::array<Connection, kMaxConnections> connections;
  std::array<std::array<DeviceTotals, kMaxDevices>, kPlaces> totals;
  std::array<std::array<Seqlock<DeviceCard>, kMaxDevices>, kPlaces> cards;
  std::array<NetCalls, kPlaces> calls;
  std::array<Word<std::uint32_t>, kPlaces> devicesSeen;  ///< highest index met + 1
  Word<std::uint64_t> untrackedConnections;
  Word<std::uint64_t> untrackedRequests;
  Word<std::uint64_t> untrackedOperations;
  /// Rises with every open, close, first registration of a kind and failure.
  Word<std::uint64_t> changes;
  /// Closes begun and ended: equal and unchanged around a reading, no connection moved to totals.
  Word<std::uint64_t> closesBegun, closesEnded;

 private:
  static constexpr unsigned kCommBits = 15;
  static constexpr unsigned kRequestBits = 18;
  using Comms = PointerTable<kCommBits, SpreadHash<kCommBits>>;
  using Requests = PointerTable<kRequestBits, RunHash<kRequestBits>>;

  // The note of a request's cell; 0 where the request is idle.
  static constexpr std::uint16_t kActive = 1;
  static constexpr std::uint16_t kReceive = 2;
  static constexpr unsigned kCountShift = 8;  // above: buffers of a receive with sizes to come

  // NCCL marks a request it does not want to hear of with small values (2.24 and later).
  static bool isRequest(const void* request) {
    return reinterpret_cast<std::uintptr_t>(request) > 0xff;
  }
  static void add(Word<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  Connection* find(const void* comm, ConnectionId& id) const;
  Connection* findActive(const void* request, Requests::Cell*& cell, std::uint64_t& state);
  void follow(Connection& connection, ConnectionId id, const void* request, std::uint16_t note);
  bool putRequest(const void* request, ConnectionId id, std::uint16_t note);
  void onRefused(Place place, Call call, const void* comm, int result);
  Connection* allocate(std::uint32_t& index);
  void noteDevice(Place place, int device);
  void close(const void* comm, ConnectionId id);
  void release(ConnectionId id);
  bool stale(ConnectionId id) const {
    const std::uint32_t generation = generationOf(id);
    return (generation & 1) == 0 ||
           connections[indexOf(id)].generation.load(std::memory_order_acquire) != generation;
  }

  mutable Comms comms_;
  Requests requests_;
  struct Context {
    Word<const void*> context;
    Word<std::uint64_t> commId;
  };
  std::array<std::array<Context, kMaxContexts>, kPlaces> contexts_;
  std::array<Word<std::uint64_t>, kMaxConnections / 64> used_;
};

/// The process's ledger: the tap's only state that NCCL's threads touch.
[[gnu::visibility("hidden")]] extern constinit Ledger ledger;

[[gnu::always_inline]] inline Connection* Ledger::find(const void* comm, ConnectionId& id) const {
  const Comms::Cell* cell = comms_.find(reinterpret_cast<std::uintptr_t>(comm));
  if (cell == nullptr) return nullptr;
  id = Comms::ownerOf(cell->state.load(std::memory_order_relaxed));
  if (id == 0) return nullptr;  // closed, and its address in use by a comm that is not followed
  return const_cast<Connection*>(&connections[indexOf(id)]);
}

[[gnu::always_inline]] inline void Ledger::follow(Connection& connection, ConnectionId id,
                                                  const void* request, std::uint16_t note) {
  add(connection.started, 1);
  if (isRequest(request)) {
    Requests::Cell* cell = requests_.find(reinterpret_cast<std::uintptr_t>(request));
    if (cell != nullptr && Requests::ownerOf(cell->state.load(std::memory_order_relaxed)) == id)
        [[likely]] {
      cell->state.store(Requests::stateOf(id, note), std::memory_order_release);
      return;
    }
    if (putRequest(request, id, note)) return;
  }
  // Nobody will tell us when it is done: count it as done now, with what is known.
  add(connection.completed, 1);
  if ((note & kReceive) != 0) add(connection.unsized, 1);
}

[[gnu::always_inline]] inline void Ledger::onSend(Place place, const void* comm, std::uint64_t size,
                                                  const void* request, int result) {
  if (result != 0) [[unlikely]] {
    return onRefused(place, Call::Isend, comm, result);
  }
  if (request == nullptr) return;  // the transport could not start it: NCCL asks again
  ConnectionId id = 0;
  Connection* connection = find(comm, id);
  if (connection == nullptr) [[unlikely]] {
    untrackedOperations.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  add(connection->bytes, size);
  follow(*connection, id, request, kActive);
}

[[gnu::always_inline]] inline void Ledger::onReceive(Place place, const void* comm, unsigned n,
                                                     const void* request, int result) {
  if (result != 0) [[unlikely]] {
    return onRefused(place, Call::Irecv, comm, result);
  }
  if (request == nullptr) return;
  ConnectionId id = 0;
  Connection* connection = find(comm, id);
  if (connection == nullptr) [[unlikely]] {
    untrackedOperations.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  follow(*connection, id, request,
         static_cast<std::uint16_t>(kActive | kReceive | (n << kCountShift)));
}

/// The connection of a request that is on its way; nullptr for an iflush or one not followed.
[[gnu::always_inline]] inline Connection* Ledger::findActive(const void* request,
                                                             Requests::Cell*& cell,
                                                             std::uint64_t& state) {
  const auto key = reinterpret_cast<std::uintptr_t>(request);
  cell = requests_.find(key);
  if (cell == nullptr) return nullptr;
  state = cell->state.load(std::memory_order_acquire);
  // The cell may have gone to another request since: its state is written after its key.
  if ((state & kActive) == 0 || cell->key.load(std::memory_order_relaxed) != key) return nullptr;
  const ConnectionId id = Requests::ownerOf(state);
  Connection& connection = connections[indexOf(id)];
  if (connection.generation.load(std::memory_order_relaxed) != generationOf(id)) return nullptr;
  return &connection;
}

[[gnu::always_inline]] inline void Ledger::onDone(const void* request, const int* sizes) {
  Requests::Cell* cell = nullptr;
  std::uint64_t state = 0;
  Connection* connection = findActive(request, cell, state);
  if (connection == nullptr) return;
  cell->state.store(state & ~std::uint64_t{0xffff}, std::memory_order_release);
  add(connection->completed, 1);
  if ((state & kReceive) == 0) return;
  const unsigned count = (state >> kCountShift) & 0xff;
  if (sizes == nullptr || count == 0) [[unlikely]] {
    add(connection->unsized, 1);
    return;
  }
  std::uint64_t received = static_cast<std::uint32_t>(sizes[0]);
  for (unsigned i = 1; i < count; ++i) received += static_cast<std::uint32_t>(sizes[i]);
  add(connection->bytes, received);
}

template <class Visit>
void Ledger::forEachRecord(const Visit& visit) const {
  for (std::size_t word = 0; word < used_.size(); ++word) {
    for (std::uint64_t bits = used_[word].load(std::memory_order_acquire); bits != 0;
         bits &= bits - 1) {
      visit(connections[word * 64 + static_cast<unsigned>(std::countr_zero(bits))]);
    }
  }
}

}  // namespace rdmaguard::tap
