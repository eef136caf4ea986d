// See json_lines.h.
#include "plugin/report/json_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "plugin/report/descriptor.h"
#include "plugin/report/quiet_signals.h"

namespace rdmaguard::report {
namespace {
constexpr std::size_t kBuffer = 64 * 1024;

int openForAppend(const std::string& path) {
  return aboveStandard(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
}
}  // namespace

JsonLines::JsonLines(const std::string& directory, const std::string& file,
                     std::uint64_t maxBytes) noexcept
    : maxBytes_(maxBytes) {
  if (directory.empty()) return;
  try {
    path_ = directory + "/" + file;
    buffer_.reserve(kBuffer + 4096);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error && !std::filesystem::is_directory(directory)) {
      fail("make the directory of", error.value());
      return;
    }
    descriptor_ = openForAppend(path_);
    if (descriptor_ < 0) {
      fail("open", errno);
      return;
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0) bytes_ = static_cast<std::uint64_t>(status.st_size);
  } catch (...) {
    fail("open", ENOMEM);
  }
}

JsonLines::~JsonLines() {
  flush();
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool JsonLines::append(std::string_view line) noexcept {
  if (descriptor_ < 0) return false;
  try {
    buffer_.append(line);
    buffer_.push_back('\n');
  } catch (...) {
    fail("buffer a line of", ENOMEM);
    return false;
  }
  if (buffer_.size() >= kBuffer) flush();
  return true;
}

void JsonLines::flush() noexcept {
  const QuietSignals quiet;
  const char* at = buffer_.data();
  std::size_t left = buffer_.size();
  while (descriptor_ >= 0 && left > 0) {
    const ssize_t n = ::write(descriptor_, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      fail("write", error);
      break;
    }
    at += n;
    left -= static_cast<std::size_t>(n);
    bytes_ += static_cast<std::uint64_t>(n);
  }
  buffer_.clear();
  if (descriptor_ >= 0 && bytes_ >= maxBytes_) rotate();
}

void JsonLines::rotate() noexcept {
  try {
    ::close(descriptor_);
    descriptor_ = -1;
    const std::string older = path_ + ".1";
    if (::rename(path_.c_str(), older.c_str()) != 0) {
      fail("rotate", errno);
      return;
    }
    descriptor_ = openForAppend(path_);
    bytes_ = 0;
    if (descriptor_ < 0) fail("open", errno);
  } catch (...) {
    fail("rotate", ENOMEM);
  }
}

void JsonLines::fail(const char* what, int error) noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  try {
    complaint_ = std::string("cannot ") + what + " " + path_ + " (" + std::strerror(error) +
                 "): JSON lines are off, the job goes on";
  } catch (...) {
  }
}

std::string JsonLines::takeComplaint() noexcept {
  return std::exchange(complaint_, {});
}

}  // namespace rdmaguard::report
