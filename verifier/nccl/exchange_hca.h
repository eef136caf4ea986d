// One HCA of an exchange from its connection to its end, in step with the other side over the
// control connection: the side that connects leads, the other one follows. A failure is told to the
// other side and ends this HCA alone. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "verifier/nccl/exchange_control.h"
#include "verifier/nccl/exchange_hello.h"
#include "verifier/nccl/net.h"

namespace rdmaguard::nccl {

/// What came of one HCA.
struct HcaResult {
  std::string name;      ///< of this side; empty: the other side's HCA found none here
  int port = 0;          ///< 0 where there is no name
  std::string peerName;  ///< of the other side; empty: none there
  int peerPort = 0;
  double lineRateGbps = 0;   ///< the slower of the two, 0 = not known
  double bandwidthGbps = 0;  ///< payload each way that messages went; 0 = not measured
  double latencyUs = 0;      ///< median of half the round trips of 8 bytes; 0 = not measured
  std::uint64_t sentBytes = 0, receivedBytes = 0;
  std::uint64_t sentMessages = 0, receivedMessages = 0;
  bool verified = false;  ///< every message came whole and right, on both sides
  std::string failure;    ///< a whole sentence; empty: none
};

/// Which HCA, and how.
struct HcaTask {
  int device = 0;           ///< NCCL's index
  std::uint64_t index = 0;  ///< of the pair, the same on both sides
  bool connecting = false;
  ExchangeShape shape;
};

/// Fills the figures and the failure of `out`. Throws PeerFailure alone, `out` filled as far as it
/// got. False: its connections were left open, as the transport may still use them.
bool exchangeHca(Net& net, Control& control, const HcaTask& task, HcaResult& out);

}  // namespace rdmaguard::nccl
