// See source.h: files, and the choice of what to take off them.
#include "verifier/readers/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rdmaguard::readers {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, bool owned) : fd_(fd), owned_(owned) {}
  ~FileSource() override {
    if (owned_) ::close(fd_);
  }
  std::size_t read(char* into, std::size_t room) override {
    for (;;) {
      const ssize_t n = ::read(fd_, into, room);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      failure_ = std::string("reading stopped: ") + std::strerror(errno);
      return 0;
    }
  }

 private:
  int fd_;
  bool owned_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : left_(bytes) {}
  std::size_t read(char* into, std::size_t room) override {
    const std::size_t n = std::min(room, left_.size());
    if (n > 0) std::memcpy(into, left_.data(), n);
    left_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view left_;
};

/// What an input may begin with that is no text of ours.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  std::string_view refusal;
};

using namespace std::string_view_literals;

constexpr std::array kRefused{
    Magic{0,
          "\xfd"
          "7zXZ\0"sv,
          "it is an xz archive: pipe it through 'xz -dc FILE | rdmaguard verify -'"},
    Magic{0, "BZh"sv,
          "it is a bzip2 archive: pipe it through 'bzip2 -dc FILE | rdmaguard verify -'"},
    Magic{0, "\x04\x22\x4d\x18"sv,
          "it is an lz4 archive: pipe it through 'lz4 -dc FILE | rdmaguard verify -'"},
    Magic{0, "PK\x03\x04"sv, "it is a zip archive: unpack it and name the folder"},
    Magic{257, "ustar"sv, "it is a tar archive: unpack it and name the folder"},
    Magic{0,
          "\x7f"
          "ELF"sv,
          "it is a program, not text"},
    Magic{0, "%PDF-"sv, "it is a PDF document, not text"},
    Magic{0, "\x89PNG"sv, "it is an image: paste the text it shows"},
    Magic{0, "\xff\xd8\xff"sv, "it is an image: paste the text it shows"},
};

bool beginsWith(PeekableSource& source, std::string_view magic) {
  return source.peek(magic.size()) == magic;
}

bool isZstd(PeekableSource& source) {
  const std::string_view head = source.peek(4);
  if (head.size() < 4) return false;
  // A frame, or one of the sixteen skippable frames that may stand before it.
  if (head == "\x28\xb5\x2f\xfd"sv) return true;
  return (static_cast<unsigned char>(head[0]) & 0xf0U) == 0x50U &&
         head.substr(1) == "\x2a\x4d\x18"sv;
}

enum class Width : std::uint8_t { Bytes, LittleEndian, BigEndian };

/// UTF-16, as Windows shells redirect it: by its mark, else by nearly every second byte
/// being zero.
Width widthOf(PeekableSource& source) {
  if (beginsWith(source, "\xff\xfe"sv)) return Width::LittleEndian;
  if (beginsWith(source, "\xfe\xff"sv)) return Width::BigEndian;
  const std::string_view head = source.peek(64);
  if (head.size() < 8) return Width::Bytes;
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < head.size(); ++i)
    if (head[i] == '\0') ++zeros[i % 2];
  const std::size_t half = head.size() / 2;
  // Most characters of a log are ASCII; a few others may stand among them.
  const auto mostly = [half](std::size_t high, std::size_t low) {
    return high * 4 >= half * 3 && low * 8 <= half;
  };
  if (mostly(zeros[1], zeros[0])) return Width::LittleEndian;
  if (mostly(zeros[0], zeros[1])) return Width::BigEndian;
  return Width::Bytes;
}

OpenedSource unpacked(std::unique_ptr<ByteSource> raw) {
  OpenedSource opened;
  auto source = std::make_unique<PeekableSource>(std::move(raw));
  opened.empty = source->peek(1).empty();
  if (opened.empty && !source->failure().empty()) {
    opened.failure = source->failure();
    return opened;
  }
  if (beginsWith(*source, "\x1f\x8b"sv))
    source = std::make_unique<PeekableSource>(gunzip(std::move(source)));
  else if (isZstd(*source))
    source = std::make_unique<PeekableSource>(unzstd(std::move(source)));

  for (const Magic& magic : kRefused) {
    const std::string_view head = source->peek(magic.offset + magic.bytes.size());
    if (head.size() <= magic.offset || head.substr(magic.offset) != magic.bytes) continue;
    opened.failure = magic.refusal;
    return opened;
  }
  const Width width = widthOf(*source);
  if (width == Width::Bytes)
    opened.bytes = std::move(source);
  else
    opened.bytes = fromUtf16(std::move(source), width == Width::BigEndian);
  return opened;
}

}  // namespace

std::size_t PeekableSource::read(char* into, std::size_t room) {
  if (taken_ < ahead_.size()) {
    const std::size_t n = std::min(room, ahead_.size() - taken_);
    std::memcpy(into, ahead_.data() + taken_, n);
    taken_ += n;
    return n;
  }
  const std::size_t n = inner_->read(into, room);
  failure_ = inner_->failure();
  return n;
}

std::string_view PeekableSource::peek(std::size_t n) {
  ahead_.erase(0, taken_);
  taken_ = 0;
  while (ahead_.size() < n) {
    const std::size_t had = ahead_.size();
    ahead_.resize(n);
    const std::size_t got = inner_->read(ahead_.data() + had, n - had);
    ahead_.resize(had + got);
    if (got == 0) {
      failure_ = inner_->failure();
      break;
    }
  }
  return std::string_view(ahead_).substr(0, n);
}

OpenedSource openFile(const std::string& path) {
  OpenedSource opened;
  if (path == "-") return unpacked(std::make_unique<FileSource>(STDIN_FILENO, false));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    opened.failure = std::string("it cannot be opened: ") + std::strerror(errno);
    return opened;
  }
  auto file = std::make_unique<FileSource>(fd, true);
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return unpacked(std::move(file));
}

OpenedSource openBytes(std::string_view bytes) {
  return unpacked(std::make_unique<MemorySource>(bytes));
}

}  // namespace rdmaguard::readers
