// See probe.h.
#include "verifier/probe/probe.h"

#include <link.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "verifier/engine/settings.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

struct Mapped {
  std::vector<std::string> paths;
  std::string asked;  // NCCL_NET_PLUGIN: its entries may be files of any name
};

bool named(std::string_view list, std::string_view file) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    if (!entry.empty() && entry.substr(entry.find_last_of('/') + 1) == file) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

// Called back by the loader, through which no exception may pass.
int collect(dl_phdr_info* info, std::size_t, void* data) noexcept {
  auto& mapped = *static_cast<Mapped*>(data);
  try {
    const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
    const std::string_view file = path.substr(path.find_last_of('/') + 1);
    if (file.starts_with("libnccl-net") || named(mapped.asked, file))
      mapped.paths.emplace_back(path);
  } catch (const std::exception&) {
    return 1;  // out of memory: what was found stands
  }
  return 0;
}

std::vector<std::string> mappedPlugins(std::string asked) {
  Mapped mapped{{}, std::move(asked)};
  dl_iterate_phdr(&collect, &mapped);
  return std::move(mapped.paths);
}

}  // namespace

std::vector<std::string> mappedNetPlugins() noexcept {
  try {
    return mappedPlugins({});
  } catch (const std::exception&) {
    return {};
  }
}

engine::NodeFacts readNode(const ProbeOptions& options) noexcept {
  engine::NodeFacts node;
  try {
    const Tree tree(options.root);
    node.root = options.root;
    readSettings(tree, options, node);
    readHost(tree, options, node);
    readDevices(tree, options.openDevices, node);
    readInterfaces(tree, node);
    readLoader(tree, options, node);
    const engine::Setting* plugin = engine::find(node.settings, "NCCL_NET_PLUGIN");
    if (tree.live()) node.netPluginsMapped = mappedPlugins(plugin ? plugin->value : std::string());
  } catch (const std::exception& e) {
    try {
      node.notes.push_back({std::string("Reading this node stopped early: ") + e.what() + ".",
                            options.root, Certainty::Observed});
    } catch (const std::exception&) {
      // Out of memory: what was read so far stands.
    }
  }
  return node;
}

}  // namespace rdmaguard::probe
