// gzip off an input: several members in a row (rotated and appended logs, pigz), zero padding
// after the last, and files that end too early.
#include <zlib.h>

#include <array>
#include <string>
#include <utility>

#include "verifier/readers/source.h"

namespace rdmaguard::readers {
namespace {

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)) {
    // 15 bits of window, +16: gzip's header and no other.
    ready_ = ::inflateInit2(&stream_, 15 + 16) == Z_OK;
    if (!ready_) failure_ = "out of memory for gzip";
  }
  ~GzipSource() override {
    if (ready_) ::inflateEnd(&stream_);
  }

  std::size_t read(char* into, std::size_t room) override {
    if (!ready_ || ended_) return 0;
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out > 0) {
      // A full output may have left bytes inside the decoder that need no more input.
      if (stream_.avail_in == 0 && !std::exchange(outputWasFull_, false) && !refill()) break;
      if (betweenMembers_ && !nextMember()) break;
      const int rc = ::inflate(&stream_, Z_NO_FLUSH);
      if (rc == Z_STREAM_END) {
        betweenMembers_ = true;
        continue;
      }
      if (rc == Z_OK || (rc == Z_BUF_ERROR && stream_.avail_in == 0)) continue;
      failure_ = std::string("its gzip data is damaged") +
                 (stream_.msg != nullptr ? std::string(" (") + stream_.msg + ")" : std::string()) +
                 ": what stands before the damage was read";
      ended_ = true;
      break;
    }
    outputWasFull_ = stream_.avail_out == 0;
    return room - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::size_t n = packed_->read(buffer_.data(), buffer_.size());
    if (n == 0) {
      ended_ = true;
      if (!packed_->failure().empty())
        failure_ = packed_->failure();
      else if (!betweenMembers_)
        failure_ = "its gzip data ends too early: what is there was read";
      return false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(n);
    return true;
  }

  /// Goes to the next member; false when none follows.
  bool nextMember() {
    do {
      while (stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
    } while (stream_.avail_in == 0 && refill());
    if (stream_.avail_in == 0) return false;
    if (*stream_.next_in != 0x1f) {
      ended_ = true;
      failure_ = "bytes that are no gzip follow its gzip data: they were left out";
      return false;
    }
    ::inflateReset(&stream_);
    betweenMembers_ = false;
    return true;
  }

  std::unique_ptr<ByteSource> packed_;
  z_stream stream_{};
  bool ready_ = false;
  bool betweenMembers_ = false;
  bool outputWasFull_ = false;
  bool ended_ = false;
  std::array<char, 128 << 10> buffer_{};
};

}  // namespace

std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<GzipSource>(std::move(packed));
}

}  // namespace rdmaguard::readers
