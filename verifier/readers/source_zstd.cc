// zstd off an input: several frames in a row, and files that end too early.
#include <zstd.h>

#include <array>
#include <utility>

#include "verifier/readers/source.h"

namespace rdmaguard::readers {
namespace {

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), stream_(::ZSTD_createDStream()) {
    // `zstd --long` windows of up to 128 MiB would cost that much memory; 32 MiB is what every
    // level up to 19 stays below.
    if (stream_ == nullptr || ::ZSTD_isError(::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax,
                                                                      kWindowLogMax)) != 0U) {
      failure_ = "out of memory for zstd";
      ended_ = true;
    }
  }
  ~ZstdSource() override { ::ZSTD_freeDStream(stream_); }

  std::size_t read(char* into, std::size_t room) override {
    ZSTD_outBuffer out{into, room, 0};
    while (!ended_ && out.pos < out.size) {
      // A full output may have left bytes inside the decoder that need no more input.
      const bool mayHoldMore = std::exchange(outputWasFull_, false);
      if (in_.pos == in_.size && !mayHoldMore && !refill()) break;
      const std::size_t rc = ::ZSTD_decompressStream(stream_, &out, &in_);
      if (::ZSTD_isError(rc) != 0U) {
        ended_ = true;
        failure_ = std::string("its zstd data cannot be read on (") + ::ZSTD_getErrorName(rc) +
                   "): what stands before was read";
        break;
      }
      withinFrame_ = rc != 0;
    }
    // After a frame's end it has none left, and being asked would begin another frame.
    outputWasFull_ = out.pos == out.size && withinFrame_;
    return out.pos;
  }

 private:
  static constexpr int kWindowLogMax = 25;

  bool refill() {
    const std::size_t n = packed_->read(buffer_.data(), buffer_.size());
    if (n == 0) {
      ended_ = true;
      if (!packed_->failure().empty())
        failure_ = packed_->failure();
      else if (withinFrame_)
        failure_ = "its zstd data ends too early: what is there was read";
      return false;
    }
    in_ = {buffer_.data(), n, 0};
    return true;
  }

  std::unique_ptr<ByteSource> packed_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool withinFrame_ = false;
  bool outputWasFull_ = false;
  bool ended_ = false;
  std::array<char, 128 << 10> buffer_{};
};

}  // namespace

std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<ZstdSource>(std::move(packed));
}

}  // namespace rdmaguard::readers
