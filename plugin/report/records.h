// The JSON lines: one object each, in the shape NCCL Inspector's exporter reads
// (header, metadata, coll_perf), with our keys added. Pure; report thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugin/collective/finished.h"
#include "plugin/report/log.h"
#include "plugin/report/text.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::report {

/// A communicator as every record and line names it.
struct Identity {
  std::uint64_t id = 0;  ///< commId as NCCL logs it; 0 when the interface does not tell it
  std::string label;     ///< the user's name for it
  int nNodes = 0;        ///< 0 = not known
  int nRanks = 0;        ///< 0 = not known
  int rank = -1;         ///< -1 = not known
};

/// What the network of a communicator is, as words.
struct NetworkTags {
  std::string transport = "unknown";  ///< IB, RoCE, Socket, a plugin's name, none, ...
  std::string gdr = "unknown";
  std::vector<std::string> devices;

  bool operator==(const NetworkTags&) const = default;
};

/// Bytes through one device of one of NCCL's internal transports, over the process.
struct DeviceTraffic {
  std::string net, device;
  std::uint64_t sentBytes = 0, receivedBytes = 0;
  std::uint64_t failures = 0;  ///< calls of the transport that returned an error
};

/// Makes the records of one communicator. The parts that never change are put
/// together once, so that a collective costs about a microsecond of the report thread.
class Records {
 public:
  Records(const Identity& who, const Speaker& speaker);

  /// Tags of the collectives that follow.
  void setTags(const NetworkTags& tags);

  /// "coll_perf" for a timed collective, "coll_untimed" for one that was only counted:
  /// an exporter must not average a time that nobody measured. `microseconds` is the
  /// Unix time now. The view holds until the next call.
  std::string_view collective(const collective::Finished& finished, std::uint64_t microseconds);

  /// "communicator": tags, interface version, NCCL release and how the tap fared.
  std::string communicator(int abiVersion, const std::string& ncclVersion, const std::string& tap,
                           std::uint64_t microseconds) const;

  /// "verdict": as engine::toJson, with the action taken ("none", "warn", "abort").
  std::string verdict(const engine::Verdict& verdict, const std::string& devices,
                      const std::string& action, int exitCode, std::uint64_t microseconds) const;

  /// "completeness", "api_only" and "summary" (phrases) at the end; `devices` and
  /// `strays` are the whole process's.
  std::string completeness(const collective::Counters& counters,
                           const collective::ApiOnlyTable& apiOnly, std::span<const BusbwRow> rows,
                           std::span<const DeviceTraffic> devices, const collective::Strays& strays,
                           std::uint64_t microseconds) const;

 private:
  std::string head(std::uint64_t microseconds) const;

  std::string before_, after_;  // the record's text around the time stamp
  std::string tags_;
  NetworkTags network_;
  std::string line_;
};

}  // namespace rdmaguard::report
