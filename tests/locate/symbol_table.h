// The truth the locator is held against: symbol addresses from a library's own .symtab, which
// released libnccl files carry and the locator does not read. Tests only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

/// A symbol of the file.
struct Symbol {
  std::uint64_t address = 0;  ///< at link time
  std::uint64_t size = 0;     ///< bytes
};

/// The symbols of those names; a name that the file does not have, or has more than once, is
/// missing from the result.
std::map<std::string, Symbol> readSymbols(const std::string& path,
                                          const std::set<std::string>& wanted);
