// What a message of NCCL's says, release by release. Channel lines are log_channel.h's. One thread.
#pragma once

#include <string_view>

#include "verifier/engine/job_facts.h"
#include "verifier/readers/log_channel.h"
#include "verifier/readers/log_processes.h"

namespace rdmaguard::readers::nccl_log {

/// What became of a message.
struct Said {
  Parsed parsed = Parsed::Other;
  bool failure = false;  ///< known, and it tells of something that failed
};

/// Understands `text`, said by `t`, and keeps what it tells. `settingsSource` names where the line
/// stands ("log.txt:3").
class Messages {
 public:
  Messages(Processes& processes, const engine::JobFacts& job, engine::LogFacts& out)
      : processes_(processes), job_(job), out_(out) {}

  Said take(Thread& t, std::string_view text, Place at);

  /// "AllReduce: opCount 2 ... comm 0x55d1c0001400 [nranks=8] stream 0x55d1b0f31000", which long
  /// logs are made of: counted at once where it is whole. False: take() has to look.
  bool takeOperation(Process& process, std::string_view text);

  /// "NCCL version 2.21.5+cuda12.4" on a line of its own, which no process signs.
  bool takeVersion(std::string_view text, Place at);

  /// Of text without "NCCL INFO" before it: whether it can only be a message of NCCL's.
  static bool isUnmistakable(std::string_view text) noexcept;

 private:
  Processes& processes_;
  const engine::JobFacts& job_;
  engine::LogFacts& out_;
};

/// Words of a failure in a message that is otherwise not known.
bool namesFailure(std::string_view text) noexcept;

}  // namespace rdmaguard::readers::nccl_log
