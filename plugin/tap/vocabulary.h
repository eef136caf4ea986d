// The words of the tap: nets, roles of a comm, kinds of registration, calls. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmaguard::tap {

/// NCCL's two internal nets.
enum class Net : std::uint8_t { IB = 0, Socket = 1 };

/// What a comm is for.
enum class Role : std::uint8_t { Listen = 0, Send = 1, Receive = 2 };
inline constexpr std::size_t kRoles = 3;

/// How memory was registered with a comm. Any of the two device kinds on a connection means that
/// GPUDirect RDMA is in use on it; host memory alone means none, or an LL-only connection.
enum class Registration : std::uint8_t {
  Host = 0,     ///< regMr of host memory
  Peermem = 1,  ///< regMr of device memory: ibv_reg_mr through nvidia_peermem
  DmaBuf = 2,   ///< regMrDmaBuf
};
inline constexpr std::size_t kRegistrationKinds = 3;

/// The net functions whose outcomes are counted.
enum class Call : std::uint8_t {
  Init = 0,
  Devices,
  GetProperties,
  Listen,
  Connect,
  Accept,
  RegMr,
  RegMrDmaBuf,
  Isend,
  Irecv,
  Test,
};
inline constexpr std::size_t kCalls = 11;

constexpr std::string_view name(Net net) {
  return net == Net::IB ? "IB" : "Socket";
}

constexpr std::string_view name(Role role) {
  constexpr std::string_view kNames[kRoles] = {"listen", "send", "receive"};
  return kNames[static_cast<std::size_t>(role)];
}

/// The function's name in NCCL's net interface.
constexpr std::string_view name(Call call) {
  constexpr std::string_view kNames[kCalls] = {"init",    "devices", "getProperties", "listen",
                                               "connect", "accept",  "regMr",         "regMrDmaBuf",
                                               "isend",   "irecv",   "test"};
  return kNames[static_cast<std::size_t>(call)];
}

}  // namespace rdmaguard::tap
