// The form of a row of the event table, and what its functions share to read a message. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "verifier/engine/run_facts.h"

namespace rdmaguard::readers {

/// Rows of one family exclude each other: the first that fits a text makes the event.
enum class Family : std::uint8_t {
  Network,  ///< NCCL, its plugins, verbs, UCX, libfabric
  Code,     ///< what NCCL's exception says by its number
  Process,  ///< how a process ended
  Node,     ///< kernel, devices, storage
  Remark,   ///< what somebody wrote beside the output
};

/// One wording. `text` is the message without its prefix.
struct Pattern {
  std::string_view id;  ///< empty: `read` names it
  Family family = Family::Network;
  engine::Phase phase = engine::Phase::Other;
  std::string_view anchor;    ///< must stand in the text
  std::string_view also{};    ///< must stand there too; empty = nothing more
  std::string_view butNot{};  ///< must not; empty = anything may
  bool failure = true;
  /// Reads the rest into the event, and may change anything of it; false: it is not this after
  /// all. Null: nothing more to read.
  bool (*read)(std::string_view text, engine::Event& event) = nullptr;
  bool warnOnly = false;  ///< NCCL's INFO lines of that wording are no failure
};

// event_nccl.cc, event_verbs.cc, event_program.cc, event_node.cc
std::span<const Pattern> ncclPatterns() noexcept;
std::span<const Pattern> verbsPatterns() noexcept;
std::span<const Pattern> programPatterns() noexcept;
std::span<const Pattern> nodePatterns() noexcept;

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
/// What stands behind `key`, blanks skipped; empty = no such key.
std::string_view after(std::string_view text, std::string_view key) noexcept;
/// The text up to the first of `ends`.
std::string_view upTo(std::string_view text, std::string_view ends) noexcept;
/// The number at the front of `text`; `none` = there is none.
long numberAt(std::string_view text, long none = -1) noexcept;
/// The number behind `key`, blanks, '=', ':' and '(' between them skipped; `none` = there is none.
long numberAfter(std::string_view text, std::string_view key, long none = -1) noexcept;
/// At most 160 bytes of it, without a broken UTF-8 character at the end.
std::string brief(std::string_view text);
/// The name of an errno by strerror's text ("Cannot allocate memory" -> "ENOMEM"), by number or by
/// name; empty = the text begins with none of those that matter here.
std::string_view errnoOf(std::string_view text) noexcept;

}  // namespace rdmaguard::readers
