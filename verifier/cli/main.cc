// The `rdmaguard` command: one file of this folder a subcommand.
#include <cstdio>
#include <exception>

#include "verifier/cli/command.h"

namespace rdmaguard::cli {
namespace {

int command(int argc, char** argv) {
  CLI::App app{
      "Keeps NCCL jobs on the network they were meant for: says which transport a job's "
      "communicators really run on, and why it is not RDMA where it is not.",
      "rdmaguard"};
  app.set_version_flag("--version", "rdmaguard " RDMAGUARD_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: run gives its command's own, or the guard's (78) when the guard stopped it;\n"
      "64 wrong usage, 126 and 127 the command could not be started.\n"
      "'rdmaguard SUBCOMMAND --help' says more.");
  int exitCode = kOk;
  addVerify(app, exitCode);
  addRun(app, exitCode);
  addEnv(app, exitCode);
  addRules(app, exitCode);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  return std::fflush(stdout) == 0 ? exitCode : kCannotWrite;
}

}  // namespace
}  // namespace rdmaguard::cli

int main(int argc, char** argv) {
  try {
    return rdmaguard::cli::command(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rdmaguard: %s\n", e.what());
    return rdmaguard::cli::kFault;
  }
}
