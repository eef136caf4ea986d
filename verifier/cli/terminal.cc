// See terminal.h.
#include "verifier/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rdmaguard::cli {

bool useColor(ColorChoice choice, int fd) {
  if (choice != ColorChoice::Auto) return choice == ColorChoice::Always;
  const char* const off = std::getenv("NO_COLOR");
  if (off != nullptr && *off != '\0') return false;
  const char* const term = std::getenv("TERM");
  if (term != nullptr && std::strcmp(term, "dumb") == 0) return false;
  return ::isatty(fd) == 1;
}

std::size_t columns(int fd) {
  constexpr std::size_t kLeast = 40;
  winsize size{};
  if (::isatty(fd) == 1 && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<std::size_t>(size.ws_col, kLeast);
  const char* const given = std::getenv("COLUMNS");
  if (given == nullptr) return ::isatty(fd) == 1 ? 80 : 0;
  const long n = std::strtol(given, nullptr, 10);
  return n > 0 && n < 10'000 ? std::max(static_cast<std::size_t>(n), kLeast) : 0;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  for (const char c : text) {
    if (out.size() >= most) {
      // Not within a character of several bytes.
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0U) == 0x80U)
        out.pop_back();
      if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0U) out.pop_back();
      return out + "...";
    }
    const auto b = static_cast<unsigned char>(c);
    if (c == '\t' || c == '\n' || c == '\r')
      out += ' ';
    else
      out += b < 0x20 || b == 0x7f ? '?' : c;
  }
  return out;
}

}  // namespace rdmaguard::cli
