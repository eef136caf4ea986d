// A net of ours in the shape of NCCL's (v12), for what no real transport does on request: refuse,
// fail, tell no sizes, fill the tables. It moves no bytes. The real transports are tapped in
// real_tap_test.cc and in the Soft-RoCE guest.
#pragma once

#include <array>

#include "nccl_abi/net_v12.h"
#include "plugin/tap/tap.h"

namespace stand_in {

using nccl_abi::Result;
using Net = nccl_abi::net_v12::Net;

/// A send or receive on its way; lies inside its comm, as in IB and Socket.
struct Request {
  std::array<int, 8> sizes{};  ///< what test will tell
  int n = 0;
  bool done = true;
  Result result = Result::Success;
};

struct Comm {
  std::array<Request, 32> requests{};
  unsigned next = 0;
  bool refuses = false;  ///< isend and irecv succeed without a request
  Result result = Result::Success;
  void* requestBefore = nullptr;  ///< *request as the transport met it
};

/// How often connect answers "not yet" before it gives a comm; per thread.
inline thread_local int pendingConnects = 0;

/// Init leaves *context as it is, as Socket's does; per thread.
inline thread_local bool makesNoContext = false;

Net make();

/// Installs over two stand-ins, once a process; the nets as NCCL would see them.
struct Tapped {
  Net ib = make();
  Net socket = make();
  rdmaguard::tap::InstallResult installed;
  Tapped();
};
Tapped& tapped();

/// A located NCCL made of two structs.
rdmaguard::tap::LocateResult locationOf(Net& ib, Net& socket);

}  // namespace stand_in
