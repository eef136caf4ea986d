// NCCL's settings as NCCL reads them: environment, conf files, numbers.
// Pure functions, any thread. Source: NCCL src/misc/param.cc, 2.19 to 2.30.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/facts.h"

namespace rdmaguard::engine {

/// A conf file's text and where it came from.
struct ConfFile {
  std::string path;
  std::string text;
};

/// The settings in force and those that lost to an earlier place.
struct SettingsInForce {
  std::vector<Setting> effective;  ///< one per name, in order of first appearance
  std::vector<Setting> shadowed;
};

/// The settings of a conf file, source "path:line". NAME=VALUE lines, nothing trimmed and
/// no quotes removed, as NCCL does it; '#' lines are skipped. `ncclVersion` as ncclGetVersion
/// (0 = the newest): before 2.30 a carriage return stays part of the value.
std::vector<Setting> parseConf(std::string_view text, std::string_view path, int ncclVersion = 0);

/// The settings of an environment block ("NAME=VALUE" each), source "environment".
std::vector<Setting> parseEnvironment(std::span<const std::string> block);

/// What NCCL sees: the first place that sets a name wins (NCCL reads conf files with
/// setenv(..., 0)), so pass `files` in NCCL's order. A name set to "" counts as set.
SettingsInForce settingsInForce(std::span<const Setting> environment,
                                std::span<const ConfFile> files, int ncclVersion = 0);

/// The conf files NCCL reads, in its order. `confFile` is $NCCL_CONF_FILE (honoured from
/// 2.23, in place of the file in the home directory), `home` the user's home directory.
std::vector<std::string> confPaths(std::string_view confFile, std::string_view home,
                                   int ncclVersion = 0);

/// The setting of that name, or null.
const Setting* find(std::span<const Setting> settings, std::string_view name) noexcept;

/// A numeric parameter as strtoll(value, NULL, 0) reads it: trailing text is ignored and a
/// word is 0, so NCCL_IB_DISABLE=true means 0. Nothing when empty or out of range: NCCL then
/// takes its default.
std::optional<long long> numberValue(std::string_view value) noexcept;

/// Case-insensitive equality of ASCII words, as NCCL compares NCCL_NET.
bool sameWord(std::string_view a, std::string_view b) noexcept;

}  // namespace rdmaguard::engine
