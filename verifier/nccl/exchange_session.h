// The exchange itself, once the two sides have met: HCA after HCA, in step over the control
// connection. The side that connects says what is next, the other one follows. A failure of one HCA
// is told to the other side and ends that HCA alone. One thread; the time limits are those of
// ExchangeShape.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "verifier/nccl/exchange_control.h"
#include "verifier/nccl/exchange_hca.h"
#include "verifier/nccl/exchange_hello.h"
#include "verifier/nccl/net.h"

namespace rdmaguard::nccl {

struct SessionSide {
  Hello mine;
  Hello theirs;
  bool connecting = false;
  std::vector<int> devices;  ///< NCCL's index of each of mine.hcas
};

/// Told of what is about to be done, with the most that it may take: whoever supervises this
/// process can end it then.
using OnStep = std::function<void(const std::string& what, std::chrono::milliseconds most)>;
using OnResult = std::function<void(const HcaResult&)>;

/// The most that a session of kMostHcas may take. A bound for supervisors, far above what any
/// takes.
std::chrono::milliseconds longestSession(std::chrono::milliseconds timeout, double seconds);

/// Every HCA in turn. Throws PeerFailure where the other side is lost, after every HCA is reported.
/// False: connections were left open, the transport must not be finalized.
bool runSession(Net& net, Control& control, const SessionSide& side, const OnStep& step,
                const OnResult& result);

}  // namespace rdmaguard::nccl
