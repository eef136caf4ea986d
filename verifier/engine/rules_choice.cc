// Rules about what NCCL was told to use: NCCL_NET, NCCL_IB_DISABLE, the program, plugins.
// Called through the table in rules.cc.
#include <algorithm>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

std::string capitalised(std::string s) {
  if (!s.empty() && s[0] >= 'a' && s[0] <= 'z') s[0] = static_cast<char>(s[0] - 'a' + 'A');
  return s;
}

// The file NCCL opens for an entry of NCCL_NET_PLUGIN.
std::string pluginFile(std::string_view entry) {
  if (entry.find('/') != std::string_view::npos || entry.starts_with("lib"))
    return std::string(entry);
  return cat("libnccl-net-", entry, ".so");
}

std::string_view baseName(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

bool isMapped(std::string_view entry, const std::vector<std::string>& mapped) {
  const std::string file = pluginFile(entry);
  return std::any_of(mapped.begin(), mapped.end(), [&](const std::string& m) {
    return baseName(m) == baseName(file) || baseName(m) == baseName(entry);
  });
}

}  // namespace

MaybeFinding netForcedSocket(const Case& c) {
  const Setting* net = c.setting("NCCL_NET");
  if (!c.mayBeOff()) return std::nullopt;
  if (!net && c.process) return netForcedSocketInLog(c);
  if (!net || !sameWord(net->value, "Socket")) return std::nullopt;
  return Finding{
      .what =
          cat("NCCL_NET=", net->value, " tells NCCL to use its Socket transport and nothing else."),
      .evidence = {settingEvidence(*net)},
      .fix = cat(capitalised(undo(*net)),
                 ". (NCCL_NET=IB instead makes NCCL stop with an error where it would fall back.)"),
      .certainty = Certainty::Told};
}

MaybeFinding netForcedOther(const Case& c) {
  const Setting* net = c.setting("NCCL_NET");
  if (!c.mayBeOff() || !net) return std::nullopt;
  const bool tcp = externalKind(net->value) == ExternalKind::NotRdma;
  if (!tcp && !isNoNet(net->value, c.node)) return std::nullopt;
  return Finding{
      .what = tcp ? cat("NCCL_NET=", net->value, " asks for a plugin that is a TCP transport.")
                  : cat("NCCL_NET=", net->value,
                        " names no network: NCCL's own are called IB (which carries RoCE too) "
                        "and Socket, and NCCL stops with \"network not found\"."),
      .evidence = {settingEvidence(*net)},
      .fix = cat(capitalised(undo(*net)), ", or set NCCL_NET=IB."),
      .certainty = Certainty::Told};
}

MaybeFinding netChosenByProgram(const Case& c) {
  if (c.oneNode() || c.seen.transport != Transport::Socket || c.seen.ibDevices <= 0)
    return std::nullopt;
  if (c.process) return std::nullopt;  // net-forced-socket says who chose it, where a log shows it
  // Up to 2.28.3 the IB transport is initialised even when NCCL_NET names another one.
  if (c.setting("NCCL_NET")) return std::nullopt;
  return Finding{
      .what =
          "The program chose the Socket transport itself: NCCL's IB transport is ready and "
          "NCCL_NET is not set, which leaves ncclConfig_t.netName.",
      .evidence = {{cat("NCCL's IB transport has ",
                        counted(static_cast<std::size_t>(c.seen.ibDevices), "device"), "."),
                    "devices() of NCCL's IB transport", Certainty::Observed},
                   {"NCCL_NET is not set.", "environment and conf files", Certainty::Told}},
      .fix =
          "Remove netName=\"Socket\" where the program sets up its communicators (PyTorch: "
          "ProcessGroupNCCL.Options().config.net_name), or override it with NCCL_NET=IB.",
      .certainty = Certainty::Inferred};
}

MaybeFinding ibDisabled(const Case& c) {
  const Setting* disable = c.setting("NCCL_IB_DISABLE");
  if (!c.mayBeOff() || !disable || c.ibWorks() || c.ibInitialised()) return std::nullopt;
  if (numberValue(disable->value).value_or(0) == 0) return std::nullopt;
  return Finding{.what = cat("NCCL_IB_DISABLE=", disable->value,
                             " switches NCCL's InfiniBand/RoCE transport off."),
                 .evidence = {settingEvidence(*disable)},
                 .fix = cat(capitalised(undo(*disable)),
                            disable->source == "environment" || disable->echoed
                                ? " (or set it to 0)."
                                : " (or export NCCL_IB_DISABLE=0, which wins over a conf file)."),
                 .certainty = Certainty::Told};
}

MaybeFinding tcpPlugin(const Case& c) {
  if (c.oneNode() || c.seen.transport != Transport::External ||
      externalKind(c.seen.externalName) != ExternalKind::NotRdma)
    return std::nullopt;
  const Setting* plugin = c.setting("NCCL_NET_PLUGIN");
  Finding f{.what = cat("The net plugin ", c.seen.externalName,
                        " carries the traffic, and it is a TCP transport, not RDMA."),
            .evidence = {{cat("NCCL uses the net plugin ", c.seen.externalName, "."),
                          c.seen.transportSource, c.seen.certainty}},
            .fix =
                "Set NCCL_NET_PLUGIN=none so that NCCL tries its own IB transport, or set "
                "NCCL_NET_PLUGIN to this platform's RDMA plugin.",
            .certainty = c.seen.certainty};
  if (plugin) f.evidence.push_back(settingEvidence(*plugin));
  return f;
}

MaybeFinding providerIsTcp(const Case& c) {
  const Setting* provider = c.setting("FI_PROVIDER");
  if (c.process && !c.process->ofiProvider.empty()) return providerIsTcpInLog(c);
  if (c.oneNode() || c.seen.transport != Transport::External || !provider) return std::nullopt;
  // "AWS Libfabric", "Libfabric", "libfabric": the plugin's releases differ.
  if (c.seen.externalName.find("ibfabric") == std::string::npos) return std::nullopt;
  if (!provider->value.starts_with("tcp") && !provider->value.starts_with("sockets"))
    return std::nullopt;
  return Finding{.what = cat("FI_PROVIDER=", provider->value, " puts the plugin ",
                             c.seen.externalName, " on TCP instead of the RDMA fabric."),
                 .evidence = {settingEvidence(*provider),
                              {cat("NCCL uses the net plugin ", c.seen.externalName, "."),
                               c.seen.transportSource, c.seen.certainty}},
                 .fix = cat(capitalised(undo(*provider)), ", or set FI_PROVIDER=efa."),
                 .certainty = Certainty::Told};
}

MaybeFinding pluginNotLoaded(const Case& c) {
  const Setting* plugin = c.setting("NCCL_NET_PLUGIN");
  if (c.oneNode() || c.seen.transport != Transport::Socket) return std::nullopt;
  if (c.process) return pluginFailedInLog(c);
  if (!plugin) return std::nullopt;
  std::vector<std::string> absent;
  std::string_view rest = plugin->value;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    // rdmaguard itself is no network: it passes on to the next one.
    if (one.empty() || sameWord(one, "none") || one.find("rdmaguard") != std::string_view::npos ||
        sameWord(one, "STATIC_PLUGIN"))
      continue;
    if (isMapped(one, c.seen.netPlugins) || isMapped(one, c.node.netPluginsMapped))
      return std::nullopt;
    absent.emplace_back(one);
  }
  if (absent.empty()) return std::nullopt;
  return Finding{
      .what = cat("NCCL_NET_PLUGIN names ", listed(absent),
                  ", but no such net plugin is loaded in this process (it was not found, or it "
                  "failed and was closed again), so NCCL went on to its own transports."),
      .evidence = {settingEvidence(*plugin),
                   {"No mapped file has that name.", "loaded objects of this process",
                    Certainty::Observed}},
      .fix = cat("Put the directory of ", pluginFile(absent.front()),
                 " into LD_LIBRARY_PATH and check the file with ldd; NCCL_DEBUG=INFO shows the "
                 "loader's reason in its NET/Plugin lines."),
      .certainty = Certainty::Observed};
}

}  // namespace rdmaguard::engine
