// Lines of a job's own that no reader knows come by the hundred thousand and differ in their
// numbers alone. One look at the shape of such a line spares offering it to every reader again.
// Used by region.cc. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace rdmaguard::readers {

/// Remembers shapes by a 64-bit mark, the latest of those that share a place.
class LineShapes {
 public:
  /// The mark of a line: equal for lines that differ only in digits which neither a letter nor '_'
  /// stands before ("mlx4_ib" and "mlx5_ib" differ). 0: too long to have one.
  static std::uint64_t markOf(std::string_view line) {
    if (line.empty() || line.size() > kMaxLine) return 0;
    std::array<char, kMaxLine + sizeof(std::uint64_t)> shape;
    shape[0] = line[0];
    for (std::size_t i = 1; i < line.size(); ++i) {
      const bool digit = line[i] >= '0' && line[i] <= '9';
      shape[i] = digit && !isOfName(line[i - 1]) ? '0' : line[i];
    }
    std::memset(shape.data() + line.size(), 0, sizeof(std::uint64_t));
    std::uint64_t mark = line.size();
    for (std::size_t i = 0; i < line.size(); i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, shape.data() + i, sizeof word);
      mark = (mark ^ word) * 0x9e3779b97f4a7c15ULL;
      mark ^= mark >> 32;
    }
    return mark | 1;
  }

  bool holds(std::uint64_t mark) const { return mark != 0 && marks_[mark >> kShift] == mark; }
  void add(std::uint64_t mark) {
    if (mark != 0) marks_[mark >> kShift] = mark;
  }

 private:
  static constexpr std::size_t kMaxLine = 320;
  static constexpr unsigned kShift = 64 - 14;

  static bool isOfName(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  std::vector<std::uint64_t> marks_ = std::vector<std::uint64_t>(std::size_t{1} << (64 - kShift));
};

}  // namespace rdmaguard::readers
