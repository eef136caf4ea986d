// Splits a source into lines without copying them. Used by input.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "verifier/readers/source.h"

namespace rdmaguard::readers {

/// A longer line is handed on in pieces of at most this many bytes.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

/// One buffer for any number of sources. One thread.
class LineSplitter {
 public:
  struct End {
    std::uint64_t bytes = 0;
    bool cut = false;  ///< the last byte was no '\n'
  };

  /// Calls `sink(text, number, further)` for each line without its '\n', numbered from 1;
  /// `further`: a further piece of the line before.
  template <typename Sink>
  End split(ByteSource& source, Sink&& sink) {
    End end;
    std::uint64_t number = 1;
    std::size_t held = 0;  // bytes at the buffer's front that belong to no complete line yet
    bool further = false;
    for (;;) {
      const std::size_t n = source.read(buffer_.data() + held, kBlockBytes);
      if (n == 0) break;
      end.bytes += n;
      const char* at = buffer_.data();
      const char* const last = at + held + n;
      // What was held has no '\n'.
      const char* from = at + held;
      while (const void* newline = std::memchr(from, '\n', static_cast<std::size_t>(last - from))) {
        const char* const stop = static_cast<const char*>(newline);
        sink(std::string_view(at, static_cast<std::size_t>(stop - at)), number, further);
        ++number;
        further = false;
        at = from = stop + 1;
      }
      held = static_cast<std::size_t>(last - at);
      if (held >= kMaxLineBytes) {
        const std::size_t piece = pieceOf(std::string_view(at, held));
        sink(std::string_view(at, piece), number, further);
        further = true;
        at += piece;
        held -= piece;
      }
      std::memmove(buffer_.data(), at, held);
    }
    if (held > 0) sink(std::string_view(buffer_.data(), held), number, further);
    end.cut = held > 0;
    return end;
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

  /// Ends a piece at a blank where one is near its end: a message is better not torn.
  static std::size_t pieceOf(std::string_view text) {
    const std::string_view piece = text.substr(0, kMaxLineBytes);
    const auto blank = piece.find_last_of(' ');
    const bool near = blank != std::string_view::npos && piece.size() - blank < 4096;
    return near ? blank + 1 : piece.size();
  }

  std::vector<char> buffer_ = std::vector<char>(kMaxLineBytes + kBlockBytes);
};

}  // namespace rdmaguard::readers
