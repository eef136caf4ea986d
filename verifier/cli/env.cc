// `rdmaguard env`: every environment variable of the guard, from the one table.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "rdmaguard/params.h"
#include "verifier/cli/command.h"

namespace rdmaguard::cli {
namespace {

std::string wrapped(std::string_view text, std::string_view indent, std::size_t width) {
  std::string out(indent);
  std::size_t column = indent.size();
  bool start = true;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!start && column + 1 + word.size() > width) {
      out += '\n';
      out += indent;
      column = indent.size();
      start = true;
    }
    if (!start) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    start = false;
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return out;
}

void printText() {
  fmt::print(
      "Read once, when NCCL first loads the guard in a process. They may stand in the environment\n"
      "or in NCCL's own nccl.conf.\n");
  for (const Param& p : kParams) {
    const char* set = std::getenv(std::string(p.name).c_str());
    fmt::print("\n{}={}\n", p.name, p.values);
    fmt::print("{}\n", wrapped(p.help, "    ", 92));
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
