// `rdmaguard verify`: the verdict from what a job left behind.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "verifier/cli/command.h"
#include "verifier/cli/output.h"
#include "verifier/cli/verify_help.h"
#include "verifier/cli/verify_text.h"
#include "verifier/engine/job_json.h"
#include "verifier/engine/judge_job.h"
#include "verifier/readers/input.h"
#include "verifier/readers/perf_baseline.h"

namespace rdmaguard::cli {
namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  std::string baseline;
  OutputOptions output;
};

int usage(const std::string& sentence) {
  fmt::print(stderr, "rdmaguard verify: {}\n", sentence);
  return kUsage;
}

std::string named(const std::string& file) {
  return file == "-" ? "standard input" : printable(file);
}

std::string jsonText(const engine::JobVerdict& verdict, const readers::InputResult& input) {
  auto out = engine::toJson(verdict, input.facts);
  out["problems"] = nlohmann::ordered_json::array();
  for (const auto& p : input.problems)
    out["problems"].push_back(
        {{"file", p.file}, {"what", p.what}, {"nothing_read", p.nothingRead}});
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

int verify(VerifyOptions options) {
  const auto wanted = engine::parseRequirement(options.output.require);
  if (!wanted)
    return usage("--require " + options.output.require +
                 " is not rdma, ib or roce, with or without ,gdr");
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (options.files.empty()) {
    if (terminal)
      return usage(
          "nothing to read: name files or folders, pipe text in, or give - and paste it here\n"
          "  rdmaguard verify job.log        'rdmaguard verify --help' says what it reads");
    options.files.emplace_back("-");
  }
  if (terminal && std::find(options.files.begin(), options.files.end(), "-") != options.files.end())
    fmt::print(stderr,
               "rdmaguard verify: paste the text, then press Ctrl-D on a line of its own\n");

  engine::Baseline baseline;
  if (!options.baseline.empty()) {
    baseline = readers::readBaseline(options.baseline);
    if (!baseline.usable())
      return usage("--baseline " + named(options.baseline) + ": " + printable(baseline.problem));
  }
  readers::InputResult input = readers::readInput(options.files);
  if (!options.baseline.empty()) engine::compare(input.facts, baseline);
  const bool nothing =
      std::all_of(input.facts.files.begin(), input.facts.files.end(), [&](const std::string& file) {
        return std::any_of(input.problems.begin(), input.problems.end(),
                           [&](const auto& p) { return p.file == file && p.nothingRead; });
      });
  engine::JobVerdict verdict = engine::judgeJob(input.facts, *wanted);
  if (nothing) verdict.exitCode = kNoInput;
  if (options.output.quiet) return verdict.exitCode;

  for (const auto& p : input.problems)
    fmt::print(stderr, "rdmaguard verify: {}: {}\n", named(p.file), printable(p.what));
  ::signal(SIGPIPE, SIG_IGN);
  if (options.output.json) return print(jsonText(verdict, input)) ? verdict.exitCode : kCannotWrite;
  if (nothing) {
    fmt::print(stderr, "rdmaguard verify: nothing readable: there is no verdict\n");
    return verdict.exitCode;
  }
  const ReportStyle style{useColor(options.output.color, STDOUT_FILENO), columns(STDOUT_FILENO)};
  return print(reportText(verdict, input, style)) ? verdict.exitCode : kCannotWrite;
}

}  // namespace

void addVerify(CLI::App& app, int& exitCode) {
  auto* sub = app.add_subcommand("verify", kVerifyDescription);
  static VerifyOptions options;
  sub->footer(kVerifyFooter);
  sub->add_option("FILE", options.files,
                  "Files and folders in any mix; - is standard input, and so is no FILE.");
  sub->add_option("--baseline", options.baseline,
                  "Bus bandwidths to compare with: what nccl-tests printed, or JSON figures. Only "
                  "the same operation, size, GPU count and NCCL version are compared.");
  addOutputOptions(*sub, options.output);
  sub->callback([&exitCode] { exitCode = verify(options); });
}

}  // namespace rdmaguard::cli
