// See report.h.
#include "verifier/cli/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmaguard/wrap.h"
#include "verifier/cli/terminal.h"
#include "verifier/engine/verdict_json.h"

namespace rdmaguard::cli {
namespace {

using engine::Finding;
using engine::GdrState;

// What a finding shows at most; --json has it all.
constexpr std::size_t kMaxEvidence = 6;

constexpr const char* kBold = "1";
constexpr const char* kFaint = "2";
constexpr const char* kRed = "1;31";
constexpr const char* kYellow = "1;33";
constexpr const char* kGreen = "1;32";

const char* colorOf(int exitCode) {
  if (exitCode == 0) return kGreen;
  return exitCode == 2 ? kRed : kYellow;
}

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
  if (job.gdrState == GdrState::NotApplicable)
    text += job.engaged == engine::Engaged::Unknown ? ": no connection is shown"
                                                    : ": no RDMA carries data";
  return text;
}

}  // namespace

void Report::heading(std::string_view text) {
  out_ += '\n' + paint(kBold, std::string(text)) + '\n';
}

void Report::item(std::string_view lead, std::string_view text, const char* color) {
  const std::string clean = printable(text, 2000);
  const std::string lines =
      style_.width == 0 ? std::string(lead) + clean : wrap(clean, lead, style_.width);
  out_ += (color != nullptr ? paint(color, lines) : lines) + '\n';
}

void Report::field(std::string_view label, std::string_view text) {
  item(fmt::format("{:<16}", label), text);
}

void Report::evidence(std::string_view lead, const std::vector<Evidence>& all) {
  for (std::size_t i = 0; i < std::min(all.size(), kMaxEvidence); ++i)
    item(lead, fmt::format("{} [{}]", printable(all[i].fact), printable(all[i].source)), kFaint);
  more(lead, all.size(), kMaxEvidence);
}

void Report::more(std::string_view lead, std::size_t all, std::size_t shown) {
  if (all > shown) item(lead, fmt::format("and {} more: --json lists them all", all - shown));
}

std::string Report::paint(const char* code, const std::string& text) const {
  return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string transportName(Transport transport, const std::string& external) {
  return transport == Transport::External && !external.empty() ? external
                                                               : std::string(name(transport));
}

void addHead(Report& report, const engine::JobVerdict& verdict) {
  const engine::Verdict& job = verdict.job;
  report.item("", verdict.sentence, colorOf(verdict.exitCode));
  report.item("", "");
  report.field("RDMA engaged", name(job.engaged));
  report.field("transport", transportName(job.transport, job.externalName));
  report.field("GPUDirect RDMA", gdrText(job));
  if (verdict.nodes > 0) report.field("nodes", std::to_string(verdict.nodes));
  if (job.requirement == engine::Met::Violated) report.field("requirement", job.violation);
}

void addMissing(Report& report, const engine::JobVerdict& verdict) {
  findings(report, "Missing conditions", verdict.job.missing, verdict, true);
  const std::vector<std::string> fix = engine::orderedFix(verdict.job);
  if (fix.empty()) return;
  report.heading("Fix, in this order");
  for (std::size_t i = 0; i < fix.size(); ++i) report.item(fmt::format("  {}. ", i + 1), fix[i]);
}

void addSignals(Report& report, const engine::JobVerdict& verdict) {
  findings(report, "Degraded signals", verdict.job.degraded, verdict, false);
  findings(report, "Notes", verdict.job.notes, verdict, false);
  if (verdict.gather.empty()) return;
  report.heading("To know more, gather");
  for (const std::string& what : verdict.gather) report.item("  - ", what);
}

void addEvidence(Report& report, const engine::JobVerdict& verdict) {
  if (verdict.job.evidence.empty()) return;
  report.heading("Evidence for transport and GPUDirect RDMA");
  report.evidence("  - ", verdict.job.evidence);
}

}  // namespace rdmaguard::cli
