// See log.h.
#include "plugin/report/log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <mutex>

#include "plugin/report/descriptor.h"
#include "plugin/report/quiet_signals.h"

namespace rdmaguard::report {
namespace {

// spdlog's own sinks go through stdio, whose lock on standard error the
// application may hold, and know nothing of SIGPIPE. Opened for appending, so
// that the ranks of a node may share a file, line by line.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}
  ~DescriptorSink() override {
    if (descriptor_ != STDERR_FILENO) ::close(descriptor_);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const QuietSignals quiet;
    const char* at = line.data();
    std::size_t left = line.size();
    while (left > 0) {
      const ssize_t n = ::write(descriptor_, at, left);
      if (n <= 0) return;
      at += n;
      left -= static_cast<std::size_t>(n);
    }
  }
  void flush_() override {}

 private:
  int descriptor_;
};

std::shared_ptr<spdlog::logger> over(spdlog::sink_ptr sink, const Speaker& who) {
  auto logger = std::make_shared<spdlog::logger>("rdmaguard", std::move(sink));
  std::string host;
  for (char c : who.host) host += c == '%' ? "%%" : std::string(1, c);
  logger->set_pattern("[%Y-%m-%d %H:%M:%S.%e] " + host + ":" + std::to_string(who.pid) +
                      " rdmaguard %L: %v");
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

}  // namespace

std::string hostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0) return "unknown";
  const std::string_view whole(name);
  return std::string(whole.substr(0, whole.find('.')));
}

std::string expandPattern(std::string_view pattern, const Speaker& who) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'h':
        out += who.host;
        break;
      case 'p':
        out += std::to_string(who.pid);
        break;
      case 'r':
        out += who.rank < 0 ? "unknown" : std::to_string(who.rank);
        break;
      case '%':
        out += '%';
        break;
      default:
        out += pattern[i];
        continue;
    }
    ++i;
  }
  return out;
}

Log::Log(const std::string& pattern, const Speaker& who) {
  std::string complaint;
  if (!pattern.empty()) {
    const std::string path = expandPattern(pattern, who);
    const int file =
        aboveStandard(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (file >= 0) {
      logger_ = over(std::make_shared<DescriptorSink>(file), who);
    } else {
      complaint = "cannot open the log file " + path + " (" + std::strerror(errno) +
                  "): log lines go to standard error";
    }
  }
  if (!logger_) logger_ = over(std::make_shared<DescriptorSink>(STDERR_FILENO), who);
  if (!complaint.empty()) warn(complaint);
}

Log::~Log() = default;

// spdlog hands every exception of a sink to the error handler above, but its
// formatting may still throw for want of memory.
void Log::info(std::string_view line) noexcept {
  try {
    logger_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
  }
}

void Log::warn(std::string_view line) noexcept {
  try {
    logger_->log(spdlog::level::warn, spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
  }
}

}  // namespace rdmaguard::report
