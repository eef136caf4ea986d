// See trace.h.
#include "trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace replay {
namespace {

Callback callbackFrom(const std::string& word) {
  if (word == "init") return Callback::Init;
  if (word == "start") return Callback::Start;
  if (word == "stop") return Callback::Stop;
  if (word == "record") return Callback::Record;
  return Callback::Finalize;
}

Event eventFrom(const nlohmann::json& j) {
  Event e;
  e.callback = callbackFrom(j.at("cb"));
  e.thread = j.at("tid");
  e.context = j.value("ctx", 0);
  e.handle = j.value("h", 0);
  e.type = j.value("type", 0U);
  e.parent = j.value("parent", 0);
  e.group = j.value("group", 0);
  e.commId = j.value("commId", std::uint64_t{0});
  e.nNodes = j.value("nNodes", 0);
  e.nRanks = j.value("nRanks", 0);
  e.rank = j.value("rank", 0);
  e.func = j.value("func", "");
  e.datatype = j.value("dt", "");
  e.algo = j.value("algo", "");
  e.proto = j.value("proto", "");
  e.count = j.value("count", std::uint64_t{0});
  e.sequence = j.value("seq", std::uint64_t{0});
  e.pTimer = j.value("ptimer", std::uint64_t{0});
  e.root = j.value("root", 0);
  e.peer = j.value("peer", 0);
  e.channels = j.value("nCh", 0);
  e.channel = j.value("ch", 0);
  e.graph = j.value("graph", 0) != 0;
  e.state = j.value("state", 0);
  e.argument = j.value("arg", std::uint64_t{0});
  return e;
}

}  // namespace

Trace readTrace(const std::string& name) {
  std::ifstream file(std::filesystem::path(REPLAY_TRACES) / name);
  if (!file) throw std::runtime_error("no trace " + name);
  Trace trace;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) trace.push_back(eventFrom(nlohmann::json::parse(line)));
  }
  if (trace.empty()) throw std::runtime_error("empty trace " + name);
  return trace;
}

std::vector<std::string> tracesOf(const std::string& release) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(REPLAY_TRACES)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(release, 0) == 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace replay
