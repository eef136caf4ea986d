// The environment and the nccl.conf chain of the probed process. See sources.h.
#include "verifier/engine/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "verifier/engine/text.h"
#include "verifier/probe/sources.h"

extern char** environ;

namespace rdmaguard::probe {
namespace {

using engine::ConfFile;
using engine::Setting;

constexpr int kHomeVariableSince = 23000;  // before, NCCL takes the home of the user database

// Settings that decide or explain something here. Nothing else of an environment is kept:
// it may hold secrets.
constexpr std::array<std::string_view, 6> kKept{"NCCL_", "UCX_", "FI_", "RDMAV_", "IBV_", "MLX5_"};

bool kept(std::string_view entry) {
  return std::any_of(kKept.begin(), kKept.end(),
                     [entry](std::string_view prefix) { return entry.starts_with(prefix); });
}

std::vector<std::string> keptOf(const ProbeOptions& options) {
  std::vector<std::string> block;
  if (options.environment) {
    std::copy_if(options.environment->begin(), options.environment->end(),
                 std::back_inserter(block), kept);
  } else {
    for (char** entry = environ; entry && *entry; ++entry)
      if (kept(*entry)) block.emplace_back(*entry);
  }
  return block;
}

// The environment this process was started with, before anyone called setenv.
std::vector<std::string> startingBlock(const Tree& tree) {
  const std::string text = tree.read("/proc/self/environ", 1 << 20).value_or("");
  std::vector<std::string> block;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\0', at), text.size());
    std::string entry = text.substr(at, end - at);
    if (kept(entry)) block.push_back(std::move(entry));
    at = end + 1;
  }
  return block;
}

// The home of the user database. /etc/passwd is read as a file: getpwuid may go over the
// network, and keeps state of the process.
std::string passwdHome(const Tree& tree) {
  const std::string uid = std::to_string(getuid());
  std::string text = tree.read("/etc/passwd", 1 << 20).value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view rest(text.data() + at, end - at);
    std::array<std::string_view, 7> fields{};
    for (std::string_view& field : fields) {
      const auto colon = rest.find(':');
      field = rest.substr(0, colon);
      rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    }
    if (fields[2] == uid) return std::string(fields[5]);
    at = end + 1;
  }
  return {};
}

std::string homeOf(const Tree& tree, const ProbeOptions& options) {
  std::string variable = environmentValue(options, "HOME");
  if (options.ncclVersion == 0 || options.ncclVersion >= kHomeVariableSince) return variable;
  std::string home = passwdHome(tree);
  return home.empty() ? variable : home;
}

// NCCL puts what it read in conf files into the environment. A variable that the process was
// not started with, and that has a conf file's value, is that file's.
void attributeToFiles(const Tree& tree, const std::vector<ConfFile>& files, int ncclVersion,
                      std::vector<Setting>& environment) {
  if (files.empty()) return;
  const std::vector<Setting> started = engine::parseEnvironment(startingBlock(tree));
  std::erase_if(environment, [&](const Setting& s) {
    if (engine::find(started, s.name)) return false;
    for (const ConfFile& file : files) {
      const auto lines = engine::parseConf(file.text, file.path, ncclVersion);
      if (const Setting* line = engine::find(lines, s.name)) return line->value == s.value;
    }
    return false;
  });
}

}  // namespace

std::string environmentValue(const ProbeOptions& options, std::string_view name) {
  const auto value = [name](std::string_view entry) -> std::optional<std::string> {
    if (entry.size() <= name.size() || !entry.starts_with(name) || entry[name.size()] != '=')
      return std::nullopt;
    return std::string(entry.substr(name.size() + 1));
  };
  if (options.environment) {
    for (const std::string& entry : *options.environment)
      if (auto v = value(entry)) return *v;
  } else {
    for (char** entry = environ; entry && *entry; ++entry)
      if (auto v = value(*entry)) return *v;
  }
  return {};
}

void readSettings(const Tree& tree, const ProbeOptions& options, engine::NodeFacts& node) {
  std::vector<Setting> environment = engine::parseEnvironment(keptOf(options));
  std::vector<ConfFile> files;
  for (const std::string& path : engine::confPaths(environmentValue(options, "NCCL_CONF_FILE"),
                                                   homeOf(tree, options), options.ncclVersion))
    if (auto text = tree.read(path)) files.push_back({path, std::move(*text)});
  if (tree.live() && !options.environment)
    attributeToFiles(tree, files, options.ncclVersion, environment);
  auto inForce = engine::settingsInForce(environment, files, options.ncclVersion);
  node.settings = std::move(inForce.effective);
  node.shadowed = std::move(inForce.shadowed);
}

}  // namespace rdmaguard::probe
