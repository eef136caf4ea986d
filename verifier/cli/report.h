// A report for people, section by section: what the verdicts of all subcommands look like. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rdmaguard/transport.h"
#include "verifier/engine/judge_job.h"

namespace rdmaguard::cli {

struct ReportStyle {
  bool color = false;
  std::size_t width = 0;  ///< columns to wrap at; 0: lines are left whole
};

/// Lines as they will be printed. What comes from an input is made fit for a terminal.
class Report {
 public:
  explicit Report(const ReportStyle& style) : style_(style) {}

  void heading(std::string_view text);
  /// A sentence, its first line after `lead`, the later ones below its start. `color`: an SGR
  /// code, null for none.
  void item(std::string_view lead, std::string_view text, const char* color = nullptr);
  void field(std::string_view label, std::string_view text);
  void evidence(std::string_view lead, const std::vector<Evidence>& all);
  /// "and N more" where `all` is more than was shown.
  void more(std::string_view lead, std::size_t all, std::size_t shown);
  std::string take() { return std::move(out_); }

 private:
  std::string paint(const char* code, const std::string& text) const;

  ReportStyle style_;
  std::string out_;
};

/// The transport's name; for an external plugin its own.
std::string transportName(Transport transport, const std::string& external);

/// The sentence, then RDMA, transport, GPUDirect RDMA, and the requirement where it is not met.
void addHead(Report& report, const engine::JobVerdict& verdict);
/// Missing conditions and the fix in order.
void addMissing(Report& report, const engine::JobVerdict& verdict);
/// Degraded signals, notes, what to gather.
void addSignals(Report& report, const engine::JobVerdict& verdict);
/// What transport and GPUDirect RDMA stand on.
void addEvidence(Report& report, const engine::JobVerdict& verdict);

}  // namespace rdmaguard::cli
