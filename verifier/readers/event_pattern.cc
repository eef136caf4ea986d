// See event_pattern.h.
#include "verifier/readers/event_pattern.h"

#include <array>
#include <charconv>

namespace rdmaguard::readers {
namespace {

struct Errno {
  int number;
  std::string_view name, text;
};
// Linux's numbers, glibc's words.
constexpr std::array<Errno, 27> kErrnos{{
    {1, "EPERM", "Operation not permitted"},
    {2, "ENOENT", "No such file or directory"},
    {5, "EIO", "Input/output error"},
    {11, "EAGAIN", "Resource temporarily unavailable"},
    {12, "ENOMEM", "Cannot allocate memory"},
    {13, "EACCES", "Permission denied"},
    {14, "EFAULT", "Bad address"},
    {16, "EBUSY", "Device or resource busy"},
    {19, "ENODEV", "No such device"},
    {22, "EINVAL", "Invalid argument"},
    {24, "EMFILE", "Too many open files"},
    {25, "ENOTTY", "Inappropriate ioctl for device"},
    {28, "ENOSPC", "No space left on device"},
    {32, "EPIPE", "Broken pipe"},
    {38, "ENOSYS", "Function not implemented"},
    {93, "EPROTONOSUPPORT", "Protocol not supported"},
    {95, "EOPNOTSUPP", "Operation not supported"},
    {99, "EADDRNOTAVAIL", "Cannot assign requested address"},
    {101, "ENETUNREACH", "Network is unreachable"},
    {103, "ECONNABORTED", "Software caused connection abort"},
    {104, "ECONNRESET", "Connection reset by peer"},
    {110, "ETIMEDOUT", "Connection timed out"},
    {111, "ECONNREFUSED", "Connection refused"},
    {113, "EHOSTUNREACH", "No route to host"},
    {115, "EINPROGRESS", "Operation now in progress"},
    {121, "EREMOTEIO", "Remote I/O error"},
    {61, "ENODATA", "No data available"},
}};

}  // namespace

std::string_view after(std::string_view text, std::string_view key) noexcept {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  const auto from = text.find_first_not_of(' ');
  return from == std::string_view::npos ? std::string_view{} : text.substr(from);
}

std::string_view upTo(std::string_view text, std::string_view ends) noexcept {
  return text.substr(0, text.find_first_of(ends));
}

long numberAt(std::string_view text, long none) noexcept {
  long value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? value : none;
}

long numberAfter(std::string_view text, std::string_view key, long none) noexcept {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return none;
  text.remove_prefix(at + key.size());
  const auto from = text.find_first_not_of(" =:(");
  return from == std::string_view::npos ? none : numberAt(text.substr(from), none);
}

std::string brief(std::string_view text) {
  constexpr std::size_t kMost = 160;
  if (text.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.' || text.back() == '\r'))
    text.remove_suffix(1);
  return std::string(text);
}

std::string_view errnoOf(std::string_view text) noexcept {
  const long number = numberAt(text);
  for (const Errno& e : kErrnos)
    if (e.number == number || text.starts_with(e.text) || text.starts_with(e.name)) return e.name;
  return {};
}

}  // namespace rdmaguard::readers
