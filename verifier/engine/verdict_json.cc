// See verdict_json.h.
#include "verifier/engine/verdict_json.h"

#include <algorithm>

#include "verifier/engine/rules.h"

namespace rdmaguard::engine {
namespace {

using Json = nlohmann::ordered_json;

Json evidenceJson(const std::vector<Evidence>& evidence) {
  Json out = Json::array();
  for (const Evidence& e : evidence)
    out.push_back({{"fact", e.fact}, {"source", e.source}, {"certainty", name(e.certainty)}});
  return out;
}

Json findingsJson(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& f : findings) out.push_back(toJson(f));
  return out;
}

std::string_view word(Met met) {
  switch (met) {
    case Met::Yes:
      return "yes";
    case Met::Violated:
      return "violated";
    case Met::Unknown:
      break;
  }
  return "unknown";
}

}  // namespace

nlohmann::ordered_json toJson(const Finding& finding) {
  Json out{{"id", finding.ruleId}};
  for (const Rule& rule : rules())
    if (rule.id == finding.ruleId && !rule.alias.empty()) {
      out["also"] = Json::array({rule.alias});
      break;
    }
  out["what"] = finding.what;
  out["fix"] = finding.fix;
  out["certainty"] = name(finding.certainty);
  out["evidence"] = evidenceJson(finding.evidence);
  return out;
}

nlohmann::ordered_json toJson(const Verdict& verdict) {
  const bool external = verdict.transport == Transport::External && !verdict.externalName.empty();
  Json out{{"rdma_engaged", name(verdict.engaged)},
           {"transport", external ? verdict.externalName : std::string(name(verdict.transport))}};
  if (external) out["external_name"] = verdict.externalName;
  out["gdr"] = name(verdict.gdrState);
  if (verdict.gdr == Gdr::Peermem || verdict.gdr == Gdr::DmaBuf)
    out["gdr_mechanism"] = name(verdict.gdr);
  out["requirement_met"] = word(verdict.requirement);
  if (verdict.requirement == Met::Violated) out["violation"] = verdict.violation;
  out["missing_conditions"] = findingsJson(verdict.missing);
  out["degraded_signals"] = findingsJson(verdict.degraded);
  out["notes"] = findingsJson(verdict.notes);
  out["fix"] = Json::array();
  for (const std::string& fix : orderedFix(verdict)) out["fix"].push_back(fix);
  out["evidence"] = evidenceJson(verdict.evidence);
  return out;
}

std::vector<std::string> orderedFix(const Verdict& verdict) {
  std::vector<std::string> out;
  for (const auto* list : {&verdict.missing, &verdict.degraded})
    for (const Finding& f : *list)
      if (!f.fix.empty() && std::find(out.begin(), out.end(), f.fix) == out.end())
        out.push_back(f.fix);
  return out;
}

std::string oneLine(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace rdmaguard::engine
