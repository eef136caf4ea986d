// The bytes of an input, whatever it is packed in: plain, gzip, zstd; UTF-8 or UTF-16. Used by
// input.cc alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace rdmaguard::readers {

/// Bytes from front to back. Not copyable, one thread.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Puts at most `room` (> 0) bytes at `into`. 0: the end, or `failure()` says why no more come.
  virtual std::size_t read(char* into, std::size_t room) = 0;
  /// A sentence without the file's name; empty while all is well.
  const std::string& failure() const { return failure_; }

 protected:
  std::string failure_;
};

/// A source that the next one can look into without taking anything.
class PeekableSource final : public ByteSource {
 public:
  explicit PeekableSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}
  std::size_t read(char* into, std::size_t room) override;
  /// The next `n` bytes; fewer where the source ends before. Valid until the next call.
  std::string_view peek(std::size_t n);

 private:
  std::unique_ptr<ByteSource> inner_;
  std::string ahead_;
  std::size_t taken_ = 0;
};

struct OpenedSource {
  std::unique_ptr<ByteSource> bytes;  ///< null: it cannot be read
  std::string failure;                ///< why not, a sentence without the file's name
  bool empty = false;                 ///< it holds no byte
};

/// Opens a file ("-": standard input) and takes it out of what its first bytes say it is packed
/// in; the name says nothing.
OpenedSource openFile(const std::string& path);

/// The same for bytes in memory, which must outlive the source.
OpenedSource openBytes(std::string_view bytes);

// source_gzip.cc, source_zstd.cc, source_utf16.cc: each takes its packing off `packed`.
std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> packed);
std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> packed);
std::unique_ptr<ByteSource> fromUtf16(std::unique_ptr<ByteSource> wide, bool bigEndian);

}  // namespace rdmaguard::readers
