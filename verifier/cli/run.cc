// `rdmaguard run -- CMD`: runs a command with the guard loaded into every NCCL in it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "rdmaguard/params.h"
#include "verifier/cli/child.h"
#include "verifier/cli/command.h"
#include "verifier/cli/run_summary.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "librdmaguard.so";

struct RunOptions {
  std::vector<std::string> command;
  bool failFast = false;
  bool quiet = false;
  std::optional<int> exitCode, interval;
  std::string onFallback, require, log, directory, plugin, summaryFile;
};

/// The plugin beside this command: as built, as installed, or as the user said.
std::optional<fs::path> findPlugin(const std::string& given) {
  std::error_code error;
  if (!given.empty()) {
    const fs::path path = fs::absolute(given, error);
    if (fs::is_regular_file(path, error)) return path;
    return std::nullopt;
  }
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {here / "../lib", here, here / "../lib64"})
    if (fs::is_regular_file(folder / kPlugin, error)) return fs::canonical(folder / kPlugin, error);
  return std::nullopt;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// A folder for this run's JSON lines that is gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "rdmaguard-run.XXXXXX").string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int usage(const std::string& sentence) {
  fmt::print(stderr, "rdmaguard run: {}\n", sentence);
  return kUsage;
}

int run(const RunOptions& options) {
  if (options.command.empty())
    return usage("no command: rdmaguard run [OPTIONS] -- COMMAND [ARG...]");
  if (!options.require.empty() && !engine::parseRequirement(options.require))
    return usage("--require " + options.require + " is not rdma, ib or roce, with or without ,gdr");
  const auto plugin = findPlugin(options.plugin);
  if (!plugin)
    return usage(
        options.plugin.empty()
            ? fmt::format("{} was not found beside this command; name it with --plugin", kPlugin)
            : fmt::format("there is no file {}", options.plugin));
  const std::string profiler = variable("NCCL_PROFILER_PLUGIN");
  if (!profiler.empty() && profiler.find("rdmaguard") == std::string::npos)
    return usage("NCCL_PROFILER_PLUGIN=" + profiler +
                 " is set, and NCCL takes one profiler: unset it to run with the guard");

  std::vector<std::pair<std::string, std::string>> settings;
  const auto set = [&](std::string_view name, const std::string& value) {
    settings.emplace_back(std::string(name), value);
  };
  // A bare lib*.so name found through LD_LIBRARY_PATH opens in every release: 2.23 to 2.25
  // know no prefix, and 2.27.3 refuses paths.
  const std::string folder = plugin->parent_path().string();
  const std::string searched = variable("LD_LIBRARY_PATH");
  set("LD_LIBRARY_PATH", searched.empty() ? folder : folder + ":" + searched);
  set("NCCL_PROFILER_PLUGIN", plugin->filename().string());
  if (options.failFast) set(param::kFailFast, "1");
  if (!options.onFallback.empty()) set(param::kOnFallback, options.onFallback);
  if (!options.require.empty()) set(param::kRequire, options.require);
  if (!options.log.empty()) set(param::kLog, options.log);
  if (options.exitCode) set(param::kExitCode, std::to_string(*options.exitCode));
  if (options.interval) set(param::kInterval, std::to_string(*options.interval));

  std::string directory =
      options.directory.empty() ? variable(std::string(param::kDir).c_str()) : options.directory;
  std::optional<ScratchFolder> scratch;
  if (directory.empty()) directory = scratch.emplace().path();
  if (!directory.empty()) set(param::kDir, directory);

  const auto since =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  const ChildResult child = runChild(options.command, settings);
  if (!child.startFailure.empty()) {
    fmt::print(stderr, "rdmaguard run: {}\n", child.startFailure);
    return child.exitCode;
  }
  const RunSummary summary = readRun(directory, since);
  // A launcher turns its worker's 78 into a code of its own; the guard's says more.
  const int exitCode = child.exitCode != 0 && summary.aborted() && summary.guardExitCode > 0
                           ? summary.guardExitCode
                           : child.exitCode;
  if (!options.quiet)
    fmt::print(stderr, "{}", summaryText(summary, exitCode, ::isatty(STDERR_FILENO) == 1));
  if (!options.summaryFile.empty()) {
    std::ofstream out(options.summaryFile);
    out << summaryJson(summary, exitCode)
               .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
        << '\n';
    if (!out.flush()) fmt::print(stderr, "rdmaguard run: cannot write {}\n", options.summaryFile);
  }
  return exitCode;
}

}  // namespace

void addRun(CLI::App& app, int& exitCode) {
  auto* sub = app.add_subcommand(
      "run", "Run a command with the guard loaded into every NCCL in it, and give its verdict.");
  static RunOptions options;
  sub->footer(
      "The guard is loaded as NCCL's profiler (NCCL 2.23 and later); the command's children "
      "inherit\n"
      "it. The verdict is printed to standard error when the command ends. The exit code is the\n"
      "command's own; when the guard stopped the job, the guard's, whatever a launcher made of "
      "it.\n"
      "Example: rdmaguard run --fail-fast -- torchrun --nproc-per-node 8 train.py");
  sub->add_flag("--fail-fast", options.failFast,
                "Stop the job as soon as a communicator of two or more nodes is not on RDMA.");
  sub->add_option("--on-fallback", options.onFallback, "What to do then (default: warn).")
      ->check(CLI::IsMember({"off", "warn", "abort"}));
  sub->add_option("--require", options.require, "The network wanted: rdma, ib or roce, [,gdr].");
  sub->add_option("--exit-code", options.exitCode, "Exit code of a stopped job (default: 78).")
      ->check(CLI::Range(1, 255));
  sub->add_option("--interval", options.interval, "Seconds between lines of live busbw; 0: none.")
      ->check(CLI::Range(0, 86400));
  sub->add_option("--log", options.log, "The guard's log file; %h host, %p process, %r rank.");
  sub->add_option("--dir", options.directory, "Keep each process's JSON lines in this directory.");
  sub->add_option("--summary", options.summaryFile, "Write the verdict as JSON to this file too.");
  sub->add_option("--plugin", options.plugin, "The librdmaguard.so to load.");
  sub->add_flag("-q,--quiet", options.quiet, "Print no verdict.");
  sub->add_option("command", options.command, "The command and its arguments, after --.");
  sub->positionals_at_end();
  sub->callback([&exitCode] { exitCode = run(options); });
}

}  // namespace rdmaguard::cli
