// The shared objects of this process as the loader sees them, and the one that holds NCCL.
// Used by the locator (locate.cc) only; any thread, no state.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmaguard::tap {

/// One object of dl_iterate_phdr. `path` is /proc/self/exe for the executable itself.
struct LoadedObject {
  std::string path;
  std::uintptr_t base = 0;
  std::vector<Elf64_Phdr> program;
  bool executable = false;  ///< the program itself rather than a library

  /// True where `size` bytes at `address` lie inside one mapped segment whose flags hold `flags`
  /// (PF_R, PF_W, PF_X).
  bool maps(std::uintptr_t address, std::size_t size, std::uint32_t flags = PF_R) const;
  bool holds(const void* address) const {
    return maps(reinterpret_cast<std::uintptr_t>(address), 1, 0);
  }
  /// The build-id note as it lies in memory; empty where the object carries none.
  std::vector<std::uint8_t> buildId() const;
};

/// Every object loaded at this moment, in the loader's order.
std::vector<LoadedObject> loadedObjects();

/// ncclGetVersion, as NCCL's public header declares it; 0 is success.
using GetVersion = int (*)(int*);

/// The object's own ncclGetVersion; nullptr where it defines none (a definition in one of its
/// dependencies does not count). Takes the loader's lock: not for NCCL's data path.
GetVersion versionFunctionOf(const LoadedObject& object);

}  // namespace rdmaguard::tap
