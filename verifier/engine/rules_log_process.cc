// The conditions of rules_choice, rules_device, rules_port, rules_quality and rules_gdr as the
// log lines of a process show them: NCCL's own words in place of the node's files. Called by the
// functions of those files when Case::process is set.
#include <algorithm>
#include <cmath>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules_env.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::string_view kPeermemFix =
    "On the host: modprobe nvidia_peermem (it comes with the NVIDIA driver and needs the RDMA "
    "stack's peer-memory support), or use NVIDIA's open kernel modules on Linux 5.12 or later for "
    "DMA-BUF.";

constexpr double kGbitPerGbyte = 8;
constexpr double kSlowGbyte = 1.3;  // 10 Gb/s Ethernet, which NCCL's topology shows as 1.2 GB/s

Evidence told(const Case& c, std::string fact, Place at) {
  return {std::move(fact), c.job->source(at), Certainty::Told};
}

const NetworkLine* configuredSocket(const ProcessLog& p) {
  for (const NetworkLine& line : p.networks)
    if (line.form == NetworkLine::Form::ConfigName && sameWord(line.network, "Socket"))
      return &line;
  return nullptr;
}

bool loadsAnother(const ProcessLog& p) {
  using Form = NetworkLine::Form;
  return std::any_of(p.networks.begin(), p.networks.end(), [](const NetworkLine& line) {
    return line.form == Form::Loaded ||
           (line.form == Form::Initialized && !sameWord(line.network, "IB") &&
            !sameWord(line.network, "Socket"));
  });
}

// A failure after which NCCL went on without the plugin. A file that is not there is no failure
// where no plugin was asked for; a name that is one of NCCL's own networks is no plugin.
bool explains(const PluginFailure& f, const Setting* asked) {
  if (sameWord(f.plugin, "IB") || sameWord(f.plugin, "Socket")) return false;
  if (f.kind != PluginFailure::Kind::NotThere) return true;
  return asked && !asked->value.empty() && !sameWord(asked->value, "none");
}

std::string failureWords(const PluginFailure& f) {
  std::string name = f.plugin.empty() ? std::string("the net plugin") : f.plugin;
  switch (f.kind) {
    case PluginFailure::Kind::NotThere:
      return cat(name, " was asked for and is not there");
    case PluginFailure::Kind::DlopenFailed:
      return cat(name, " could not be loaded");
    case PluginFailure::Kind::NoSymbol:
      return cat(name, " has no interface of a version that this NCCL takes");
    case PluginFailure::Kind::InitFailed:
      return cat(name, " failed to start");
  }
  return name;
}

std::string failureFix(const PluginFailure& f) {
  switch (f.kind) {
    case PluginFailure::Kind::NoSymbol:
      return "Install a release of the plugin that is made for this NCCL release.";
    case PluginFailure::Kind::InitFailed:
      return "Read the plugin's own lines above (NCCL_DEBUG=INFO) for why it does not start.";
    default:
      return "Make the plugin and the libraries it needs loadable in the image: `ldd` on the file "
             "shows what is missing; its directory belongs in LD_LIBRARY_PATH.";
  }
}

}  // namespace

MaybeFinding netForcedSocketInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  if (c.oneNode() || c.seen.transport != Transport::Socket) return std::nullopt;
  if (const NetworkLine* line = configuredSocket(p))
    return Finding{
        .what = "The program asks for the Socket transport itself (ncclConfig_t.netName).",
        .evidence = {told(c, "NCCL reports the network that the program's config names: Socket.",
                          line->at)},
        .fix =
            "Remove netName=\"Socket\" where the program sets up this communicator (PyTorch: "
            "ProcessGroupNCCL.Options().config.net_name), or override it with NCCL_NET=IB.",
        .certainty = Certainty::Told};
  if (p.devices.empty() || loadsAnother(p)) return std::nullopt;
  return Finding{
      .what =
          "NCCL's IB transport had devices and Socket was used all the same: NCCL_NET or the "
          "program (ncclConfig_t.netName) chose it.",
      .evidence = {told(c, cat("The IB transport lists ", counted(p.devices.size(), "device"), "."),
                        p.deviceListAt),
                   {"NCCL uses the network Socket.", c.seen.transportSource, Certainty::Told}},
      .fix = "Unset NCCL_NET, or set NCCL_NET=IB, which also overrides the program's choice.",
      .certainty = Certainty::Inferred};
}

MaybeFinding providerIsTcpInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  if (c.oneNode() || c.seen.transport != Transport::External) return std::nullopt;
  if (c.seen.externalName.find("ibfabric") == std::string::npos) return std::nullopt;
  if (!p.ofiProvider.starts_with("tcp") && !p.ofiProvider.starts_with("sockets"))
    return std::nullopt;
  return Finding{
      .what = cat("The plugin ", c.seen.externalName, " runs on the provider ", p.ofiProvider,
                  ": TCP instead of the RDMA fabric."),
      .evidence = {told(c, cat("The selected provider is ", p.ofiProvider, "."), p.ofiProviderAt)},
      .fix =
          "Set FI_PROVIDER=efa, and find out with `fi_info -p efa` in the job's "
          "container why libfabric did not choose it.",
      .certainty = Certainty::Told};
}

MaybeFinding pluginFailedInLog(const Case& c) {
  const Setting* asked = c.setting("NCCL_NET_PLUGIN");
  for (const PluginFailure& f : c.process->pluginFailures) {
    if (!explains(f, asked)) continue;
    Finding finding{
        .what = cat("The net plugin is not used: ", failureWords(f),
                    ", and NCCL went on to its own transports."),
        .evidence = {told(c,
                          f.reason.empty() ? cat("NCCL reports it: ", failureWords(f), ".")
                                           : cat("The loader says: ", f.reason),
                          f.at)},
        .fix = failureFix(f),
        .certainty = Certainty::Told};
    if (asked) finding.evidence.push_back(settingEvidence(*asked));
    return finding;
  }
  return std::nullopt;
}

MaybeFinding libibverbsMissingInLog(const Case& c) {
  if (!c.process->libibverbsFailed) return std::nullopt;
  Finding f{.what = "libibverbs cannot be loaded there, so NCCL's IB transport cannot start.",
            .evidence = {told(c, "NCCL could not open libibverbs.", c.process->libibverbsFailed)},
            .fix =
                "Install the RDMA user space in the image: apt-get install libibverbs1 "
                "ibverbs-providers (Debian, Ubuntu) or dnf install libibverbs (RHEL and kin).",
            .certainty = Certainty::Told};
  if (const Setting* named = c.setting("NCCL_IBVERBS_LIB"))
    f.evidence.push_back(settingEvidence(*named));
  return f;
}

MaybeFinding noDeviceInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  if (!c.mayBeOff() || c.ibWorks() || !p.noDevice || !p.openFailed.empty()) return std::nullopt;
  if (p.libibverbsFailed) return std::nullopt;  // it says why there is none
  return Finding{
      .what = "NCCL's IB transport found no RDMA device that it could use.",
      .evidence = {told(c, "NCCL looked for RDMA devices and found none.", p.noDevice)},
      .fix =
          "Run `ibv_devinfo` in the job's own container on that node: no device listed means the "
          "container was not given one (Kubernetes: request the RDMA resource; docker: "
          "--device=/dev/infiniband) or the host has none or no driver for it; a device that is "
          "not PORT_ACTIVE is a matter of cable, switch or subnet manager; without RDMA hardware "
          "TCP is what the node can do.",
      .certainty = Certainty::Told};
}

MaybeFinding openFailedInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  if (!c.mayBeOff() || c.ibWorks() || p.openFailed.empty()) return std::nullopt;
  return Finding{
      .what = cat("NCCL sees ", listed(p.openFailed), " and cannot open ",
                  p.openFailed.size() == 1 ? "it." : "them."),
      .evidence = {told(c, cat("ibv_open_device fails for ", listed(p.openFailed), "."),
                        p.openFailedAt)},
      .fix =
          "Give the job the device: in a container the runtime has to pass it in and open the "
          "device cgroup (Kubernetes: request the RDMA resource; docker run "
          "--device=/dev/infiniband); on a host check the mode of /dev/infiniband/uverbs*. "
          "`ibv_devinfo` as the job's user in the job's container shows it.",
      .certainty = Certainty::Told};
}

MaybeFinding hcaFilterInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  if (!c.mayBeOff() || c.ibWorks() || !c.hcaSetting || c.hcaSetting->value.empty())
    return std::nullopt;
  if (!p.noDevice || !p.openFailed.empty() || p.libibverbsFailed) return std::nullopt;
  Finding f{
      .what = cat("NCCL_IB_HCA=", c.hcaSetting->value,
                  " leaves NCCL no device: nothing on the node that is ACTIVE matches it."),
      .evidence = {settingEvidence(*c.hcaSetting),
                   told(c, "NCCL found no device with that list in force.", p.noDevice)},
      .fix =
          "Compare it with the names and ports that `ibv_devinfo` shows as PORT_ACTIVE in the "
          "job's container ('=' asks for whole names, ':2' for port 2, '^' excludes), or unset "
          "it.",
      .certainty = Certainty::Inferred};
  if (const auto fault = suspiciousText(c.hcaSetting->value))
    f.evidence.push_back(
        {cat("In the value, ", *fault, "."), c.hcaSetting->source, Certainty::Told});
  return f;
}

MaybeFinding slowNicInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  if (p.slowestGbps <= 0 || p.slowestGbps > kSlowGbyte) return std::nullopt;
  const auto gbit = static_cast<std::size_t>(std::lround(p.slowestGbps * kGbitPerGbyte));
  return Finding{
      .what = cat("A network port that NCCL counts on runs at about ", std::to_string(gbit),
                  " Gb/s: RDMA is engaged, on a slow port."),
      .evidence = {told(
          c, cat("NCCL's topology gives the port about ", std::to_string(gbit), " Gb/s."),
          p.slowestAt)},
      .fix =
          "If the node has faster HCAs, name them in NCCL_IB_HCA; `ibstat` and `ethtool` show "
          "each port's rate.",
      .certainty = Certainty::Told};
}

MaybeFinding gdrNoWayInLog(const Case& c) {
  const ProcessLog& p = *c.process;
  for (const HcaGdr& h : p.hcaGdr) {
    if (h.enabled || sameWord(h.net, "Socket") || externalKind(h.net) == ExternalKind::NotRdma)
      continue;
    return Finding{
        .what =
            "GPU memory is staged through the host: neither peer memory nor DMA-BUF is available "
            "to the HCAs.",
        .evidence = {told(c,
                          cat("NCCL reports GPU Direct RDMA disabled for ", h.hca,
                              h.how.empty() ? "." : cat(" (", h.how, ").")),
                          h.at)},
        .fix = std::string(kPeermemFix),
        .certainty = Certainty::Told};
  }
  // A node's own list of modules beside a log that says nothing of the reason.
  const bool enabled =
      std::any_of(p.hcaGdr.begin(), p.hcaGdr.end(), [](const HcaGdr& h) { return h.enabled; });
  const Setting* absent =
      c.job && !p.dmabuf && !enabled && p.pairGdr.empty() ? peermemAbsent(*c.job) : nullptr;
  if (!absent) return std::nullopt;
  return Finding{
      .what =
          "GPU memory is staged through the host: no peer-memory module is loaded, and nothing "
          "shows DMA-BUF.",
      .evidence = {{"lsmod lists neither nvidia_peermem nor nv_peer_mem.", absent->source,
                    Certainty::Told}},
      .fix = std::string(kPeermemFix),
      .certainty = Certainty::Inferred};
}

MaybeFinding gdrNotUsedInLog(const Case& c) {
  Finding f{
      .what = "RDMA is engaged without GPUDirect RDMA: GPU memory is staged through the host.",
      .fix =
          "Look for the reason with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,ENV: a "
          "driver without peer memory and DMA-BUF, a GPU too far from its HCA "
          "(NCCL_NET_GDR_LEVEL), or a setting.",
      .certainty = Certainty::Told};
  for (const CommLog& comm : c.process->comms)
    for (const NetEdges& e : comm.edges)
      if (e.firstWithoutGdr && f.evidence.empty())
        f.evidence.push_back(told(c, cat("A channel via NET/", e.network, " carries no /GDRDMA."),
                                  e.firstWithoutGdr));
  for (const HcaGdr& h : c.process->hcaGdr)
    if (!h.enabled && f.evidence.empty())
      f.evidence.push_back(
          told(c, cat("NCCL reports GPU Direct RDMA disabled for ", h.hca, "."), h.at));
  for (const PairGdr& pair : c.process->pairGdr)
    if (!pair.enabled && f.evidence.empty())
      f.evidence.push_back(told(c, "NCCL reports GPU Direct RDMA disabled for a GPU.", pair.at));
  if (f.evidence.empty()) {
    if (const Setting* level = gdrSwitchedOff(c.node.settings))
      f.evidence.push_back(settingEvidence(*level));
    else
      return std::nullopt;
  }
  // With a reason at hand, its way out is this one's.
  for (MaybeFinding (*why)(const Case&) : {gdrDisabledByEnv, gdrNoWayInLog})
    if (const MaybeFinding reason = why(c)) {
      f.fix = reason->fix;
      break;
    }
  return f;
}

}  // namespace rdmaguard::engine
