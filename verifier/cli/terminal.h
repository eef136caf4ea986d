// What a report needs to know of the place it is printed to. Touches the world; cli only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaguard::cli {

enum class ColorChoice : std::uint8_t { Auto, Always, Never };

/// Colour by what was asked for; else on a terminal alone, and not with NO_COLOR set or
/// TERM=dumb. `fd`: where the report goes.
bool useColor(ColorChoice choice, int fd);

/// Columns of the terminal at `fd`, else COLUMNS, at least 40; 0 where there is neither: lines
/// are then left whole, so that grep finds a sentence on one line.
std::size_t columns(int fd);

/// `text` from an input, fit for a terminal: control bytes, which could move its cursor, as "?",
/// tabs and line ends as blanks, at most `most` bytes.
std::string printable(std::string_view text, std::size_t most = 400);

}  // namespace rdmaguard::cli
