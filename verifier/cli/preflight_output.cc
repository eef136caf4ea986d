// See preflight_output.h.
#include "verifier/cli/preflight_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "verifier/engine/case.h"
#include "verifier/engine/job_json.h"
#include "verifier/engine/node_json.h"

namespace rdmaguard::cli {
namespace {

using engine::Obstacle;
using engine::PortView;
using nccl::DryRun;
using nccl::NetTrial;

constexpr std::size_t kMaxLogLines = 12;

struct ObstacleWords {
  Obstacle obstacle;
  std::string_view words;
};

constexpr std::array kObstacles{
    ObstacleWords{Obstacle::NoVerbs, "no verbs device"},
    ObstacleWords{Obstacle::NodeMissing, "its /dev/infiniband node is not here"},
    ObstacleWords{Obstacle::OpenFailed, "its /dev/infiniband node cannot be opened"},
    ObstacleWords{Obstacle::NoProvider, "no provider library"},
    ObstacleWords{Obstacle::LinkLayer, "no InfiniBand or Ethernet port"},
    ObstacleWords{Obstacle::NotActive, "not ACTIVE"},
    ObstacleWords{Obstacle::Filtered, "left out by NCCL_IB_HCA"},
};

std::string standing(const PortView& p) {
  std::vector<std::string_view> words;
  for (const ObstacleWords& o : kObstacles)
    if (p.hit(o.obstacle)) words.push_back(o.words);
  return words.empty() ? "usable" : fmt::format("not usable: {}", fmt::join(words, ", "));
}

std::string portLine(const PortView& p) {
  std::string text = p.device->name;
  if (p.port != nullptr) {
    text += fmt::format(":{} {}", p.port->number, name(p.port->state));
    if (p.port->physState != engine::PhysState::Unknown)
      text += fmt::format("/{}", name(p.port->physState));
    if (p.port->linkLayer != LinkLayer::Unknown)
      text += fmt::format(", {}", name(p.port->linkLayer));
    if (!p.port->rateText.empty()) text += fmt::format(", {}", p.port->rateText);
    if (!p.port->netdev.empty()) text += fmt::format(", {}", p.port->netdev);
  }
  if (p.device->numaNode >= 0) text += fmt::format(", NUMA node {}", p.device->numaNode);
  if (!p.device->firmware.empty()) text += fmt::format(", firmware {}", p.device->firmware);
  return fmt::format("{}: {}", text, standing(p));
}

void addNode(Report& report, const Preflight& all) {
  const engine::NodeFacts& node = all.node;
  report.heading("This node");
  if (!node.hostname.empty())
    report.item("  ", fmt::format("{}{}", node.hostname,
                                  node.container.empty()
                                      ? std::string()
                                      : fmt::format(", in a {} container", node.container)));
  if (!node.devicesKnown) {
    report.item("  - ", "Which RDMA devices there are is not known.");
    return;
  }
  const engine::Case c(node, all.seen);
  for (const PortView& p : c.ports) report.item("  - ", portLine(p));
  if (node.devices.empty()) report.item("  - ", "no RDMA device [/sys/class/infiniband]");
  for (const engine::RdmaDevice& d : node.devices)
    for (const engine::RdmaPort& p : d.ports)
      for (const engine::CounterChange& change : p.changes)
        report.item("  - ", fmt::format("{}:{} {} grew by {} in {:.0f} s [{}]", d.name, p.number,
                                        change.name, change.after - change.before,
                                        node.watchedSeconds, change.source));
}

std::string trialLine(const NetTrial& t) {
  std::string text = t.name;
  if (t.origin != "internal" && t.origin != t.name) text += fmt::format(" ({})", t.origin);
  if (t.state == NetTrial::State::Usable)
    return fmt::format("{}: {} device{}", text, t.devices.size(), t.devices.size() == 1 ? "" : "s");
  return fmt::format("{}: {}", text, t.why.empty() ? "not tried" : t.why);
}

std::vector<std::string_view> tellingLines(std::string_view log) {
  std::vector<std::string_view> lines;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    for (const std::string_view word : {"NET/", " WARN ", "ibverbs", " set by environment"})
      if (line.find(word) != std::string_view::npos) {
        lines.push_back(line);
        break;
      }
  }
  return lines;
}

void addNccl(Report& report, const DryRun& run) {
  if (run.outcome == DryRun::Outcome::NotAsked) return;
  report.heading("The real NCCL");
  report.item(
      "  ",
      fmt::format("{}{} ({}), {:.2f} s",
                  run.versionText.empty() ? std::string("libnccl") : "NCCL " + run.versionText,
                  run.library.empty() ? "" : " " + run.library, run.how, run.seconds));
  if (!run.failure.empty()) report.item("  - ", run.failure);
  for (const NetTrial& t : run.trials) {
    report.item("  - ", trialLine(t));
    if (t.state != NetTrial::State::Usable || t.name == "Socket") continue;
    for (std::size_t i = 0; i < t.devices.size(); ++i)
      report.item("       ", fmt::format("[{}] {}:{}, {:g} Gb/s", i, t.devices[i].name,
                                         t.devices[i].port, t.devices[i].speedMbps / 1000.0));
  }
  const std::vector<std::string_view> lines = tellingLines(run.log);
  if (!lines.empty()) report.item("  ", "It said:");
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxLogLines); ++i)
    report.item("       ", lines[i]);
  report.more("       ", lines.size(), kMaxLogLines);
}

std::string_view name(DryRun::Outcome o) {
  switch (o) {
    case DryRun::Outcome::NotAsked:
      return "not_asked";
    case DryRun::Outcome::Done:
      return "done";
    case DryRun::Outcome::NoLibrary:
      return "no_library";
    case DryRun::Outcome::UnknownRelease:
      return "unknown_release";
    case DryRun::Outcome::Crashed:
      return "crashed";
    case DryRun::Outcome::TimedOut:
      return "timed_out";
  }
  return "not_asked";
}

std::string_view name(NetTrial::State s) {
  switch (s) {
    case NetTrial::State::Usable:
      return "usable";
    case NetTrial::State::Failed:
      return "failed";
    case NetTrial::State::NoDevice:
      return "no_device";
    case NetTrial::State::Excluded:
      return "excluded";
    case NetTrial::State::NotTried:
      return "not_tried";
  }
  return "not_tried";
}

nlohmann::ordered_json ncclJson(const DryRun& run) {
  using Json = nlohmann::ordered_json;
  Json out{{"outcome", name(run.outcome)},
           {"library", run.library},
           {"how", run.how},
           {"version", run.versionText.empty() ? Json() : Json(run.versionText)},
           {"failure", run.failure.empty() ? Json() : Json(run.failure)},
           {"selected", run.outcome == DryRun::Outcome::Done ? Json(run.selected) : Json()},
           {"nets", Json::array()},
           {"seconds", run.seconds},
           {"log", run.log}};
  for (const NetTrial& t : run.trials) {
    Json net{{"name", t.name},
             {"origin", t.origin},
             {"state", name(t.state)},
             {"why", t.why},
             {"devices", Json::array()}};
    for (const nccl::Device& d : t.devices)
      net["devices"].push_back({{"name", d.name},
                                {"port", d.port},
                                {"pci", d.pciPath},
                                {"speed_gbps", d.speedMbps / 1000.0},
                                {"ptr_support", d.ptrSupport}});
    out["nets"].push_back(std::move(net));
  }
  return out;
}

}  // namespace

std::string preflightText(const Preflight& all, const ReportStyle& style) {
  Report report(style);
  // Before the job nothing was seen yet that a finding could explain.
  engine::JobVerdict verdict = all.verdict;
  verdict.causes.clear();
  addHead(report, verdict);
  addMissing(report, verdict);
  addSignals(report, verdict);
  addNode(report, all);
  addNccl(report, all.dryRun);
  addEvidence(report, verdict);
  return report.take();
}

std::string preflightJson(const Preflight& all) {
  auto out = engine::toJson(all.verdict, all.spec.facts);
  out["problems"] = nlohmann::ordered_json::array();
  for (const auto& p : all.spec.problems)
    out["problems"].push_back(
        {{"file", p.file}, {"what", p.what}, {"nothing_read", p.nothingRead}});
  out["node"] = engine::toJson(all.node);
  if (all.dryRun.outcome != DryRun::Outcome::NotAsked) out["nccl"] = ncclJson(all.dryRun);
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace rdmaguard::cli
