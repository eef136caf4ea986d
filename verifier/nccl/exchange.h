// Messages between two nodes through NCCL's own IB transport: what `rdmaguard preflight --listen`
// and `--peer` do. NCCL runs in a child process, which also holds the control connection; whatever
// becomes of it, the caller gets a sentence within the time limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "verifier/nccl/exchange_control.h"
#include "verifier/nccl/exchange_hca.h"
#include "verifier/nccl/exchange_hello.h"

namespace rdmaguard::nccl {

struct ExchangeRequest {
  bool listens = false;
  std::string host;  ///< to connect to
  int port = kExchangePort;
  std::string library = "auto";  ///< a path, a name for the loader, or "auto" (find_library.h)
  std::string hca;               ///< "mlx5_0" or "mlx5_0:1", that one alone; empty: all
  ExchangeShape shape;
  /// Descriptor for remarks while it runs, such as that it waits; -1: none are made.
  int remarks = -1;
};

struct ExchangeRun {
  enum class Outcome : std::uint8_t {
    Done,        ///< every HCA was tried; see `hcas`
    Failed,      ///< it did not come to its end: `failure` says why
    CannotTell,  ///< nothing was found out about the network: no NCCL, or an unknown release
  };
  Outcome outcome = Outcome::Failed;
  std::string failure;      ///< a whole sentence; empty where Done
  bool remarked = false;    ///< `failure` went out as a remark already
  std::string library;      ///< path
  std::string how;          ///< how the library was found
  std::string versionText;  ///< "2.28.9"; empty where not known
  std::string host, peerHost;
  ExchangeShape shape;  ///< that of the side that connects, once it is known
  std::vector<HcaResult> hcas;
  std::string log;  ///< what NCCL printed
  double seconds = 0;
};

/// Never throws but for want of memory. The caller must have one thread.
ExchangeRun exchange(const ExchangeRequest& request);

}  // namespace rdmaguard::nccl
