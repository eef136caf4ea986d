// `rdmaguard preflight`: the verdict on this node before the job.
#include "verifier/engine/preflight.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "verifier/cli/command.h"
#include "verifier/cli/output.h"
#include "verifier/cli/preflight_exchange.h"
#include "verifier/cli/preflight_help.h"
#include "verifier/cli/preflight_output.h"
#include "verifier/nccl/selection.h"
#include "verifier/probe/probe.h"

namespace rdmaguard::cli {
namespace {

struct PreflightOptions {
  std::string nccl;
  std::vector<std::string> pod;
  std::string root = "/";
  double watch = 0;
  double limit = 10;
  OutputOptions output;
  ExchangeOptions exchange;
};

int usage(const std::string& sentence) {
  fmt::print(stderr, "rdmaguard preflight: {}\n", sentence);
  return kUsage;
}

// Libraries other than our own may hang; a node is read faster than that.
constexpr std::chrono::milliseconds kRegistrationLimit{1500};

engine::NodeFacts readHere(const PreflightOptions& options) {
  probe::ProbeOptions how;
  how.root = options.root;
  engine::NodeFacts node = probe::readWholeNode(how);
  if (options.root == "/") probe::tryRegistration(node, kRegistrationLimit);
  if (options.watch > 0) {
    const std::chrono::duration<double> apart(options.watch);
    std::this_thread::sleep_for(apart);
    probe::readChanges(how, apart, node);
  }
  return node;
}

/// The node's ports beside the spec, so that NCCL_IB_HCA in it is held against what is here.
engine::PortListing asListing(const engine::NodeFacts& node) {
  engine::PortListing listing;
  listing.tool = engine::ListingTool::Sysfs;
  listing.host = node.hostname;
  listing.devices = node.devices;
  listing.hardware.resize(node.devices.size());
  return listing;
}

void judgeSpec(const PreflightOptions& options, const engine::Requirement& wanted, Preflight& all) {
  all.spec = readers::readInput(options.pod);
  engine::JobFacts facts = all.spec.facts;
  if (!all.node.devices.empty()) facts.ports.listings.push_back(asListing(all.node));
  engine::addSpec(engine::judgeJob(facts, wanted), all.verdict);
}

/// --listen and --peer take the place of the verdict on this node.
int exchangeHere(PreflightOptions& options) {
  if (!options.pod.empty() || options.watch > 0 || options.root != "/")
    return usage("--listen and --peer go with neither --pod nor --watch nor --root");
  options.exchange.nccl = options.nccl;
  options.exchange.json = options.output.json;
  options.exchange.quiet = options.output.quiet;
  return exchange(options.exchange);
}

int preflight(PreflightOptions& options) {
  if (options.exchange.asked()) return exchangeHere(options);
  const auto wanted = engine::parseRequirement(options.output.require);
  if (!wanted)
    return usage("--require " + options.output.require +
                 " is not rdma, ib or roce, with or without ,gdr");
  if (options.watch < 0 || options.watch > 86400 || !std::isfinite(options.watch))
    return usage("--watch takes seconds, up to a day");
  if (options.limit <= 0 || options.limit > 600 || !std::isfinite(options.limit))
    return usage("--limit takes seconds, above 0 and up to 600");
  std::error_code error;
  if (!std::filesystem::is_directory(options.root, error))
    return usage("--root " + printable(options.root) + " is no folder");
  if (options.root != "/" && !options.nccl.empty())
    return usage("--nccl asks this machine, --root reads another tree: one of them");

  Preflight all;
  all.node = readHere(options);
  if (!options.nccl.empty())
    all.dryRun =
        nccl::dryRun(options.nccl, std::chrono::milliseconds(std::lround(options.limit * 1000)));
  all.seen = all.dryRun.outcome == nccl::DryRun::Outcome::Done
                 ? nccl::selectionOf(all.dryRun, all.node)
                 : engine::foreseen(all.node);
  all.verdict = engine::judgePreflight(all.node, all.seen, *wanted);
  if (!options.pod.empty()) judgeSpec(options, *wanted, all);
  const bool noSpec = !options.pod.empty() && all.spec.facts.specs.roles.empty();
  if (options.output.quiet) return noSpec ? kNoInput : all.verdict.exitCode;
  for (const auto& p : all.spec.problems)
    fmt::print(stderr, "rdmaguard preflight: {}: {}\n", printable(p.file), printable(p.what));
  if (noSpec) {
    fmt::print(stderr, "rdmaguard preflight: --pod: there is no pod or batch script in it\n");
    return kNoInput;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const ReportStyle style{useColor(options.output.color, STDOUT_FILENO), columns(STDOUT_FILENO)};
  const std::string text = options.output.json ? preflightJson(all) : preflightText(all, style);
  return print(text) ? all.verdict.exitCode : kCannotWrite;
}

}  // namespace

void addPreflight(CLI::App& app, int& exitCode) {
  auto* sub = app.add_subcommand("preflight", kPreflightDescription);
  static PreflightOptions options;
  sub->footer(kPreflightFooter);
  sub->add_option("--nccl", options.nccl,
                  "Ask this libnccl what it would select: a path, or auto for the one that the "
                  "python3 of PATH or else the loader would load.")
      ->type_name("PATH|auto");
  sub->add_option("--pod", options.pod,
                  "Check the manifest or batch script that is about to be submitted too.")
      ->type_name("FILE");
  sub->add_option("--watch", options.watch,
                  "Read the ports' counters again after so many seconds and name those that grew.")
      ->type_name("SECONDS");
  sub->add_option("--limit", options.limit, "Seconds that --nccl may take.")->capture_default_str();
  sub->add_option("--root", options.root,
                  "Read the node's files below this folder: a copy of another node's /sys, /proc, "
                  "/dev and /etc.")
      ->type_name("DIR")
      ->capture_default_str();
  addOutputOptions(*sub, options.output);
  addExchangeOptions(*sub, options.exchange);
  sub->callback([&exitCode] { exitCode = preflight(options); });
}

}  // namespace rdmaguard::cli
