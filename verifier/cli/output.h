// Options and output that the subcommands with a verdict share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "verifier/cli/terminal.h"

namespace rdmaguard::cli {

struct OutputOptions {
  bool json = false;
  bool quiet = false;
  std::string require = "rdma";
  ColorChoice color = ColorChoice::Auto;
};

/// --require, --json, --quiet and --color.
void addOutputOptions(CLI::App& sub, OutputOptions& options);

/// Writes to standard output. A reader that went away (`| head`) has what it wanted: that is no
/// failure. The caller ignores SIGPIPE.
bool print(const std::string& text);

}  // namespace rdmaguard::cli
