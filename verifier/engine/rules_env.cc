// See rules_env.h.
#include "verifier/engine/rules_env.h"

#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// The field of a queue pair that holds the count has three bits.
constexpr long long kMaxRetries = 7;

bool tooHigh(const Setting& s) {
  const auto n = s.name == "NCCL_IB_RETRY_CNT" ? numberValue(s.value) : std::nullopt;
  return n && *n > kMaxRetries;
}

const Setting* tooHighIn(const std::vector<Setting>& settings) {
  for (const Setting& s : settings)
    if (tooHigh(s)) return &s;
  return nullptr;
}

}  // namespace

MaybeFinding ibRetryCountTooHigh(const Case& c) {
  if (!c.job) return std::nullopt;
  const Setting* s = tooHighIn(c.node.settings);
  if (!s) s = tooHighIn(c.job->settings);
  std::string source = s ? s->source : std::string();
  for (const ProcessLog& p : c.job->log.processes) {
    if (s) break;
    s = tooHighIn(p.settings);
    if (!s) continue;
    const auto at = static_cast<std::size_t>(s - p.settings.data());
    source = at < p.settingsAt.size() ? c.job->source(p.settingsAt[at]) : s->source;
  }
  if (!s) return std::nullopt;
  const long long kept = *numberValue(s->value) & kMaxRetries;
  return Finding{
      .what = cat("NCCL_IB_RETRY_CNT=", s->value, " does not fit: three bits of it are kept, so ",
                  std::to_string(kept), kept == 1 ? " retry is" : " retries are", " made."),
      .evidence = {{cat("NCCL_IB_RETRY_CNT=", s->value, "."), source, Certainty::Told}},
      .fix = "Set NCCL_IB_RETRY_CNT=7, the most that counts, or unset it (7 is the default).",
      .certainty = Certainty::Told};
}

}  // namespace rdmaguard::engine
