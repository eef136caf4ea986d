// What the files of this folder share: one function a subcommand, exit codes.
#pragma once

#include <CLI/CLI.hpp>

namespace rdmaguard::cli {

/// Exit codes of every subcommand but `run`, which gives its command's own.
inline constexpr int kOk = 0;
inline constexpr int kUsage = 64;        ///< EX_USAGE of sysexits.h
inline constexpr int kNoInput = 66;      ///< EX_NOINPUT: nothing readable
inline constexpr int kFault = 70;        ///< EX_SOFTWARE: out of memory, or ours
inline constexpr int kCannotWrite = 74;  ///< EX_IOERR: the output could not be written

/// Each adds its subcommand to `app`; when it was chosen, it sets `exitCode`.
void addRun(CLI::App& app, int& exitCode);
void addEnv(CLI::App& app, int& exitCode);
void addRules(CLI::App& app, int& exitCode);
void addVerify(CLI::App& app, int& exitCode);
void addPreflight(CLI::App& app, int& exitCode);

}  // namespace rdmaguard::cli
