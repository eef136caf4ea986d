// A reading of everything the tap has recorded, as plain values. For the report thread and the
// guard; allocates, so never on NCCL's threads in steady state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/tap/vocabulary.h"

namespace rdmaguard::tap {

/// Properties of one device, as the transport told NCCL or us.
struct DeviceInfo {
  int index = -1;
  std::string name;          ///< mlx5_0, or mlx5_0+mlx5_1 for a merged one; eth0 for Socket
  std::string pciPath;       ///< its directory in /sys; empty where the transport gave none
  std::uint64_t guid = 0;    ///< of the chip; equal for the functions of one card
  int ptrSupport = 0;        ///< nccl_abi::kPtr bits
  int speedMbps = 0;         ///< Mbit/s
  int port = 0;              ///< 1-based
  std::vector<int> members;  ///< HCAs behind it (net v9, NCCL 2.24, and later)

  bool operator==(const DeviceInfo&) const = default;
};

/// What went over a connection, a device or a net.
struct Traffic {
  std::uint64_t bytesSent = 0;      ///< handed to the transport by isends it accepted
  std::uint64_t bytesReceived = 0;  ///< of receives that are done, where test told the size
  std::uint64_t sends = 0;          ///< isends accepted
  std::uint64_t receives = 0;       ///< irecvs accepted; one may group several buffers
  std::uint64_t completed = 0;      ///< sends and receives done
  std::uint64_t unsized = 0;        ///< receives done whose size is unknown
  std::uint64_t inFlight = 0;       ///< accepted and not done; of open connections only
  std::uint64_t failures = 0;       ///< isend, irecv and test calls that returned an error
  std::array<std::uint64_t, kRegistrationKinds> registrations{};  ///< by Registration

  Traffic& operator+=(const Traffic& other);
  std::uint64_t registered(Registration kind) const {
    return registrations[static_cast<std::size_t>(kind)];
  }
};

/// One open listen, send or receive comm.
struct ConnectionView {
  unsigned instance = 0;
  Net net = Net::IB;
  Role role = Role::Send;
  int device = 0;              ///< the device NCCL asked for
  std::uint64_t commId = 0;    ///< of the communicator, or of the parent whose resources a split
                               ///< shares; 0 where not told: Socket, NCCL before 2.28, and a
                               ///< communicator whose net was initialised before the tap
  std::uint64_t openedNs = 0;  ///< CLOCK_MONOTONIC
  std::string peer;            ///< "10.0.0.2:40123", "[fe80::1]:40123"; empty unless a connect
  Traffic traffic;
};

/// One device with all it carried, closed connections included.
struct DeviceView {
  DeviceInfo info;     ///< only `index` is set where no properties were read
  bool known = false;  ///< properties were read
  Traffic traffic;
  std::array<std::uint64_t, kRoles> opened{};  ///< comms ever opened, by Role
  std::array<std::uint64_t, kRoles> open{};    ///< of those, open now
};

/// One internal net.
struct NetView {
  Net net = Net::IB;
  std::array<std::uint64_t, kCalls> succeeded{};  ///< by Call; isend, irecv and test not counted
  std::array<std::uint64_t, kCalls> failed{};     ///< by Call
  std::optional<Call> lastFailedCall;
  int lastFailure = 0;               ///< ncclResult_t of lastFailedCall
  std::optional<int> lastDevices;    ///< last answer of devices() to NCCL since the tap
  std::uint64_t firstListenNs = 0;   ///< CLOCK_MONOTONIC; 0: none yet
  std::uint64_t firstConnectNs = 0;  ///< first connect that completed
  std::uint64_t firstAcceptNs = 0;
  std::vector<DeviceView> devices;  ///< those with properties or traffic, by index
  Traffic traffic;                  ///< of all devices

  std::uint64_t calls(Call call) const { return succeeded[static_cast<std::size_t>(call)]; }
  std::uint64_t failures(Call call) const { return failed[static_cast<std::size_t>(call)]; }
  /// True once a comm was opened on it: NCCL uses this net.
  bool used() const { return firstListenNs != 0 || firstConnectNs != 0 || firstAcceptNs != 0; }
};

/// One tapped NCCL.
struct InstanceView {
  std::string path;
  std::string version;  ///< "2.28.9"
  int netAbi = 0;
  NetView ib;
  NetView socket;

  const NetView& of(Net net) const { return net == Net::IB ? ib : socket; }
};

struct Snapshot {
  std::uint64_t takenNs = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t changes = 0;  ///< value of changes() before the reading
  bool consistent = true;     ///< false: connections were closing all the while, sums may be off
  std::vector<InstanceView> instances;
  std::vector<ConnectionView> connections;
  std::uint64_t untrackedConnections = 0;  ///< no record free: forwarded, not followed
  std::uint64_t untrackedRequests = 0;     ///< counted as done when accepted
  std::uint64_t untrackedOperations = 0;   ///< isend and irecv calls on comms not followed
};

/// Reads all records; lock-free. Any thread of ours.
Snapshot snapshot();

/// Text of the sockaddr a connect handle begins with (ncclIbHandle and ncclNetSocketHandle do, in
/// NCCL 2.19 to 2.32); empty for any family but IPv4 and IPv6. `bytes` is 28 bytes long.
std::string peerText(const void* bytes);

}  // namespace rdmaguard::tap
