// NCCL's words (operation, data type, algorithm, protocol) as small codes: resolved when a
// collective is launched, spelled out again when it is drained. Pure functions plus one table per
// communicator for words this release of rdmaguard does not know.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "rdmaguard/busbw.h"

namespace rdmaguard::collective {

/// Code of a word: 0 none, 1 to 31 known, kFirstInterned and up in Names, kOther when Names is
/// full.
using NameCode = std::uint8_t;
inline constexpr NameCode kNoName = 0;
inline constexpr NameCode kFirstInterned = 64;
inline constexpr NameCode kOther = 255;

/// A data type: its code (its number in NCCL plus one) and size; {kNoName, 0} when unknown.
struct TypeCode {
  NameCode code = kNoName;
  std::uint8_t bytes = 0;
};

Operation operationFrom(const char* word) noexcept;
Operation operationFrom(int func) noexcept;  ///< v1: NCCL's number
/// `abiVersion` decides what "Unknown" means: NCCL up to 2.30.7 (v2 to v6 here) has a name for
/// every type but uint8, so there it is uint8.
TypeCode typeFrom(const char* word, int abiVersion) noexcept;
TypeCode typeFrom(int datatype) noexcept;  ///< v1: NCCL's number
std::string_view typeName(NameCode code) noexcept;
NameCode algorithmFrom(int algo) noexcept;  ///< v1
NameCode protocolFrom(int proto) noexcept;  ///< v1

/// Words met at run time. Any thread may look up and add, without locks or allocation.
class Names {
 public:
  /// Code of `word`; null or empty is kNoName. Adds it when it is new.
  NameCode code(const char* word) noexcept;
  /// The word of a code, of this table or of the known ones.
  std::string_view name(NameCode code) const noexcept;
  /// Forgets all. Only while no callback can come.
  void clear() noexcept;

 private:
  static constexpr std::size_t kWords = 32;
  static constexpr std::size_t kLength = 47;  ///< longer words are cut
  struct Word {
    std::atomic<std::uint32_t> state;  ///< 0 empty, 1 being written, 2 readable
    std::array<char, kLength + 1> text;
  };
  std::array<Word, kWords> words_;
};

}  // namespace rdmaguard::collective
