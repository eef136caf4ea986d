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
  int exitCode = kOk;
  addPreflight(app, exitCode);
  addVerify(app, exitCode);
  addRun(app, exitCode);
  addEnv(app, exitCode);
  addRules(app, exitCode);
  // After the subcommands, which would inherit it.
  app.footer(
      "Exit codes: preflight and verify give 0 nothing wrong, 1 degraded, 2 not on RDMA, 3 cannot\n"
      "tell, 66 nothing readable; run gives its command's own, or the guard's (78) when the guard "
      "stopped\n"
      "it, and 126 or 127 when it could not be started. All give 64 for wrong usage, 74 for an\n"
      "output that cannot be written and 70 for a fault of their own.\n"
      "'rdmaguard SUBCOMMAND --help' says more.");
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
