// See verify_text.h.
#include "verifier/cli/verify_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "verifier/cli/verify_busbw.h"

namespace rdmaguard::cli {
namespace {

using engine::CommVerdict;
using engine::GdrState;
using engine::RankVerdict;

// What a section prints at most; --json has them all.
constexpr std::size_t kMaxCommunicators = 8;
constexpr std::size_t kMaxRanks = 8;
constexpr std::size_t kMaxFiles = 8;

/// The ranks that differ from their communicator, few enough to read.
void ranks(Report& report, std::string_view lead, const std::vector<RankVerdict>& all) {
  for (std::size_t i = 0; i < std::min(all.size(), kMaxRanks); ++i) {
    const RankVerdict& r = all[i];
    std::string text = r.rank >= 0 ? fmt::format("rank {}", r.rank) : std::string("a rank");
    if (!r.host.empty()) text += " on " + r.host;
    if (r.pid > 0) text += fmt::format(" (pid {})", r.pid);
    text += ": " + transportName(r.transport, r.externalName);
    if (!r.source.empty()) text += " [" + r.source + "]";
    report.item(lead, text);
  }
  report.more(lead, all.size(), kMaxRanks);
}

void communicators(Report& report, const std::vector<CommVerdict>& all) {
  if (all.empty()) return;
  report.heading("Communicators");
  for (std::size_t i = 0; i < std::min(all.size(), kMaxCommunicators); ++i) {
    const CommVerdict& c = all[i];
    std::string text = c.id.empty() ? std::string("(not named)") : c.id;
    if (c.nRanks > 0) text += fmt::format(", {} rank{}", c.nRanks, c.nRanks == 1 ? "" : "s");
    if (c.nNodes > 0) text += fmt::format(" on {} node{}", c.nNodes, c.nNodes == 1 ? "" : "s");
    text += ": " + transportName(c.transport, c.externalName);
    if (c.gdr != GdrState::NotApplicable) text += fmt::format(", GPUDirect RDMA {}", name(c.gdr));
    if (!c.hcas.empty()) text += fmt::format(", {}", fmt::join(c.hcas, " "));
    report.item("  - ", text);
    std::vector<RankVerdict> differing;
    for (const RankVerdict& r : c.ranks)
      if (r.transport != c.transport && r.transport != Transport::Unknown) differing.push_back(r);
    if (!differing.empty() && differing.size() < c.ranks.size())
      ranks(report, "       ", differing);
  }
  report.more("  - ", all.size(), kMaxCommunicators);
}

void files(Report& report, const readers::InputResult& input) {
  const auto& names = input.facts.files;
  std::string text =
      fmt::format("{} line{}, ", input.facts.linesRead, input.facts.linesRead == 1 ? "" : "s");
  if (input.facts.linesUnknown > 0)
    text += fmt::format("{} of no kind known here, ", input.facts.linesUnknown);
  text += "from ";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxFiles); ++i)
    text += (i > 0 ? ", " : "") + (names[i] == "-" ? "standard input" : names[i]);
  if (names.size() > kMaxFiles) text += fmt::format(" and {} more files", names.size() - kMaxFiles);
  report.field("read", text);
}

}  // namespace

std::string reportText(const engine::JobVerdict& verdict, const readers::InputResult& input,
                       const ReportStyle& style) {
  Report report(style);
  addHead(report, verdict);
  files(report, input);
  addMissing(report, verdict);
  if (!verdict.offRanks.empty()) {
    report.heading("Ranks that differ");
    ranks(report, "  - ", verdict.offRanks);
  }
  addSignals(report, verdict);
  const std::vector<std::string> busbw = busbwLines(input.facts);
  if (!busbw.empty()) {
    report.heading("Bus bandwidth");
    for (const std::string& line : busbw) report.item("  ", line);
  }
  communicators(report, verdict.communicators);
  addEvidence(report, verdict);
  return report.take();
}

}  // namespace rdmaguard::cli
