// See rules_spec_look.h.
#include "verifier/engine/rules_spec_look.h"

#include <algorithm>
#include <charconv>

namespace rdmaguard::engine {
namespace {

// "2", "2-4" (at most): how many nodes an option asks for; 0 = not said in numbers.
long nodesOf(std::string_view text) {
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) text = text.substr(dash + 1);
  long n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? n : 0;
}

ScriptView viewOf(const BatchScript& script) {
  ScriptView view;
  view.script = &script;
  for (const SpecSetting& s : script.shell.settings) {
    const auto old = std::find_if(view.settings.begin(), view.settings.end(),
                                  [&](const SettingView& have) { return have.name == s.name; });
    if (old == view.settings.end())
      view.settings.push_back({&s, s.name, s.value, s.valueKnown, nullptr});
    else if (s.valueKnown || !s.value.empty())
      *old = {&s, s.name, s.value, s.valueKnown, nullptr};
  }
  long nodes = 0;
  for (const BatchOption& o : script.options) {
    if (o.name == "nodes") {
      nodes = nodesOf(o.value);
      view.oneNodeAt = o.at;
    }
    if (o.name == "partition" || o.name == "constraint")
      view.gb300 = view.gb300 || holdsWord(o.value, "gb300");
    view.gpus =
        view.gpus || o.name.starts_with("gpus") || (o.name == "gres" && holdsWord(o.value, "gpu"));
  }
  const auto any = [&view](auto holds) {
    return std::any_of(view.settings.begin(), view.settings.end(), holds);
  };
  view.gb300 = view.gb300 && any([](const SettingView& s) { return setForRoce(s.name); });
  view.gpus = view.gpus || any([](const SettingView& s) { return s.name.starts_with("NCCL_"); });
  view.otherFabric =
      ofEfa(script.shell.settings) || any([](const SettingView& s) {
        return s.name.starts_with("NCCL_FASTRAK_") || s.name.starts_with("NCCL_GPUDIRECTTCPX_");
      });
  if (nodes == 0 && script.shell.nodes) {
    nodes = *script.shell.nodes;
    view.oneNodeAt = script.shell.nodesAt;
  }
  if (nodes == 0 && script.shell.standalone) {
    nodes = 1;
    view.oneNodeAt = script.shell.nodesAt;
  }
  view.oneNode = nodes == 1;
  view.manyNodes = nodes > 1;
  return view;
}

}  // namespace

const SettingView* ScriptView::setting(std::string_view name) const {
  for (const SettingView& s : settings)
    if (s.name == name) return &s;
  return nullptr;
}

std::vector<ScriptView> scriptsOf(const JobFacts& job) {
  std::vector<ScriptView> scripts;
  for (const BatchScript& s : job.specs.scripts)
    if (s.slurm || s.shell.launches || !s.shell.settings.empty()) scripts.push_back(viewOf(s));
  return scripts;
}

MaybeFinding aboutAll(const JobFacts& job, const std::vector<SpecSubject>& subjects,
                      std::string_view one, std::string_view many, std::string fix,
                      Certainty certainty) {
  if (subjects.empty()) return std::nullopt;
  Finding f{.fix = std::move(fix), .certainty = certainty};
  std::vector<std::string> names;
  for (const SpecSubject& s : subjects) {
    if (std::find(names.begin(), names.end(), s.who) == names.end()) names.push_back(s.who);
    if (f.evidence.size() < kMaxSpecEvidence)
      f.evidence.push_back({s.fact, job.source(s.at), certainty});
  }
  f.what = cat(listed(names, 4), " ", names.size() == 1 ? one : many);
  if (f.what[0] >= 'a' && f.what[0] <= 'z') f.what[0] = static_cast<char>(f.what[0] - 32);
  return f;
}

}  // namespace rdmaguard::engine
