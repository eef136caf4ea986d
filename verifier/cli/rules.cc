// `rdmaguard rules`: the one rule table, as the guard and every report apply it.
#include "verifier/engine/rules.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "verifier/cli/command.h"

namespace rdmaguard::cli {
namespace {

using engine::Scope;

/// What a rule looks at, in words.
std::string_view scopeText(Scope scope) {
  return scope == Scope::Job ? "a whole input of verify"
                             : "one process: live in a job, and each one of a log";
}

std::string_view scopeName(Scope scope) {
  return scope == Scope::Job ? "job" : "process";
}

void printText() {
  for (const engine::Rule& r : engine::rules()) {
    fmt::print("{}  ({})\n    {}\n", r.id, name(r.kind), r.title);
    if (!r.fix.empty()) fmt::print("    fix: {}\n", r.fix);
    if (!r.alias.empty()) fmt::print("    also known as: {}\n", r.alias);
    fmt::print("    looks at: {}\n    source: {}\n\n", scopeText(r.scope), r.source);
  }
}

void printJson() {
  auto list = nlohmann::ordered_json::array();
  for (const engine::Rule& r : engine::rules()) {
    auto also = nlohmann::ordered_json::array();
    if (!r.alias.empty()) also.push_back(r.alias);
    list.push_back({{"id", r.id},
                    {"also", std::move(also)},
                    {"kind", name(r.kind)},
                    {"scope", scopeName(r.scope)},
                    {"title", r.title},
                    {"fix", r.fix},
                    {"source", r.source}});
  }
  fmt::print("{}\n", list.dump(2));
}

}  // namespace

void addRules(CLI::App& app, int& exitCode) {
  auto* sub = app.add_subcommand("rules", "List the rules that a verdict's causes come from.");
  sub->footer(
      "Each rule has an id, which is never renamed; its kind (missing_condition: alone enough to\n"
      "keep NCCL off RDMA; degraded_signal: RDMA that is slower or weaker than the node allows;\n"
      "note: decides nothing); its fix; and the source it rests on.");
  static bool json = false;
  sub->add_flag("--json", json, "The same as a JSON array.");
  sub->callback([&exitCode] {
    json ? printJson() : printText();
    exitCode = kOk;
  });
}

}  // namespace rdmaguard::cli
