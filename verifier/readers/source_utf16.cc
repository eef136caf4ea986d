// UTF-16 to UTF-8: what Windows shells write when they redirect or paste.
#include <array>
#include <utility>

#include "verifier/readers/source.h"

namespace rdmaguard::readers {
namespace {

class Utf16Source final : public ByteSource {
 public:
  Utf16Source(std::unique_ptr<ByteSource> wide, bool bigEndian)
      : wide_(std::move(wide)), bigEndian_(bigEndian) {}

  std::size_t read(char* into, std::size_t room) override {
    std::size_t written = 0;
    while (written < room) {
      if (given_ < ready_.size()) {
        into[written++] = ready_[given_++];
        continue;
      }
      ready_.clear();
      given_ = 0;
      if (!next()) break;
    }
    return written;
  }

 private:
  /// One byte of the input; false at its end.
  bool byte(unsigned& out) {
    if (at_ == have_) {
      have_ = wide_->read(buffer_.data(), buffer_.size());
      at_ = 0;
      failure_ = wide_->failure();
      if (have_ == 0) return false;
    }
    out = static_cast<unsigned char>(buffer_[at_++]);
    return true;
  }

  bool unit(unsigned& out) {
    unsigned first = 0, second = 0;
    if (!byte(first) || !byte(second)) return false;
    out = bigEndian_ ? first << 8U | second : second << 8U | first;
    return true;
  }

  /// Puts the next character into ready_; a lone surrogate becomes U+FFFD.
  bool next() {
    unsigned code = 0;
    if (held_ != 0)
      code = std::exchange(held_, 0U);
    else if (!unit(code))
      return false;
    if (code >= 0xd800 && code < 0xdc00) {
      unsigned low = 0;
      if (unit(low) && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000U + ((code - 0xd800U) << 10U) + (low - 0xdc00U);
      } else {
        held_ = low;
        code = 0xfffd;
      }
    } else if (code >= 0xdc00 && code < 0xe000) {
      code = 0xfffd;
    }
    encode(code);
    return true;
  }

  void encode(unsigned code) {
    const auto put = [&](unsigned b) { ready_.push_back(static_cast<char>(b)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0U | code >> 6U);
      put(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
      put(0xe0U | code >> 12U);
      put(0x80U | (code >> 6U & 0x3fU));
      put(0x80U | (code & 0x3fU));
    } else {
      put(0xf0U | code >> 18U);
      put(0x80U | (code >> 12U & 0x3fU));
      put(0x80U | (code >> 6U & 0x3fU));
      put(0x80U | (code & 0x3fU));
    }
  }

  std::unique_ptr<ByteSource> wide_;
  bool bigEndian_;
  unsigned held_ = 0;  ///< a unit read ahead behind a lone surrogate
  std::string ready_;  ///< the last character in UTF-8
  std::size_t given_ = 0;
  std::size_t at_ = 0, have_ = 0;
  std::array<char, 64 << 10> buffer_{};
};

}  // namespace

std::unique_ptr<ByteSource> fromUtf16(std::unique_ptr<ByteSource> wide, bool bigEndian) {
  return std::make_unique<Utf16Source>(std::move(wide), bigEndian);
}

}  // namespace rdmaguard::readers
