// What can be said of processes only when all of them are known. Pure.
#pragma once

#include <deque>

#include "verifier/readers/log_processes.h"

namespace rdmaguard::readers::nccl_log {

/// Joins the parts of a process that stand in several files, hands communicators the network that
/// their process or parent told, counts local edges that leave the host, and fills `out`.
void finishProcesses(std::deque<Process> processes, engine::LogFacts& out);

}  // namespace rdmaguard::readers::nccl_log
