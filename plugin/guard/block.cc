// See block.h.
#include "plugin/guard/block.h"

#include <fmt/format.h>

#include <vector>

#include "plugin/report/text.h"

namespace rdmaguard::guard {
namespace {

constexpr std::string_view kIndent = "              ";

void section(std::string& out, std::string_view title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  const std::string text = report::numbered(items, kIndent);
  out += fmt::format("  {:<{}}{}", title, kIndent.size() - 2, text.substr(kIndent.size()));
}

std::string sizes(const CommunicatorFacts& comm) {
  std::string out = comm.nNodes > 0 ? fmt::format("{} nodes", comm.nNodes) : "2 or more nodes";
  if (comm.nRanks > 0) out += fmt::format(", {} ranks", comm.nRanks);
  if (comm.rank >= 0) out += fmt::format("; this is rank {}", comm.rank);
  return out;
}

std::string outcome(const Policy& policy) {
  if (policy.onFallback == OnFallback::Abort)
    return fmt::format(
        "aborting this process with exit code {} (NCCL_RDMAGUARD_FAIL_FAST=1 or "
        "NCCL_RDMAGUARD_ON_FALLBACK=abort)",
        policy.exitCode);
  return "the job goes on; NCCL_RDMAGUARD_FAIL_FAST=1 would stop it here";
}

std::string sentence(const Evidence& e) {
  return fmt::format("{} ({}: {})", e.fact, name(e.certainty), e.source);
}

std::string network(const engine::Verdict& v) {
  return v.transport == Transport::External && !v.externalName.empty()
             ? v.externalName
             : std::string(name(v.transport));
}

}  // namespace

std::string violationBlock(const CommunicatorFacts& comm, const engine::Verdict& verdict,
                           const std::string& ncclVersion, const std::string& devices,
                           const Policy& policy) {
  const bool socket = verdict.transport == Transport::Socket;
  std::string out =
      socket ? "THIS JOB RUNS OVER TCP (NET/Socket), NOT RDMA\n"
             : fmt::format("THIS JOB IS NOT ON THE NETWORK IT REQUIRES ({})\n", policy.require);
  std::string what =
      fmt::format("communicator {} ({}), transport={} devices={} gdr={}", report::commId(comm.id),
                  sizes(comm), network(verdict), devices, name(verdict.gdr));
  if (!ncclVersion.empty()) what += ", NCCL " + ncclVersion;
  section(out, "what", {what + ". " + verdict.violation});

  std::vector<std::string> evidence, causes, fixes;
  for (const Evidence& e : verdict.evidence) evidence.push_back(sentence(e));
  const auto& findings = verdict.missing.empty() ? verdict.degraded : verdict.missing;
  for (const engine::Finding& f : findings) {
    causes.push_back(fmt::format("{} ({})", f.what, f.ruleId));
    for (const Evidence& e : f.evidence) evidence.push_back(sentence(e));
    if (!f.fix.empty()) fixes.push_back(f.fix);
  }
  section(out, "evidence", evidence);
  section(out, causes.size() > 1 ? "causes" : "cause", causes);
  section(out, "fix", fixes);
  if (socket)
    section(out, "cost",
            {"collectives between nodes typically run 5 to 20 times slower over TCP, while every "
             "GPU is billed at the full rate"});
  section(out, "now", {outcome(policy)});
  out.pop_back();
  return out;
}

std::string violationLine(const CommunicatorFacts& comm, const engine::Verdict& verdict,
                          const Policy& policy) {
  std::string out = fmt::format("comm {} ({}) transport={}: ", report::commId(comm.id), sizes(comm),
                                network(verdict));
  out += verdict.missing.empty() ? verdict.violation : verdict.missing.front().what;
  if (policy.onFallback == OnFallback::Abort)
    out += fmt::format(" Aborting with exit code {}.", policy.exitCode);
  return out + " Another process of this node says more.";
}

}  // namespace rdmaguard::guard
