// See verify_text.h.
#include "verifier/cli/verify_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "rdmaguard/wrap.h"
#include "verifier/cli/terminal.h"
#include "verifier/cli/verify_busbw.h"
#include "verifier/engine/verdict_json.h"

namespace rdmaguard::cli {
namespace {

using engine::CommVerdict;
using engine::Finding;
using engine::GdrState;
using engine::RankVerdict;

// What a section prints at most; --json has them all.
constexpr std::size_t kMaxEvidence = 6;
constexpr std::size_t kMaxCommunicators = 8;
constexpr std::size_t kMaxRanks = 8;
constexpr std::size_t kMaxFiles = 8;

constexpr const char* kBold = "1";
constexpr const char* kFaint = "2";
constexpr const char* kRed = "1;31";
constexpr const char* kYellow = "1;33";
constexpr const char* kGreen = "1;32";

const char* colorOf(int exitCode) {
  if (exitCode == 0) return kGreen;
  return exitCode == 2 ? kRed : kYellow;
}

std::string transportName(Transport transport, const std::string& external) {
  return transport == Transport::External && !external.empty() ? external
                                                               : std::string(name(transport));
}

class Report {
 public:
  explicit Report(const ReportStyle& style) : style_(style) {}

  void heading(std::string_view text) { out_ += '\n' + paint(kBold, std::string(text)) + '\n'; }
  /// A sentence, its first line after `lead`, the later ones below its start.
  void item(std::string_view lead, std::string_view text, const char* color = nullptr) {
    const std::string clean = printable(text, 2000);
    const std::string lines =
        style_.width == 0 ? std::string(lead) + clean : wrap(clean, lead, style_.width);
    out_ += (color != nullptr ? paint(color, lines) : lines) + '\n';
  }
  void field(std::string_view label, std::string_view text) {
    item(fmt::format("{:<16}", label), text);
  }
  void evidence(std::string_view lead, const std::vector<Evidence>& all) {
    for (std::size_t i = 0; i < std::min(all.size(), kMaxEvidence); ++i)
      item(lead, fmt::format("{} [{}]", printable(all[i].fact), printable(all[i].source)), kFaint);
    more(lead, all.size(), kMaxEvidence);
  }
  void more(std::string_view lead, std::size_t all, std::size_t shown) {
    if (all > shown) item(lead, fmt::format("and {} more: --json lists them all", all - shown));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  ReportStyle style_;
  std::string out_;
};

bool isCause(const engine::JobVerdict& verdict, const Finding& finding) {
  return std::any_of(verdict.causes.begin(), verdict.causes.end(), [&](const Finding& c) {
    return c.ruleId == finding.ruleId && c.what == finding.what;
  });
}

void findings(Report& report, std::string_view heading, const std::vector<Finding>& all,
              const engine::JobVerdict& verdict, bool numbered) {
  if (all.empty()) return;
  report.heading(heading);
  std::size_t n = 0;
  for (const Finding& f : all) {
    ++n;
    report.item(numbered ? fmt::format("  {}. ", n) : "  - ",
                fmt::format("{} ({}{})", f.what, f.ruleId,
                            isCause(verdict, f) ? "; explains what was seen" : ""));
    report.evidence("       ", f.evidence);
  }
}

std::string gdrText(const engine::Verdict& job) {
  std::string text(name(job.gdrState));
  if (job.gdr == Gdr::Peermem || job.gdr == Gdr::DmaBuf)
    text += fmt::format(" ({})", name(job.gdr));
  if (job.gdrState == GdrState::NotApplicable) text += ": no RDMA carries data";
  return text;
}

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
  const engine::Verdict& job = verdict.job;
  report.item("", verdict.sentence, colorOf(verdict.exitCode));
  report.item("", "");
  report.field("RDMA engaged", name(job.engaged));
  report.field("transport", transportName(job.transport, job.externalName));
  report.field("GPUDirect RDMA", gdrText(job));
  if (verdict.nodes > 0) report.field("nodes", std::to_string(verdict.nodes));
  if (job.requirement == engine::Met::Violated) report.field("requirement", job.violation);
  files(report, input);

  findings(report, "Missing conditions", job.missing, verdict, true);
  const std::vector<std::string> fix = engine::orderedFix(job);
  if (!fix.empty()) {
    report.heading("Fix, in this order");
    for (std::size_t i = 0; i < fix.size(); ++i) report.item(fmt::format("  {}. ", i + 1), fix[i]);
  }
  if (!verdict.offRanks.empty()) {
    report.heading("Ranks that differ");
    ranks(report, "  - ", verdict.offRanks);
  }
  findings(report, "Degraded signals", job.degraded, verdict, false);
  findings(report, "Notes", job.notes, verdict, false);
  if (!verdict.gather.empty()) {
    report.heading("To know more, gather");
    for (const std::string& what : verdict.gather) report.item("  - ", what);
  }
  const std::vector<std::string> busbw = busbwLines(input.facts);
  if (!busbw.empty()) {
    report.heading("Bus bandwidth");
    for (const std::string& line : busbw) report.item("  ", line);
  }
  communicators(report, verdict.communicators);
  if (!job.evidence.empty()) {
    report.heading("Evidence for transport and GPUDirect RDMA");
    report.evidence("  - ", job.evidence);
  }
  return report.take();
}

}  // namespace rdmaguard::cli
