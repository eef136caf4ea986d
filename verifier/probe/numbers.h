// Numbers as the kernel writes them into its files. Header only, pure, any thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmaguard::probe {

/// The number a text begins with; nothing where it begins with none or it does not fit.
inline std::optional<std::uint64_t> number(std::string_view text, int base = 10) noexcept {
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}

/// The same after "0x", which LIDs and PCI classes carry.
inline std::optional<std::uint64_t> hexNumber(std::string_view text) noexcept {
  if (!text.starts_with("0x")) return std::nullopt;
  return number(text.substr(2), 16);
}

/// The same with a sign, or `otherwise`.
inline int leadingNumber(std::string_view text, int otherwise) noexcept {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace rdmaguard::probe
