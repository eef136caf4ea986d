// What surrounds text on its way to us and is no part of it: colour, NUL runs of network file
// systems, frames that chat tools and terminals draw, mail quotes. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace rdmaguard::readers {

/// `line` without terminal escape sequences and NUL bytes. `scratch` holds the result where
/// something had to go, and must outlive it.
std::string_view withoutControls(std::string_view line, std::string& scratch);

/// `line` without a drawn frame ("│ ... │"), mail quotes ("> ") and blanks or '\r' at its end.
std::string_view withoutFrame(std::string_view line);

/// More control bytes than text has: an image, a program, packed data.
bool looksBinary(std::string_view line);

}  // namespace rdmaguard::readers
