// Small steps over text that NCCL printed. Used by the log reader's files. Pure.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace rdmaguard::readers::nccl_log {

constexpr bool isDigitChar(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool isHexChar(char c) {
  return isDigitChar(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// May stand in a host name; '_' too, which container names have.
constexpr bool isHostNameChar(char c) {
  return isDigitChar(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_';
}

constexpr char lowerChar(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Without blanks, tabs and carriage returns at either end.
constexpr std::string_view withoutBlanks(std::string_view s) {
  constexpr auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

inline bool takeWords(std::string_view& s, std::string_view words) {
  if (!s.starts_with(words)) return false;
  s.remove_prefix(words.size());
  return true;
}

/// Takes a decimal number off the front; false where there is none that fits.
template <typename Number>
bool takeDecimal(std::string_view& s, Number& out) {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
  if (error != std::errc{}) return false;
  s.remove_prefix(static_cast<std::size_t>(end - s.data()));
  return true;
}

/// Up to the first of `ends`, or everything.
constexpr std::string_view upTo(std::string_view s, std::string_view ends) {
  return s.substr(0, s.find_first_of(ends));
}

/// What follows `words` in `s`; empty where they are not in it.
constexpr std::string_view after(std::string_view s, std::string_view words) {
  const auto at = s.find(words);
  return at == std::string_view::npos ? std::string_view{} : s.substr(at + words.size());
}

/// Ignoring the case of ASCII letters; `words` in lower case.
constexpr bool startsWithAnyCase(std::string_view s, std::string_view words) {
  if (s.size() < words.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (lowerChar(s[i]) != words[i]) return false;
  return true;
}

/// Where `words` (in lower case) stand in `s`, ignoring the case; npos: nowhere.
constexpr std::size_t findAnyCase(std::string_view s, std::string_view words) {
  for (std::size_t i = 0; i + words.size() <= s.size(); ++i)
    if (startsWithAnyCase(s.substr(i), words)) return i;
  return std::string_view::npos;
}

}  // namespace rdmaguard::readers::nccl_log
