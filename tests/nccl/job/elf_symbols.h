// Local symbols of a shared object, from its .symtab on disk: how the test job knows where NCCL's
// private objects are. The plugin must not rely on it (site builds are stripped); the job may,
// because it is the independent truth the plugin is tested against.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rdmaguard::job {

/// Link-time address of each of `names` that `path`'s .symtab defines; a name that is missing is
/// left out. Throws std::runtime_error when the file cannot be read or is not a 64-bit ELF file.
std::map<std::string, std::uint64_t> symbolsOf(const std::string& path,
                                               const std::vector<std::string>& names);

}  // namespace rdmaguard::job
