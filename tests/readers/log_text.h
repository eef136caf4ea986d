// What the log tests share: an input as text, and the facts it came to.
#pragma once

#include <string>
#include <string_view>

#include "verifier/readers/input.h"

namespace rdmaguard::readers::test {

inline engine::LogFacts logOf(std::string_view text) {
  return readText(text, "log.txt").facts.log;
}

/// The only process of `text`.
inline engine::ProcessLog processOf(std::string_view text) {
  engine::LogFacts log = logOf(text);
  return log.processes.size() == 1 ? log.processes.front() : engine::ProcessLog{};
}

/// The only communicator of the only process, which said `message`.
inline engine::CommLog commOf(std::string_view message) {
  const engine::ProcessLog p = processOf("n1:10:11 [0] NCCL INFO " + std::string(message) + "\n");
  return p.comms.size() == 1 ? p.comms.front() : engine::CommLog{};
}

/// The only network of that communicator's channels.
inline engine::NetEdges edgesOf(std::string_view message) {
  const engine::CommLog c = commOf(message);
  return c.edges.size() == 1 ? c.edges.front() : engine::NetEdges{};
}

}  // namespace rdmaguard::readers::test
