// Rules about devices that cannot be used beside others that can, and about the libraries for
// them. Called through the table in rules_node.h.
#include <algorithm>

#include "verifier/engine/rules_node.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// Ports that only `o` keeps from carrying traffic, as fast as the fastest that do: a slower one
// is a management or storage NIC, and no loss. Empty where `o` stops everything, which is the
// missing conditions' to say.
std::vector<const PortView*> lostTo(const Case& c, Obstacle o) {
  std::vector<const PortView*> out;
  if (c.oneNode() || c.process || c.listing) return out;
  double fastest = 0;
  for (const PortView* p : c.usablePorts())
    if (p->port) fastest = std::max(fastest, p->port->rateGbps);
  if (fastest <= 0) return out;
  for (const PortView& p : c.ports)
    if (p.port && p.obstacles == 1U << static_cast<unsigned>(o) && p.port->rateGbps >= fastest)
      out.push_back(&p);
  return out;
}

}  // namespace

MaybeFinding openFailedOnSome(const Case& c) {
  const auto lost = lostTo(c, Obstacle::OpenFailed);
  if (lost.empty()) return std::nullopt;
  Finding f{.what = cat(listed(deviceNames(lost)), lost.size() == 1 ? " is" : " are",
                        " ACTIVE and as fast as the others, but cannot be opened: NCCL goes on "
                        "without."),
            .fix =
                "Let the container have all its devices (Kubernetes: the RDMA resource; docker: "
                "--device), and give the user read and write access to their nodes.",
            .certainty = Certainty::Observed};
  for (const PortView* p : lost)
    f.evidence.push_back({cat("Opening ", p->device->nodePath, " fails with errno ",
                              std::to_string(openErrnoOf(*p->device)), "."),
                          p->device->nodePath, Certainty::Observed});
  return f;
}

MaybeFinding providerMissingOnSome(const Case& c) {
  const auto lost = lostTo(c, Obstacle::NoProvider);
  if (lost.empty()) return std::nullopt;
  Finding f{.what = cat("libibverbs has no userspace driver for ", listed(deviceNames(lost)),
                        ", which ", lost.size() == 1 ? "is" : "are",
                        " ACTIVE and as fast as the others: NCCL goes on without."),
            .fix =
                "Install the providers in the image (ibverbs-providers on Debian and Ubuntu), of "
                "the same rdma-core release as its libibverbs.",
            .certainty = Certainty::Told};
  for (const PortView* p : lost)
    f.evidence.push_back(
        {p->device->provider.empty()
             ? cat("libibverbs does not list ", p->device->name, ".")
             : cat(p->device->name, " needs the provider ", p->device->provider, "."),
         c.node.loader.configDir.empty() ? p->device->source : c.node.loader.configDir,
         Certainty::Told});
  return f;
}

MaybeFinding devicesNotPassedIn(const Case& c) {
  if (c.oneNode() || !c.node.devInfinibandKnown) return std::nullopt;
  std::vector<std::string> here, absent;
  for (const RdmaDevice& d : c.node.devices)
    if (!d.uverbs.empty()) (d.nodePresent ? here : absent).push_back(d.name);
  if (here.empty() || absent.empty()) return std::nullopt;
  return Finding{
      .what = cat("This ", c.node.container.empty() ? "process" : "container", " has ",
                  listed(here), " of the ", std::to_string(here.size() + absent.size()),
                  " RDMA devices that the kernel shows; for ", listed(absent),
                  " there is no node in /dev/infiniband."),
      .evidence = {{cat("sysfs shows every HCA of the host; /dev/infiniband holds ",
                        counted(here.size(), "node"), " of theirs."),
                    "/sys/class/infiniband, /dev/infiniband", Certainty::Observed}},
      .fix =
          "Nothing, if the job is meant to have these alone; else ask for more of the RDMA "
          "resource.",
      .certainty = Certainty::Observed};
}

MaybeFinding verbsLibrariesMixed(const Case& c) {
  const VerbsLoader& l = c.node.loader;
  if (c.oneNode() || l.rdmaCore.empty()) return std::nullopt;
  for (const VerbsProvider& p : l.providers) {
    const bool needed = std::any_of(c.node.devices.begin(), c.node.devices.end(),
                                    [&p](const RdmaDevice& d) { return d.provider == p.name; });
    if (!needed || p.rdmaCore.empty() || p.rdmaCore == l.rdmaCore) continue;
    return Finding{
        .what = cat("libibverbs is of rdma-core ", l.rdmaCore, " and its provider ", p.name, " of ",
                    p.rdmaCore, ": they share private interfaces and belong together."),
        .evidence = {{cat("libibverbs is of rdma-core ", l.rdmaCore, "."), l.file, Certainty::Told},
                     {cat("The provider ", p.name, " is of rdma-core ", p.rdmaCore, "."), p.library,
                      Certainty::Told}},
        .fix = "Take both from one package source, in the image, and mount neither from the host.",
        .certainty = Certainty::Told};
  }
  return std::nullopt;
}

}  // namespace rdmaguard::engine
