// `rdmaguard env`: every environment variable of the guard, from the one table.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "rdmaguard/params.h"
#include "rdmaguard/wrap.h"
#include "verifier/cli/command.h"

namespace rdmaguard::cli {
namespace {

void printText() {
  fmt::print(
      "Read once, when NCCL first loads the guard in a process. They may stand in the environment\n"
      "or in NCCL's own nccl.conf.\n");
  for (const Param& p : kParams) {
    const char* set = std::getenv(std::string(p.name).c_str());
    fmt::print("\n{}={}\n", p.name, p.values);
    fmt::print("{}\n", wrap(p.help, "    ", 92));
    fmt::print("    default: {}{}\n", p.fallback.empty() ? "unset" : p.fallback,
               set ? fmt::format("; here: {}", set) : "");
  }
}

void printJson() {
  auto list = nlohmann::ordered_json::array();
  for (const Param& p : kParams) {
    const char* set = std::getenv(std::string(p.name).c_str());
    list.push_back({{"name", p.name},
                    {"values", p.values},
                    {"default", p.fallback},
                    {"help", p.help},
                    {"here", set ? nlohmann::ordered_json(set) : nlohmann::ordered_json()}});
  }
  fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void addEnv(CLI::App& app, int& exitCode) {
  auto* sub = app.add_subcommand("env", "List every environment variable of the guard.");
  static bool json = false;
  sub->add_flag("--json", json, "The same as a JSON array.");
  sub->callback([&exitCode] {
    json ? printJson() : printText();
    exitCode = kOk;
  });
}

}  // namespace rdmaguard::cli
