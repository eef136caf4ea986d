// How the two sides of an exchange find each other, and what they tell each other first. The
// listening side goes on waiting past connections that are none of rdmaguard's: health checks,
// scanners, a peer that was stopped.
#pragma once

#include <string>

#include "verifier/nccl/exchange_control.h"
#include "verifier/nccl/exchange_hello.h"

namespace rdmaguard::nccl {

struct Meeting {
  Control control;
  Hello theirs;
};

/// Throws PeerFailure where no other side introduced itself by `until`; it says what came instead.
Meeting awaitPeer(const Listener& listener, const Hello& mine, Deadline until);

/// Throws PeerFailure.
Meeting visitPeer(const std::string& host, int port, const Hello& mine, Deadline until);

}  // namespace rdmaguard::nccl
