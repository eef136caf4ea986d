// Turns the ledger into values. See snapshot.h.
#include "plugin/tap/snapshot.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <time.h>

#include <cstring>

#include "plugin/tap/instances.h"
#include "plugin/tap/ledger.h"

namespace rdmaguard::tap {
namespace {

// Acquire everywhere: a counter that a close has moved to the totals is met together with the
// close's own count, so that a torn reading is noticed.
constexpr auto kOrder = std::memory_order_acquire;
constexpr int kAttempts = 8;

Traffic trafficOf(const Connection& connection, Role role) {
  Traffic traffic;
  const std::uint64_t completed = connection.completed.load(kOrder);
  const std::uint64_t started = connection.started.load(kOrder);
  if (role == Role::Receive) {
    traffic.bytesReceived = connection.bytes.load(kOrder);
    traffic.receives = started;
  } else {
    traffic.bytesSent = connection.bytes.load(kOrder);
    traffic.sends = started;
  }
  traffic.completed = completed;
  traffic.inFlight = started > completed ? started - completed : 0;
  traffic.unsized = connection.unsized.load(kOrder);
  traffic.failures = connection.failures.load(kOrder);
  for (std::size_t i = 0; i < kRegistrationKinds; ++i) {
    traffic.registrations[i] = connection.registrations[i].load(kOrder);
  }
  return traffic;
}

Traffic trafficOf(const DeviceTotals& totals) {
  Traffic traffic;
  traffic.bytesSent = totals.bytesSent.load(kOrder);
  traffic.bytesReceived = totals.bytesReceived.load(kOrder);
  traffic.sends = totals.sends.load(kOrder);
  traffic.receives = totals.receives.load(kOrder);
  traffic.completed = totals.completed.load(kOrder);
  traffic.unsized = totals.unsized.load(kOrder);
  traffic.failures = totals.failures.load(kOrder);
  for (std::size_t i = 0; i < kRegistrationKinds; ++i) {
    traffic.registrations[i] = totals.registrations[i].load(kOrder);
  }
  return traffic;
}

std::vector<ConnectionView> openConnections() {
  std::vector<ConnectionView> open;
  ledger.forEachRecord([&open](const Connection& connection) {
    const std::uint32_t generation = connection.generation.load(kOrder);
    if ((generation & 1) == 0) return;
    const unsigned place = connection.place.load(kOrder);
    ConnectionView view;
    view.instance = place / 2;
    view.net = static_cast<Net>(place % 2);
    view.role = static_cast<Role>(connection.role.load(kOrder));
    view.device = connection.device.load(kOrder);
    view.commId = connection.commId.load(kOrder);
    view.openedNs = connection.openedNs.load(kOrder);
    std::array<std::uint64_t, 4> peer;
    for (std::size_t i = 0; i < peer.size(); ++i) peer[i] = connection.peer[i].load(kOrder);
    view.peer = peerText(peer.data());
    view.traffic = trafficOf(connection, view.role);
    // Closed, or reused, while it was read: its totals or its new life count elsewhere.
    if (connection.generation.load(kOrder) == generation) open.push_back(std::move(view));
  });
  return open;
}

NetView netView(Place place, const std::vector<ConnectionView>& open) {
  NetView view;
  view.net = static_cast<Net>(place % 2);
  const NetCalls& calls = ledger.calls[place];
  for (std::size_t i = 0; i < kCalls; ++i) {
    view.succeeded[i] = calls.succeeded[i].load(kOrder);
    view.failed[i] = calls.failed[i].load(kOrder);
  }
  const std::uint64_t failure = calls.lastFailure.load(kOrder);
  if (const auto result = static_cast<std::int32_t>(failure); result != 0) {
    view.lastFailedCall = static_cast<Call>(failure >> 32);
    view.lastFailure = result;
  }
  if (const auto answer = calls.devicesPlusTwo.load(kOrder); answer != 0) {
    view.lastDevices = static_cast<int>(answer - 2);
  }
  view.firstListenNs = calls.firstListenNs.load(kOrder);
  view.firstConnectNs = calls.firstConnectNs.load(kOrder);
  view.firstAcceptNs = calls.firstAcceptNs.load(kOrder);

  const std::size_t devices = ledger.devicesSeen[place].load(kOrder);
  for (std::size_t index = 0; index < devices; ++index) {
    DeviceView device;
    device.info.index = static_cast<int>(index);
    if (const auto card = ledger.cards[place][index].load()) {
      device.known = true;
      device.info = infoOf(static_cast<int>(index), *card);
    }
    const DeviceTotals& totals = ledger.totals[place][index];
    std::uint64_t opened = 0;
    for (std::size_t role = 0; role < kRoles; ++role) {
      device.opened[role] = totals.opened[role].load(kOrder);
      opened += device.opened[role];
    }
    if (!device.known && opened == 0) continue;
    device.traffic = trafficOf(totals);
    for (const ConnectionView& connection : open) {
      if (placeOf(connection.instance, connection.net) != place ||
          connection.device != static_cast<int>(index)) {
        continue;
      }
      device.traffic += connection.traffic;
      ++device.open[static_cast<std::size_t>(connection.role)];
    }
    view.traffic += device.traffic;
    view.devices.push_back(std::move(device));
  }
  return view;
}

Snapshot read() {
  Snapshot result;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  result.takenNs = static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
                   static_cast<std::uint64_t>(now.tv_nsec);
  result.changes = ledger.changes.load(kOrder);
  result.connections = openConnections();
  const Instances& all = instances();
  const std::size_t count = all.count.load(kOrder);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<unsigned>(i);
    result.instances.push_back({all.list[i].path, all.list[i].version, all.list[i].netAbi,
                                netView(placeOf(index, Net::IB), result.connections),
                                netView(placeOf(index, Net::Socket), result.connections)});
  }
  result.untrackedConnections = ledger.untrackedConnections.load(kOrder);
  result.untrackedRequests = ledger.untrackedRequests.load(kOrder);
  result.untrackedOperations = ledger.untrackedOperations.load(kOrder);
  return result;
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  bytesSent += other.bytesSent;
  bytesReceived += other.bytesReceived;
  sends += other.sends;
  receives += other.receives;
  completed += other.completed;
  unsized += other.unsized;
  inFlight += other.inFlight;
  failures += other.failures;
  for (std::size_t i = 0; i < kRegistrationKinds; ++i) registrations[i] += other.registrations[i];
  return *this;
}

DeviceInfo infoOf(int index, const DeviceCard& card) {
  DeviceInfo info;
  info.index = index;
  info.name = card.name;
  info.pciPath = card.pciPath;
  info.guid = card.guid;
  info.ptrSupport = card.ptrSupport;
  info.speedMbps = card.speedMbps;
  info.port = card.port;
  info.members.assign(card.member, card.member + card.members);
  return info;
}

std::string peerText(const void* bytes) {
  sa_family_t family = AF_UNSPEC;
  std::memcpy(&family, bytes, sizeof family);
  char text[INET6_ADDRSTRLEN] = "";
  if (family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, bytes, sizeof address);
    if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == nullptr) return {};
    return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
  }
  if (family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, bytes, sizeof address);
    if (inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text) == nullptr) return {};
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(address.sin6_port));
  }
  return {};
}

Snapshot snapshot() {
  Snapshot result;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t ended = ledger.closesEnded.load(kOrder);
    const std::uint64_t begun = ledger.closesBegun.load(kOrder);
    result = read();
    result.consistent = ended == begun && ledger.closesBegun.load(kOrder) == begun;
    if (result.consistent) break;
  }
  return result;
}

}  // namespace rdmaguard::tap
