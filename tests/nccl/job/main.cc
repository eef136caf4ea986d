// nccl-job: a small distributed job without a GPU, around the real libnccl.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "options.h"

namespace {

constexpr const char* kAbout =
    "Does around a profiler plugin what NCCL does, in NCCL's order, with the real libnccl: net\n"
    "selection, plugin loading, connections, and ring all-reduces of float32 over NCCL's own IB\n"
    "transport, one process a rank, each rank a node of its own.\n\n"
    "There is no GPU in it: data lies in host memory, no kernel runs, and the kernel times given\n"
    "to the profiler are the monotonic clock around the real transfers. Where NCCL chooses Socket\n"
    "the data goes over plain TCP of this job's own, since NCCL's Socket transport cannot connect\n"
    "without a CUDA driver. External net plugins are not loaded; proxy control and net plugin\n"
    "events are not made.\n\n"
    "Exit status: 0; 1 failure; 64 usage; 70 a rank lost its peer; 124 the limit was hit;\n"
    "otherwise that of the first rank that ended with another (a guard's 78, say).";

int run(int argc, char** argv) {
  rdmaguard::job::Options options;
  CLI::App app{kAbout, "nccl-job"};
  app.add_option("--nccl", options.nccl, "libnccl.so.2 to use, as the wheels ship it (unstripped)")
      ->envname("RDMAGUARD_LIBNCCL")
      ->capture_default_str();
  app.add_option("--ranks", options.ranks)->check(CLI::Range(2, 64))->capture_default_str();
  app.add_option("--nodes", options.nodes, "nodes the profiler is told of; default one a rank");
  app.add_option("--bytes", options.bytes, "bytes of one all-reduce")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations)->capture_default_str();
  app.add_option("--seconds", options.seconds, "as many collectives as fit, instead");
  app.add_option("--pause-ms", options.pauseMs, "between two collectives");
  app.add_option("--channels", options.channels, "default one a device, at most 4")
      ->check(CLI::Range(1, 32));
  app.add_option("--piece", options.pieceBytes, "bytes of one transfer at most")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--limit", options.limitSeconds, "seconds")->capture_default_str();
  app.add_option("--json", options.json, "write every rank's figures there");
  app.add_flag("--dry-run", options.dryRun,
               "one process, rank 0 of --ranks: selection and plugin only, no connection");
  app.add_flag("--quiet", options.quiet, "no result lines");
  app.add_option("--rank", options.rank)->group("");
  app.add_option("--meeting-place", options.meetingPlace)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : rdmaguard::job::kExitUsage;
  }
  if (options.rank >= 0 || options.dryRun) return rdmaguard::job::runRank(options);
  return rdmaguard::job::runRanks(options, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nccl-job: %s\n", error.what());
    return rdmaguard::job::kExitFailure;
  }
}
