// Finds where a JSON value ends that begins at the start of a line, by its brackets. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

class JsonGatherer {
 public:
  enum class Step : std::uint8_t {
    Wants,     ///< taken: the value goes on
    Complete,  ///< taken: text() is the whole value
    Refused,   ///< taken into text(), which is no JSON
  };

  /// A line that an object or array may begin with. "[rank0]:" and "[ 12.3]" are none.
  static bool mayStart(std::string_view line);

  bool gathering() const { return gathering_; }
  /// Takes a line, or a further piece of the same one.
  Step take(std::string_view line, Place at);
  /// All lines taken, as they were, joined by '\n'.
  const std::string& text() const { return text_; }
  Place first() const { return first_; }
  void clear();

 private:
  Step scan(std::string_view line);

  bool gathering_ = false;
  std::string text_;
  Place first_;
  std::uint64_t lastLine_ = 0;
  std::string open_;  ///< the brackets that are open, as the bytes that close them
  bool inString_ = false;
  bool escaped_ = false;
  bool closed_ = false;
};

}  // namespace rdmaguard::readers
