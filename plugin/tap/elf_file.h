// Reads what a shared object's file says about itself: section bounds, program headers, build-id.
// Used by the locator (locate.cc) only; any thread, no state, the object is never mapped.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::tap {

/// One section header, by link-time address.
struct Section {
  std::string name;
  std::uint32_t type = 0;   ///< SHT_*
  std::uint64_t flags = 0;  ///< SHF_*
  std::uint64_t addr = 0;   ///< link-time address; add the load base for the address in memory
  std::uint64_t size = 0;   ///< bytes
};

/// What could be read of an ELF64 file, or why not.
struct ElfFile {
  std::vector<Elf64_Phdr> program;
  std::vector<Section> sections;
  std::vector<std::uint8_t> buildId;  ///< empty where the file carries none
  std::string error;                  ///< empty on success, else a clause that names the cause

  explicit operator bool() const { return error.empty(); }

  /// The only section of that name; nullptr where there is none or more than one.
  const Section* unique(std::string_view name) const;
};

/// Reads the headers of `path` with pread: a few kilobytes, whatever the size of the file (a
/// libnccl has 400 MB). Section headers survive `strip`; a file without them is an error here.
ElfFile readElfFile(const std::string& path);

/// The NT_GNU_BUILD_ID of a note segment (System V gABI, "Note Section"); empty where absent.
std::vector<std::uint8_t> buildIdOf(const std::uint8_t* notes, std::size_t size);

}  // namespace rdmaguard::tap
