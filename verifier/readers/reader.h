// What the readers of this folder share. Each turns text of one kind into facts and never
// throws on bytes it does not know; input.h hands every line to the reader it belongs to.
#pragma once

#include <cstdint>
#include <string_view>

#include "verifier/engine/job_facts.h"

namespace rdmaguard::readers {

using engine::JobFacts;
using engine::Place;

/// What a reader of whole regions says of a line.
enum class Claim : std::uint8_t {
  No,         ///< not of this kind: the region ends before it
  Continues,  ///< belongs to a region of this kind that has begun
  Starts,     ///< begins a region of this kind by itself
};

/// A reader that wants its region whole. `inside`: a region of this kind is open and the line
/// would follow its last one. `text` holds the region's lines joined by '\n' (lines that went
/// to another reader are empty, so that line n of it is `first.line + n`), at most
/// kMaxRegionBytes; `cut` is true when the input ended within the region or it was longer.
struct RegionReader {
  std::string_view kind;
  Claim (*claim)(std::string_view line, bool inside) noexcept;
  void (*read)(std::string_view text, Place first, bool cut, JobFacts& out) noexcept;
};

inline constexpr std::size_t kMaxRegionBytes = std::size_t{32} << 20;

}  // namespace rdmaguard::readers
