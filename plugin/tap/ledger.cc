// The ledger's cold half: opens, closes, registrations, failures. See ledger.h.
#include "plugin/tap/ledger.h"

#include <time.h>

#include <cstring>

namespace rdmaguard::tap {

constinit Ledger ledger{};

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::uint64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void stampOnce(Word<std::uint64_t>& stamp, std::uint64_t now) {
  std::uint64_t none = 0;
  stamp.compare_exchange_strong(none, now, kRelaxed);
}

}  // namespace

void Ledger::onBroken(Place place, const void* request, int result) {
  Requests::Cell* cell = nullptr;
  std::uint64_t state = 0;
  if (Connection* connection = findActive(request, cell, state)) {
    connection->failures.fetch_add(1, kRelaxed);
  }
  onCall(place, Call::Test, result);
}

void Ledger::onRefused(Place place, Call call, const void* comm, int result) {
  ConnectionId id = 0;
  if (Connection* connection = find(comm, id)) connection->failures.fetch_add(1, kRelaxed);
  onCall(place, call, result);
}

bool Ledger::putRequest(const void* request, ConnectionId id, std::uint16_t note) {
  const bool put = requests_.put(reinterpret_cast<std::uintptr_t>(request), id, note,
                                 [this](ConnectionId other) { return stale(other); });
  if (!put) untrackedRequests.fetch_add(1, kRelaxed);
  return put;
}

void Ledger::onCall(Place place, Call call, int result) {
  NetCalls& net = calls[place];
  const auto index = static_cast<std::size_t>(call);
  if (result == 0) {
    net.succeeded[index].fetch_add(1, kRelaxed);
    return;
  }
  net.failed[index].fetch_add(1, kRelaxed);
  net.lastFailure.store(
      (static_cast<std::uint64_t>(call) << 32) | static_cast<std::uint32_t>(result), kRelaxed);
  changes.fetch_add(1, std::memory_order_release);
}

void Ledger::onDevices(Place place, int count, int result) {
  if (result == 0) calls[place].devicesPlusTwo.store(count + 2, kRelaxed);
  onCall(place, Call::Devices, result);
  changes.fetch_add(1, std::memory_order_release);
}

void Ledger::onProperties(Place place, int device, const DeviceCard& card) {
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) return;
  noteDevice(place, device);
  cards[place][static_cast<std::size_t>(device)].store(card);
}

void Ledger::onContext(Place place, const void* context, std::uint64_t commId) {
  for (Context& entry : contexts_[place]) {
    if (entry.context.load(kRelaxed) == context) {
      entry.commId.store(commId, std::memory_order_release);
      return;
    }
  }
  for (Context& entry : contexts_[place]) {
    const void* none = nullptr;
    if (entry.context.load(kRelaxed) != nullptr ||
        !entry.context.compare_exchange_strong(none, context, kRelaxed)) {
      continue;
    }
    entry.commId.store(commId, std::memory_order_release);
    return;
  }
}

void Ledger::onContextGone(Place place, const void* context) {
  if (context == nullptr) return;
  for (Context& entry : contexts_[place]) {
    if (entry.context.load(kRelaxed) != context) continue;
    entry.commId.store(0, kRelaxed);
    entry.context.store(nullptr, std::memory_order_release);
  }
}

std::uint64_t Ledger::commIdOf(Place place, const void* context) const {
  if (context == nullptr) return 0;
  for (const Context& entry : contexts_[place]) {
    if (entry.context.load(kRelaxed) == context) {
      return entry.commId.load(std::memory_order_acquire);
    }
  }
  return 0;
}

void Ledger::noteDevice(Place place, int device) {
  const auto bound = static_cast<std::uint32_t>(device) + 1;
  std::uint32_t seen = devicesSeen[place].load(kRelaxed);
  while (seen < bound &&
         !devicesSeen[place].compare_exchange_strong(seen, bound, std::memory_order_release)) {
  }
}

Connection* Ledger::allocate(std::uint32_t& index) {
  for (std::size_t word = 0; word < used_.size(); ++word) {
    std::uint64_t bits = used_[word].load(kRelaxed);
    while (bits != ~std::uint64_t{0}) {
      const auto bit = static_cast<unsigned>(std::countr_one(bits));
      if (used_[word].compare_exchange_strong(bits, bits | (std::uint64_t{1} << bit),
                                              std::memory_order_acq_rel)) {
        index = static_cast<std::uint32_t>(word * 64 + bit);
        return &connections[index];
      }
    }
  }
  return nullptr;
}

void Ledger::onOpen(Place place, Role role, const void* comm, int device, std::uint64_t commId,
                    const void* handle) {
  const std::uint64_t now = nowNs();
  NetCalls& net = calls[place];
  stampOnce(role == Role::Listen ? net.firstListenNs
            : role == Role::Send ? net.firstConnectNs
                                 : net.firstAcceptNs,
            now);
  changes.fetch_add(1, std::memory_order_release);
  // An address that NCCL is given anew cannot still be the old comm: its close went unseen.
  ConnectionId old = 0;
  if (find(comm, old) != nullptr) close(comm, old);

  std::uint32_t index = 0;
  Connection* connection = nullptr;
  if (device >= 0 && static_cast<std::size_t>(device) < kMaxDevices) connection = allocate(index);
  if (connection == nullptr) {
    untrackedConnections.fetch_add(1, kRelaxed);
    return;
  }
  noteDevice(place, device);
  connection->device.store(static_cast<std::uint16_t>(device), kRelaxed);
  connection->place.store(static_cast<std::uint8_t>(place), kRelaxed);
  connection->role.store(static_cast<std::uint8_t>(role), kRelaxed);
  for (auto* counter : {&connection->bytes, &connection->started, &connection->completed,
                        &connection->unsized, &connection->failures}) {
    counter->store(0, kRelaxed);
  }
  for (auto& count : connection->registrations) count.store(0, kRelaxed);
  connection->commId.store(commId, kRelaxed);
  connection->openedNs.store(now, kRelaxed);
  std::array<std::uint64_t, 4> peer{};
  if (handle != nullptr) std::memcpy(peer.data(), handle, 28);  // sizeof(sockaddr_in6)
  for (std::size_t i = 0; i < peer.size(); ++i) connection->peer[i].store(peer[i], kRelaxed);
  const std::uint32_t generation = connection->generation.load(kRelaxed) + 1;
  connection->generation.store(generation, std::memory_order_release);

  const ConnectionId id = connectionId(index, generation);
  if (!comms_.put(reinterpret_cast<std::uintptr_t>(comm), id, 0,
                  [this](ConnectionId other) { return stale(other); })) {
    release(id);
    untrackedConnections.fetch_add(1, kRelaxed);
    return;
  }
  totals[place][static_cast<std::size_t>(device)].opened[static_cast<std::size_t>(role)].fetch_add(
      1, kRelaxed);
}

void Ledger::onClose(const void* comm) {
  ConnectionId id = 0;
  if (find(comm, id) == nullptr) return;
  close(comm, id);
  changes.fetch_add(1, std::memory_order_release);
}

void Ledger::close(const void* comm, ConnectionId id) {
  if (Comms::Cell* cell = comms_.find(reinterpret_cast<std::uintptr_t>(comm))) {
    cell->state.store(0, std::memory_order_release);
  }
  release(id);
}

void Ledger::release(ConnectionId id) {
  Connection& connection = connections[indexOf(id)];
  DeviceTotals& total = totals[connection.place.load(kRelaxed)][connection.device.load(kRelaxed)];
  const auto role = static_cast<Role>(connection.role.load(kRelaxed));
  closesBegun.fetch_add(1, std::memory_order_acq_rel);
  const auto fold = [](Word<std::uint64_t>& into, const Word<std::uint64_t>& from) {
    into.fetch_add(from.load(kRelaxed), std::memory_order_release);
  };
  fold(role == Role::Receive ? total.bytesReceived : total.bytesSent, connection.bytes);
  fold(role == Role::Receive ? total.receives : total.sends, connection.started);
  fold(total.completed, connection.completed);
  fold(total.unsized, connection.unsized);
  fold(total.failures, connection.failures);
  for (std::size_t kind = 0; kind < kRegistrationKinds; ++kind) {
    total.registrations[kind].fetch_add(connection.registrations[kind].load(kRelaxed),
                                        std::memory_order_release);
  }
  connection.generation.store(generationOf(id) + 1, std::memory_order_release);
  closesEnded.fetch_add(1, std::memory_order_acq_rel);
  used_[indexOf(id) / 64].fetch_and(~(std::uint64_t{1} << (indexOf(id) % 64)),
                                    std::memory_order_acq_rel);
}

void Ledger::onRegister(const void* comm, Registration kind) {
  ConnectionId id = 0;
  Connection* connection = find(comm, id);
  if (connection == nullptr) return;
  const auto index = static_cast<std::size_t>(kind);
  if (connection->registrations[index].fetch_add(1, kRelaxed) == 0) {
    changes.fetch_add(1, std::memory_order_release);
  }
}

bool Ledger::listenOf(const void* comm, int& device, std::uint64_t& commId) const {
  ConnectionId id = 0;
  const Connection* connection = find(comm, id);
  if (connection == nullptr) return false;
  device = connection->device.load(kRelaxed);
  commId = connection->commId.load(kRelaxed);
  return true;
}

}  // namespace rdmaguard::tap
