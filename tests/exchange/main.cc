// One side of an exchange as a program of its own, with the command's options: the guest's runs
// start two.
#include <cstdio>

#include "verifier/cli/command.h"
#include "verifier/cli/preflight_exchange.h"

int main(int argc, char** argv) {
  using namespace rdmaguard::cli;
  CLI::App app("One side of rdmaguard preflight --listen and --peer.");
  ExchangeOptions options;
  addExchangeOptions(app, options);
  app.add_option("--nccl", options.nccl);
  app.add_flag("--json", options.json);
  app.add_flag("--quiet", options.quiet);
  CLI11_PARSE(app, argc, argv);
  return options.asked() ? exchange(options) : kUsage;
}
