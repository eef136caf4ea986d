// One file of JSON lines per process, in the format of NCCL Inspector's exporter
// plus our own records. Owned by the report thread; init and finalize may write
// to it under the owner's lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaguard::report {

/// A file that lines are appended to. A full disk, a directory that cannot be
/// made or written, or any other error turns it off for good: `complaint()` then
/// holds the one sentence to say. Nothing throws.
class JsonLines {
 public:
  /// Makes `directory` (and its parents) and opens `file` in it for appending.
  /// An empty directory means no file, which is no error.
  JsonLines(const std::string& directory, const std::string& file, std::uint64_t maxBytes) noexcept;
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  bool active() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }

  /// Adds `line` (without its newline) to the buffer, writing the buffer out when
  /// it is large. False when the file is off and did not take the line.
  bool append(std::string_view line) noexcept;

  /// Writes the buffer to the file, rotating it at its size limit.
  void flush() noexcept;

  /// The sentence about what went wrong, once; empty otherwise.
  std::string takeComplaint() noexcept;

 private:
  void fail(const char* what, int error) noexcept;
  void rotate() noexcept;

  std::string path_;
  std::string buffer_;
  std::string complaint_;
  std::uint64_t bytes_ = 0;
  std::uint64_t maxBytes_;
  int descriptor_ = -1;
};

}  // namespace rdmaguard::report
