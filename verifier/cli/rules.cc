// `rdmaguard rules`: the one rule table, as the guard and every report apply it.
#include "verifier/engine/rules.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "verifier/cli/command.h"

namespace rdmaguard::cli {
namespace {

void printText() {
  for (const engine::Rule& r : engine::rules())
    fmt::print("{}  ({})\n    {}\n    fix: {}\n    source: {}\n\n", r.id, name(r.kind), r.title,
               r.fix, r.source);
}

void printJson() {
  auto list = nlohmann::ordered_json::array();
  for (const engine::Rule& r : engine::rules())
    list.push_back({{"id", r.id},
                    {"kind", name(r.kind)},
                    {"title", r.title},
                    {"fix", r.fix},
                    {"source", r.source}});
  fmt::print("{}\n", list.dump(2));
}

}  // namespace

void addRules(CLI::App& app, int& exitCode) {
  auto* sub = app.add_subcommand("rules", "List the rules that a verdict's causes come from.");
  static bool json = false;
  sub->add_flag("--json", json, "The same as a JSON array.");
  sub->callback([&exitCode] {
    json ? printJson() : printText();
    exitCode = kOk;
  });
}

}  // namespace rdmaguard::cli
