// Rules about GPUDirect RDMA: why GPU memory is staged through the host on a communicator that
// is on RDMA. Called through the table in rules.cc.
#include <algorithm>
#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr int kPtrCuda = 2;    // NCCL_PTR_CUDA
constexpr int kPtrDmaBuf = 4;  // NCCL_PTR_DMABUF

// The peer-memory files each release tests for (ncclIbGdrSupport).
struct PeermemCheck {
  int since;
  std::array<std::string_view, 3> paths;
};
constexpr std::array kPeermemChecks{
    PeermemCheck{
        22300,
        {"/sys/kernel/mm/memory_peers/nv_mem/version",
         "/sys/kernel/mm/memory_peers/nv_mem_nc/version", "/sys/module/nvidia_peermem/version"}},
    PeermemCheck{22200,
                 {"/sys/kernel/mm/memory_peers/nv_mem/version",
                  "/sys/kernel/mm/memory_peers/nv_mem_nc/version", ""}},
    PeermemCheck{0,
                 {"/sys/kernel/mm/memory_peers/nv_mem/version",
                  "/sys/kernel/mm/memory_peers/nvidia-peermem/version", ""}},
};

bool seesPeermem(int ncclVersion, const std::vector<std::string>& present) {
  const auto row = std::find_if(kPeermemChecks.begin(), kPeermemChecks.end(), [&](const auto& r) {
    return ncclVersion == 0 || ncclVersion >= r.since;
  });
  return std::any_of(present.begin(), present.end(), [&](const std::string& path) {
    return std::any_of(row->paths.begin(), row->paths.end(), [&](std::string_view want) {
      return !want.empty() && path.ends_with(want);
    });
  });
}

// Nothing is registered yet: before the job, or at its start. Whether GPUs are there is known.
bool beforeGdr(const Case& c) {
  return !c.process && !c.listing && !c.oneNode() && c.seen.gdr == Gdr::Unknown &&
         c.node.gdr.known && c.node.gdr.gpus > 0 && !c.usablePorts().empty() &&
         (c.seen.transport == Transport::Unknown || c.seen.transport == Transport::IB ||
          c.seen.transport == Transport::RoCE || c.seen.transport == Transport::Mixed);
}

// What the registration test says of DMA-BUF, over all devices: one that has it is enough.
std::optional<bool> dmabufByTest(const Case& c) {
  std::optional<bool> any;
  for (const RdmaDevice& d : c.node.devices)
    if (d.registration)
      if (const auto here = d.registration->dmabuf()) any = any.value_or(false) || *here;
  return any;
}

// NCCL asks for ibv_reg_dmabuf_mr by this version, and takes its absence for no support.
bool libraryLacksDmabuf(const Case& c) {
  const auto& versions = c.node.loader.symbolVersions;
  return !versions.empty() &&
         std::find(versions.begin(), versions.end(), "IBVERBS_1.12") == versions.end();
}

bool withoutGdr(const Case& c) {
  // A log names the network of each process, and tells of no external one that is not RDMA here.
  const bool onRdma = c.seen.transport == Transport::IB || c.seen.transport == Transport::RoCE ||
                      c.seen.transport == Transport::Mixed ||
                      (c.process && c.seen.transport == Transport::External);
  const bool noGpu = c.node.gdr.known && c.node.gdr.gpus == 0;
  return !c.oneNode() && onRdma && c.seen.gdr == Gdr::None && !noGpu;
}

const Setting* dmaBufSwitchedOff(const Case& c) {
  const Setting* s = c.setting("NCCL_DMABUF_ENABLE");
  return s && !s->value.empty() && numberValue(s->value).value_or(1) == 0 ? s : nullptr;
}

// Which way NCCL's own property mask leaves open, where it is known of every device.
std::optional<int> maskOfAll(const Case& c) {
  int mask = 0;
  for (const DeviceInUse& d : c.seen.devices) {
    if (d.ptrSupport == 0) return std::nullopt;
    mask |= d.ptrSupport;
  }
  if (c.seen.devices.empty()) return std::nullopt;
  return mask;
}

// What the facts say of peermem and DMA-BUF: the reason that neither is to be had.
MaybeFinding noWay(const Case& c) {
  const GdrFacts& g = c.node.gdr;
  Finding f{.what =
                "GPU memory is staged through the host: neither peer memory nor DMA-BUF is "
                "available to the HCAs.",
            .fix =
                "On the host: modprobe nvidia_peermem (it comes with the NVIDIA driver and needs "
                "the RDMA stack's peer-memory support), or use NVIDIA's open kernel modules on "
                "Linux 5.12 or later for DMA-BUF."};
  const std::optional<int> mask = maskOfAll(c);
  if (mask && (*mask & (kPtrCuda | kPtrDmaBuf))) return std::nullopt;
  if (mask) {
    f.certainty = Certainty::Observed;
    f.evidence.push_back(
        {"NCCL's IB transport offers host memory only on every device (ptrSupport 1).",
         "getProperties of NCCL's IB transport", Certainty::Observed});
  } else {
    const bool peermem = seesPeermem(c.seen.ncclVersion, g.peermem);
    const bool noDmabuf =
        g.openModules == false || dmabufByTest(c) == false || libraryLacksDmabuf(c);
    if (!g.known || peermem || !noDmabuf) return std::nullopt;
    f.certainty = Certainty::Told;
  }
  if (g.known && g.peermem.empty())
    f.evidence.push_back(
        {"No peer-memory module is loaded: none of the files NCCL tests for exists.",
         "/sys/module/nvidia_peermem, /sys/kernel/mm/memory_peers", Certainty::Told});
  if (g.known && !g.peermem.empty() && !seesPeermem(c.seen.ncclVersion, g.peermem)) {
    f.evidence.push_back(
        {cat(g.peermem.front(), " exists, but this NCCL release does not look there."),
         g.peermem.front(), Certainty::Told});
    f.fix = "Use NCCL 2.23 or later, which looks for nvidia_peermem in /sys/module.";
  }
  if (libraryLacksDmabuf(c)) {
    f.evidence.push_back(
        {"This libibverbs has no ibv_reg_dmabuf_mr (IBVERBS_1.12), which came with rdma-core 34.",
         c.node.loader.file.empty() ? c.node.loader.path : c.node.loader.file, Certainty::Told});
    if (g.openModules.value_or(false))
      f.fix = "Use an image with rdma-core 34 or later, or load nvidia_peermem on the host.";
  } else if (dmabufByTest(c) == false) {
    f.evidence.push_back({"No device takes DMA-BUF (ibv_reg_dmabuf_mr is not supported).",
                          "registration test in a child process", Certainty::Observed});
  }
  if (g.openModules == false)
    f.evidence.push_back(
        {"The NVIDIA driver uses the closed kernel modules, which export no DMA-BUF.",
         "/proc/driver/nvidia/version", Certainty::Told});
  return f;
}

}  // namespace

const Setting* gdrSwitchedOff(std::span<const Setting> settings) {
  const Setting* level = find(settings, "NCCL_NET_GDR_LEVEL");
  if (level && (level->value == "LOC" ||
                (level->value.starts_with('0') && numberValue(level->value).value_or(1) == 0)))
    return level;
  return nullptr;
}

MaybeFinding gdrDisabledByEnv(const Case& c) {
  const bool before = beforeGdr(c);
  if (!before && !withoutGdr(c)) return std::nullopt;
  const Setting* s = gdrSwitchedOff(c.node.settings);
  if (!s && !c.node.gdr.peermem.empty()) return std::nullopt;
  if (!s && c.node.gdr.known) s = dmaBufSwitchedOff(c);
  if (!s) return std::nullopt;
  const bool level = s->name == "NCCL_NET_GDR_LEVEL";
  std::string fix = undo(*s);
  fix[0] = static_cast<char>(fix[0] - 'a' + 'A');
  return Finding{.what = cat("GPU memory ", before ? "will be" : "is",
                             " staged through the host because ", s->name, "=", s->value,
                             level ? " switches GPUDirect RDMA off."
                                   : " switches DMA-BUF off and no peer-memory module is loaded."),
                 .evidence = {settingEvidence(*s)},
                 .fix = cat(fix, level ? " (NCCL's default is PXB)."
                                       : ", or load nvidia_peermem on the host."),
                 .certainty = Certainty::Told};
}

MaybeFinding gdrNoPeermemOrDmabuf(const Case& c) {
  if (gdrDisabledByEnv(c)) return std::nullopt;
  if (beforeGdr(c)) {
    auto f = noWay(c);
    if (f)
      f->what =
          "GPU memory will be staged through the host: neither peer memory nor DMA-BUF is "
          "available to the HCAs.";
    return f;
  }
  if (!withoutGdr(c)) return std::nullopt;
  if (c.process) return gdrNoWayInLog(c);
  return noWay(c);
}

MaybeFinding gdrCapableNotUsed(const Case& c) {
  if (!withoutGdr(c)) return std::nullopt;
  if (c.process) return gdrNotUsedInLog(c);
  if (gdrDisabledByEnv(c) || noWay(c)) return std::nullopt;
  Finding f{
      .what = "RDMA is engaged without GPUDirect RDMA: GPU memory is staged through the host.",
      .evidence = {{"Only host memory was registered on this communicator's connections.",
                    "regMr of NCCL's IB transport", c.seen.certainty}},
      .fix =
          "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH shows each GPU's distance to "
          "its HCA: past PXB NCCL does without. If GPU and HCA share a host bridge, try "
          "NCCL_NET_GDR_LEVEL=PHB and measure.",
      .certainty = c.seen.certainty};
  const std::optional<int> mask = maskOfAll(c);
  if (mask && (*mask & kPtrDmaBuf))
    f.evidence.push_back(
        {"The HCAs take DMA-BUF.", "getProperties of NCCL's IB transport", Certainty::Observed});
  if (!c.node.gdr.peermem.empty())
    f.evidence.push_back({cat("Peer memory is available: ", c.node.gdr.peermem.front(), " exists."),
                          c.node.gdr.peermem.front(), Certainty::Told});
  if (const Setting* read = c.setting("NCCL_NET_GDR_READ"))
    f.evidence.push_back(settingEvidence(*read));
  if (const Setting* level = c.setting("NCCL_NET_GDR_LEVEL"))
    f.evidence.push_back(settingEvidence(*level));
  return f;
}

}  // namespace rdmaguard::engine
