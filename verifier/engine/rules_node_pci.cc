// Rules about the way through PCI between an HCA and a GPU. Called through the table in
// rules_node.h.
#include <algorithm>

#include "verifier/engine/rules_node.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// A GPU below the same switches: GPUDirect RDMA is meant to go through these alone.
bool nearGpu(const RdmaDevice& d) {
  return std::any_of(d.toGpu.begin(), d.toGpu.end(),
                     [](PciDistance x) { return x == PciDistance::Pix || x == PciDistance::Pxb; });
}

bool inUse(const Case& c, const RdmaDevice& d) {
  return std::any_of(c.ports.begin(), c.ports.end(),
                     [&d](const PortView& p) { return p.device == &d && p.usable(); });
}

// A port of a switch that redirects. The root port is where redirected traffic goes.
const AcsBridge* redirecting(const RdmaDevice& d) {
  for (const AcsBridge& b : d.acs)
    if (b.redirects && !d.pciBridges.empty() && b.pciPath != d.pciBridges.front()) return &b;
  return nullptr;
}

}  // namespace

MaybeFinding acsRedirects(const Case& c) {
  if (c.oneNode()) return std::nullopt;
  Finding f{.certainty = Certainty::Told};
  std::vector<std::string> names;
  for (const RdmaDevice& d : c.node.devices) {
    const AcsBridge* bridge = redirecting(d);
    if (!bridge || !nearGpu(d) || !inUse(c, d)) continue;
    names.push_back(d.name);
    f.evidence.push_back({cat("The PCIe switch port ", bridge->pciPath, " above ", d.name,
                              " redirects peer requests (ACS ReqRedir+)."),
                          bridge->source, Certainty::Told});
  }
  if (names.empty()) return std::nullopt;
  f.what = cat("Between ", listed(names), names.size() == 1 ? " and its GPU" : " and their GPUs",
               " the PCIe switches send every request up to the CPU and down again (ACS): "
               "GPUDirect RDMA is slower than the host's memory, or hangs.");
  f.fix =
      "On the host switch ACS off on the ports of the PCIe switches: setpci -s PORT "
      "ECAP_ACS+0x6.w=0000 for each, at every boot, or in the BIOS. A virtual machine's host "
      "needs ATS instead.";
  return f;
}

MaybeFinding iommuTranslates(const Case& c) {
  if (c.oneNode()) return std::nullopt;
  std::vector<std::string> names;
  std::string type, source;
  for (const RdmaDevice& d : c.node.devices) {
    if (!d.iommuType.starts_with("DMA") || !nearGpu(d) || !inUse(c, d)) continue;
    names.push_back(d.name);
    type = d.iommuType;
    source = cat(d.source, "/device/iommu_group/type");
  }
  if (names.empty()) return std::nullopt;
  Finding f{
      .what = cat("The IOMMU translates what ", listed(names), names.size() == 1 ? " does" : " do",
                  " in memory (its group's type is ", type,
                  "), which costs bandwidth and can keep HCA and GPU from reaching each "
                  "other directly."),
      .evidence = {{cat("The IOMMU group of ", names.back(), " is of type ", type, "."), source,
                    Certainty::Told}},
      .fix =
          "Boot a bare-metal host with iommu=pt (arm64: iommu.passthrough=1), then compare "
          "bandwidths.",
      .certainty = Certainty::Told};
  if (!c.node.iommu.kernelOptions.empty())
    f.evidence.push_back({cat("The kernel was booted with ", c.node.iommu.kernelOptions, "."),
                          "/proc/cmdline", Certainty::Told});
  return f;
}

}  // namespace rdmaguard::engine
