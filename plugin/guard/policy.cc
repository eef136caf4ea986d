// See policy.h.
#include "plugin/guard/policy.h"

#include <charconv>
#include <cstdlib>

#include "rdmaguard/params.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::guard {
namespace {

const Param& find(std::string_view name) {
  for (const Param& p : kParams)
    if (p.name == name) return p;
  std::abort();  // a name that the table lacks is a fault of this file, seen by its first test
}

bool oneOf(std::string_view words, std::string_view value) {
  while (!words.empty()) {
    const auto bar = words.find('|');
    if (words.substr(0, bar) == value) return true;
    words = bar == std::string_view::npos ? std::string_view{} : words.substr(bar + 1);
  }
  return false;
}

std::optional<long> integer(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool acceptable(const Param& p, std::string_view value) {
  if (p.name == param::kRequire) return engine::parseRequirement(value).has_value();
  switch (p.kind) {
    case ParamKind::Switch:
    case ParamKind::Choice:
      return oneOf(p.values, value);
    case ParamKind::Integer: {
      const auto n = integer(value);
      return n && *n >= p.low && *n <= p.high;
    }
    case ParamKind::Text:
      return true;
  }
  return false;
}

}  // namespace

PolicyReading readPolicy(const Lookup& lookup) {
  PolicyReading out;
  const auto value = [&](std::string_view name) -> std::string {
    const Param& p = find(name);
    const auto given = lookup(name);
    if (!given || given->empty()) return std::string(p.fallback);
    if (acceptable(p, *given)) return *given;
    out.complaints.push_back(std::string(name) + "=" + *given + " is not understood (" +
                             std::string(p.values) + "); using " +
                             (p.fallback.empty() ? "the default" : std::string(p.fallback)));
    return std::string(p.fallback);
  };
  Policy& policy = out.policy;
  policy.enabled = value(param::kEnable) == "1";
  policy.tap = value(param::kTap) == "1";
  const std::string action = value(param::kOnFallback);
  policy.onFallback = action == "off"     ? OnFallback::Off
                      : action == "abort" ? OnFallback::Abort
                                          : OnFallback::Warn;
  if (value(param::kFailFast) == "1") policy.onFallback = OnFallback::Abort;
  policy.require = value(param::kRequire);
  policy.exitCode = static_cast<int>(integer(value(param::kExitCode)).value_or(78));
  policy.log = value(param::kLog);
  policy.intervalSeconds = static_cast<int>(integer(value(param::kInterval)).value_or(60));
  policy.directory = value(param::kDir);
  policy.maxMebibytes = integer(value(param::kMaxMb)).value_or(1024);
  return out;
}

Lookup environmentLookup() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

}  // namespace rdmaguard::guard
