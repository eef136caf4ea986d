// Messages about communicators: "comm 0x.. rank 0 nranks 8 ... - Init COMPLETE", "AllReduce:
// opCount ...". Used by log_message.cc alone. One thread.
#pragma once

#include <string_view>

#include "verifier/readers/log_message.h"

namespace rdmaguard::readers::nccl_log {

/// "comm 0x.. rank 0 nranks 8 ... - Init START", "comm 0x.. rank 0 nRanks 8 nNodes 1 ... MNNVL 0",
/// whatever stands before.
Said commMessage(Processes& processes, Thread& t, std::string_view text, Place at);

/// "Init timings - ncclCommInitRank: rank 3 nranks 4 total ...".
Said timingsMessage(Processes& processes, Thread& t, std::string_view text);

/// "AllReduce: opCount 2 ... comm 0x.. [nranks=8] ...", cut or not; the name ends at `colon`.
void operationMessage(Thread& t, std::string_view text, std::size_t colon);

}  // namespace rdmaguard::readers::nccl_log
