// What launchers and collectors put in front of the lines of a port listing. Beside event_prefix.h
// it keeps the indentation behind the tag and takes any host's name for one, which is safe within
// a listing alone. Pure, any thread.
#pragma once

#include <string_view>

namespace rdmaguard::readers {

struct TaggedLine {
  std::string_view rest;  ///< with its indentation, where the tag keeps it
  std::string_view host;  ///< empty: the tag names none
  std::string_view tag;   ///< what tells this line's speaker from another's: host or rank
};

/// `s` is trimmed. Without a tag `rest` is `s`.
TaggedLine tagOf(std::string_view s) noexcept;

/// Whether a line may be one of a listing behind a tag: cheap, for every line of a log.
bool mayBeTagged(std::string_view s) noexcept;

/// A line that belongs to an open listing for its indentation alone: the many fields of
/// `ibv_devinfo -v`, also behind a launcher's tag, or a tag with nothing behind it.
bool indentedField(std::string_view line) noexcept;

}  // namespace rdmaguard::readers
