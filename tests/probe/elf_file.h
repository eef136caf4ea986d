// An ELF file with symbol versions and constants, as much of one as the probe reads. For tests.
#pragma once

#include <string>
#include <vector>

namespace rdmaguard::test {

/// A 64-bit little-endian shared object that defines `versions` (after its base version) and
/// holds `constants` among other bytes.
std::string elfFile(const std::vector<std::string>& versions,
                    const std::vector<std::string>& constants);

}  // namespace rdmaguard::test
