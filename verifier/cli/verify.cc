// `rdmaguard verify`: the verdict from what a job left behind.
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "verifier/cli/command.h"
#include "verifier/engine/job_json.h"
#include "verifier/engine/judge_job.h"
#include "verifier/readers/input.h"

namespace rdmaguard::cli {
namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
  bool quiet = false;
  std::string require, baseline, color = "auto";
};

nlohmann::ordered_json problemsJson(const std::vector<readers::InputProblem>& problems) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& p : problems)
    out.push_back({{"file", p.file}, {"what", p.what}, {"nothing_read", p.nothingRead}});
  return out;
}

int verify(VerifyOptions& options) {
  engine::Requirement wanted;
  if (options.files.empty()) options.files.emplace_back("-");
  const readers::InputResult input = readers::readInput(options.files);
  const engine::JobVerdict verdict = engine::judgeJob(input.facts, wanted);
  auto out = engine::toJson(verdict, input.facts);
  out["problems"] = problemsJson(input.problems);
  if (!options.quiet)
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  if (input.facts.files.empty()) return kNoInput;
  return verdict.exitCode;
}

}  // namespace

void addVerify(CLI::App& app, int& exitCode) {
  auto* sub =
      app.add_subcommand("verify", "Say from logs, specs and listings whether RDMA is used.");
  static VerifyOptions options;
  sub->add_option("FILE", options.files, "Files, folders, or - for standard input.");
  sub->add_flag("--json", options.json, "Print JSON.");
  sub->add_flag("-q,--quiet", options.quiet, "Print nothing.");
  sub->callback([&exitCode] { exitCode = verify(options); });
}

}  // namespace rdmaguard::cli
