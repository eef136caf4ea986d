// What the fuzz targets share: bytes as the readers meet them. A target is one reader and says
// nothing of what it should find: only that it ends, in bounded memory, without a fault.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "verifier/readers/reader.h"

namespace rdmaguard::fuzz {

inline std::string_view textOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Facts of an input of one file.
inline engine::JobFacts oneFile() {
  engine::JobFacts facts;
  facts.files.emplace_back("input.txt");
  return facts;
}

/// Calls `take(line, place)` for each line of `text`. Returns whether the last one was cut off.
template <typename Take>
bool eachLine(std::string_view text, Take take) {
  engine::Place at;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++at.line;
    take(text.substr(0, end), at);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

/// A reader of whole regions: asks for its claim on every line, then gives it the whole.
inline void readRegion(const readers::RegionReader& reader, std::string_view text) {
  engine::JobFacts facts = oneFile();
  bool inside = false;
  const bool cut = eachLine(text, [&](std::string_view line, engine::Place) {
    inside = reader.claim(line, inside) != readers::Claim::No;
  });
  reader.read(text, engine::Place{0, 1}, cut, facts);
}

/// Ends the process where `holds` is false, so that libFuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace rdmaguard::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
