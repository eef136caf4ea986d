// The lines that a shell shows of a node: which of them tell what. Pure, any thread.
// Source: bash(1) ulimit, proc(5) limits, prlimit(1), ls(1), lsmod(8), dpkg(1), rpm(8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::readers {

/// "ulimit -l" and "ulimit -Hl" (KiB, or "unlimited"), "package libibverbs1" (its version as
/// written), "/dev/infiniband" ("absent", "no uverbs").
struct HostFact {
  std::string name, value;
};

/// `line` without blanks at its ends, and without a launcher's tag where what follows may tell of a
/// node.
std::string_view nodeText(std::string_view line) noexcept;

/// The facts that a line tells by itself.
std::vector<HostFact> hostFacts(std::string_view line);

/// What a line that is no assignment has to do with a node's facts.
enum class NodeLine : std::uint8_t {
  None,
  Fact,         ///< hostFacts() reads it
  LimitPrompt,  ///< `ulimit -l`: the next line is the limit in KiB
  HardPrompt,   ///< `ulimit -Hl`
  Limit,        ///< a number or "unlimited"
  ListPrompt,   ///< `ls /dev/infiniband`
  Nodes,        ///< names of files of /dev/infiniband
  Total,        ///< "total 0" of `ls -l`
  Modules,      ///< the heading of lsmod
  Module,       ///< moduleName() is loaded
  Elision,      ///< something was left out
  Filler,       ///< of a table whose other lines tell something
  Docker,       ///< docker run, or a line with -e NAME=VALUE of it
};

/// `inside`: a region of this kind is open, so that a number or a file's name counts.
NodeLine nodeLine(std::string_view line, bool inside) noexcept;

/// The name of NAME=VALUE at the start of `text`; empty for anything else.
std::string_view assignedName(std::string_view text) noexcept;

/// The first word of an lsmod line.
std::string_view moduleName(std::string_view line) noexcept;

/// A variable of NCCL, UCX, libfabric or a plugin of NCCL.
bool isNetworkName(std::string_view name) noexcept;

}  // namespace rdmaguard::readers
