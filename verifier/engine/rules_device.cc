// Rules about whether verbs can reach a device at all: the library, the kernel's devices, the
// nodes in /dev, their permissions, the userspace drivers. Called through the table in rules.cc.
#include <algorithm>
#include <array>
#include <cerrno>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules_env.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

bool inKubernetes(const Case& c) {
  return c.node.container == "kubernetes";
}
bool inContainer(const Case& c) {
  return !c.node.container.empty();
}

constexpr std::string_view kPodFix =
    "Request the cluster's RDMA resource for the container that runs the job, in limits and "
    "requests alike (for example rdma/ib: 1; `kubectl describe node` shows the name under "
    "Allocatable). A hostPath mount of /dev/infiniband does not do it without privilege.";

struct OpenError {
  int number;
  std::string_view words;
  std::string_view fix;
};

constexpr std::array kOpenErrors{
    OpenError{EPERM, "EPERM: the container's device cgroup refuses it",
              "The node file alone is not enough: have the runtime pass the device in (docker "
              "run --device=/dev/infiniband/...; in Kubernetes request the RDMA resource), which "
              "also opens the device cgroup."},
    OpenError{EACCES, "EACCES: the file's mode does not let this user open it",
              "Give the user read and write access to /dev/infiniband/uverbs* (mode 0666 is usual: "
              "check rdma-core's udev rules on the host), or run as a user that has it."},
    OpenError{ENXIO, "ENXIO: there is no device behind the file",
              "The file is stale: the device went away or was renumbered after the container "
              "started. Restart the container, and look for a driver reset in the host's dmesg."},
    OpenError{ENODEV, "ENODEV: the driver no longer serves the device",
              "Look for a driver reset or a removed adapter in the host's dmesg, then restart the "
              "container."},
    OpenError{EMFILE, "EMFILE: this process has no file descriptor left",
              "Raise the limit on open files (ulimit -n)."},
    OpenError{EBUSY, "EBUSY: another process holds the device alone",
              "Find the process that holds it with lsof and stop it."},
};

const OpenError* openError(int number) {
  for (const OpenError& e : kOpenErrors)
    if (e.number == number) return &e;
  return nullptr;
}

std::string words(int number) {
  const OpenError* known = openError(number);
  return known ? std::string(known->words) : cat("errno ", std::to_string(number));
}

std::vector<const PortView*> onePerDevice(const std::vector<const PortView*>& ports) {
  std::vector<const PortView*> out;
  for (const PortView* p : ports)
    if (out.empty() || out.back()->device != p->device) out.push_back(p);
  return out;
}

// What shows that libibverbs has no driver for a device: its files, or its own list.
std::vector<Evidence> providerEvidence(const Case& c, const RdmaDevice& d) {
  std::vector<Evidence> out;
  if (d.registration && d.registration->finished && !d.registration->listed)
    out.push_back({cat("ibv_get_device_list does not name ", d.name, "."),
                   "registration test in a child process", Certainty::Observed});
  if (d.provider.empty() || !c.node.loader.providersKnown) return out;
  const auto& all = c.node.loader.providers;
  const auto row = std::find_if(all.begin(), all.end(),
                                [&d](const VerbsProvider& v) { return v.name == d.provider; });
  if (row == all.end())
    out.push_back({cat("No *.driver file names ", d.provider, "."), c.node.loader.configDir,
                   Certainty::Told});
  else if (row->library.empty())
    out.push_back(
        {cat(row->expected, " does not exist, though a driver file names ", d.provider, "."),
         row->driverFile, Certainty::Told});
  else
    out.push_back({cat(row->library, " exists, and libibverbs does not take it."), row->library,
                   Certainty::Told});
  return out;
}

// `ls /dev/infiniband` beside a log of a process that may be off RDMA, or by itself.
MaybeFinding uverbsAbsentInShell(const Case& c) {
  const bool concerned = c.process ? c.process->devices.empty() : c.node.hostname.empty();
  if (!c.job || !concerned || !c.mayBeOff() || c.ibWorks()) return std::nullopt;
  const Setting* absent = uverbsAbsent(*c.job);
  if (!absent) return std::nullopt;
  const bool noFolder = absent->value == "absent";
  return Finding{
      .what = cat(
          noFolder ? "/dev/infiniband does not exist" : "/dev/infiniband holds no uverbs device",
          ": libibverbs finds no RDMA device there, whatever sysfs lists."),
      .evidence = {{noFolder ? "ls finds no /dev/infiniband." : "ls shows no uverbs device.",
                    absent->source, Certainty::Told}},
      .fix =
          "Have the devices passed into the container (the RDMA resource in the pod spec, docker "
          "run "
          "--device=/dev/infiniband); on the host, load ib_uverbs.",
      .certainty = Certainty::Told};
}

}  // namespace

MaybeFinding libibverbsMissing(const Case& c) {
  const VerbsLoader& l = c.node.loader;
  if (!c.mayBeOff() || c.ibWorks()) return std::nullopt;
  if (c.process) return libibverbsMissingInLog(c);
  if (c.ibInitialised()) return std::nullopt;
  if (l.state != VerbsLoader::State::Missing) return std::nullopt;
  Finding f{.what = "libibverbs cannot be loaded here, so NCCL's IB transport cannot start.",
            .evidence = {{l.error.empty() ? std::string("The loader finds no libibverbs.so.1.")
                                          : cat("The loader says: ", l.error),
                          l.opened ? "dlopen in this process" : "the loader's directories",
                          l.opened ? Certainty::Observed : Certainty::Inferred}},
            .fix =
                "Install the RDMA user space in the image: apt-get install libibverbs1 "
                "ibverbs-providers (Debian, Ubuntu) or dnf install libibverbs (RHEL and kin).",
            .certainty = l.opened ? Certainty::Observed : Certainty::Inferred};
  if (const Setting* named = c.setting("NCCL_IBVERBS_LIB"))
    f.evidence.push_back(settingEvidence(*named));
  return f;
}

MaybeFinding noRdmaDevice(const Case& c) {
  if (c.process) return noDeviceInLog(c);
  if (!c.mayBeOff() || c.ibWorks() || !c.node.devicesKnown || !c.node.devices.empty())
    return std::nullopt;
  Finding f{.what = "The kernel shows no RDMA device here.",
            .evidence = {{"There is no device in /sys/class/infiniband.", "/sys/class/infiniband",
                          Certainty::Told}},
            .certainty = Certainty::Told};
  if (inKubernetes(c))
    f.fix =
        cat("Check on the host with `ibv_devices` that it has an HCA and its driver is "
            "loaded. If it has: its RDMA devices are tied to network namespaces (`rdma "
            "system` says exclusive) and the pod was given none. ",
            kPodFix);
  else if (inContainer(c))
    f.fix =
        "Check on the host with `ibv_devices` that it has an HCA and its driver is loaded. If "
        "it has, hand it to the container (docker run --device=/dev/infiniband "
        "--network=host; `rdma system` says whether devices are tied to namespaces).";
  else
    f.fix =
        "Check that the node has an HCA (lspci | grep -i -e infiniband -e mellanox) and that "
        "its driver is loaded (modprobe mlx5_ib for ConnectX), then `ibv_devices`.";
  return f;
}

MaybeFinding verbsModuleMissing(const Case& c) {
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::NoVerbs)) return std::nullopt;
  const auto names = deviceNames(c.stoppedAt(Obstacle::NoVerbs));
  return Finding{
      .what = cat("The kernel knows ", listed(names),
                  " but offers no verbs device for it: the ib_uverbs module is not loaded."),
      .evidence = {{"No entry of /sys/class/infiniband_verbs belongs to it.",
                    "/sys/class/infiniband_verbs", Certainty::Told}},
      .fix =
          "On the host: modprobe ib_uverbs (and make it permanent in "
          "/etc/modules-load.d).",
      .certainty = Certainty::Told};
}

MaybeFinding uverbsNodeMissing(const Case& c) {
  if (c.listing) {
    if (!c.listing->noDevices) return std::nullopt;
    return Finding{.what =
                       "ibv_devinfo finds no device: this container has no /dev/infiniband "
                       "node, or the node has no HCA.",
                   .evidence = {{"\"No IB devices found\".", c.job->source(c.listing->noDevices),
                                 Certainty::Told}},
                   .certainty = Certainty::Told};
  }
  if (MaybeFinding shown = uverbsAbsentInShell(c)) return shown;
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::NodeMissing)) return std::nullopt;
  const auto stopped = onePerDevice(c.stoppedAt(Obstacle::NodeMissing));
  const auto names = deviceNames(stopped);
  const bool noFolder = c.node.devInfinibandKnown && !c.node.devInfiniband;
  Finding f{.certainty = Certainty::Observed};
  f.what =
      cat("The kernel shows ", counted(names.size(), "RDMA device"), " (", listed(names), "), ",
          inContainer(c) ? "but this container was not given " : "but no node leads to ",
          names.size() == 1 ? "it: " : "any of them: ",
          noFolder ? "/dev/infiniband does not exist." : "/dev/infiniband has no node for them.");
  if (noFolder)
    f.evidence.push_back(
        {"/dev/infiniband does not exist.", "/dev/infiniband", Certainty::Observed});
  else
    for (const PortView* p : stopped)
      f.evidence.push_back(
          {cat(p->device->nodePath, " does not exist."), p->device->nodePath, Certainty::Observed});
  f.evidence.push_back({cat("sysfs lists ", listed(names),
                            "; it shows every HCA of the host, whatever the container may use."),
                        "/sys/class/infiniband", Certainty::Told});
  if (inKubernetes(c))
    f.fix = kPodFix;
  else if (inContainer(c))
    f.fix =
        "Start the container with the devices: docker run --device=/dev/infiniband ... (or "
        "the same in podman, enroot, Apptainer's --bind /dev).";
  else
    f.fix =
        "Load ib_uverbs (modprobe ib_uverbs) and let udev make the nodes (udevadm trigger "
        "--subsystem-match=infiniband_verbs); in a chroot or container, pass /dev/infiniband in.";
  return f;
}

MaybeFinding deviceOpenFailed(const Case& c) {
  if (c.process) return openFailedInLog(c);
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::OpenFailed)) return std::nullopt;
  const auto stopped = onePerDevice(c.stoppedAt(Obstacle::OpenFailed));
  if (stopped.empty()) return std::nullopt;
  Finding f{.certainty = Certainty::Observed};
  f.what = cat("The RDMA ", stopped.size() == 1 ? "device " : "devices ",
               listed(deviceNames(stopped)), " cannot be opened by this process (",
               words(openErrnoOf(*stopped.front()->device)), ").");
  for (const PortView* p : stopped) {
    const bool byLibrary = p->device->openErrno == 0;
    f.evidence.push_back({cat(byLibrary ? "ibv_open_device on " : "open(", p->device->nodePath,
                              byLibrary ? " fails with " : ", O_RDWR) fails with ",
                              words(openErrnoOf(*p->device)), "."),
                          p->device->nodePath, Certainty::Observed});
    if (p->device->cgroupAllows == false)
      f.evidence.push_back(
          {cat("The device cgroup does not let this container have ", p->device->nodeNumber, "."),
           c.node.cgroupDevices, Certainty::Told});
    const OpenError* known = openError(openErrnoOf(*p->device));
    if (known && f.fix.find(known->fix) == std::string::npos)
      f.fix += cat(f.fix.empty() ? "" : " ", known->fix);
  }
  if (f.fix.empty())
    f.fix = cat("Look that errno up for open(2) and try `ibv_devinfo -d ",
                stopped.front()->device->name, "` as the job's user in the job's container.");
  return f;
}

MaybeFinding providerMissing(const Case& c) {
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::NoProvider)) return std::nullopt;
  const auto stopped = onePerDevice(c.stoppedAt(Obstacle::NoProvider));
  if (stopped.empty()) return std::nullopt;
  const RdmaDevice& first = *stopped.front()->device;
  Finding f{.certainty = Certainty::Told};
  f.what = cat("libibverbs has no userspace driver for ", listed(deviceNames(stopped)),
               first.provider.empty() ? "" : cat(" (it needs the provider ", first.provider, ")"),
               ", so it does not show NCCL the device at all: usual in slim images that hold "
               "libibverbs alone.");
  for (const PortView* p : stopped)
    for (Evidence& e : providerEvidence(c, *p->device))
      if (std::none_of(f.evidence.begin(), f.evidence.end(),
                       [&e](const Evidence& said) { return said.fact == e.fact; }))
        f.evidence.push_back(std::move(e));
  if (!first.kernelDriver.empty())
    f.evidence.push_back({cat("The kernel drives ", first.name, " with ", first.kernelDriver, "."),
                          first.source, Certainty::Told});
  f.fix =
      "Install the providers in the image, of the same rdma-core release as its libibverbs: "
      "apt-get install ibverbs-providers (Debian, Ubuntu) or dnf install libibverbs (RHEL and "
      "kin, where they come with it). `ibv_devices` then lists the device.";
  return f;
}

MaybeFinding efaNeedsPlugin(const Case& c) {
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::LinkLayer)) return std::nullopt;
  const auto stopped = c.stoppedAt(Obstacle::LinkLayer);
  const auto efa = std::find_if(stopped.begin(), stopped.end(),
                                [](const PortView* p) { return p->device->provider == "efa"; });
  if (efa == stopped.end()) return std::nullopt;
  Finding f{
      .what = cat("The devices here are EFA (", listed(deviceNames(stopped)),
                  "), which NCCL's own IB transport cannot drive: it takes the AWS OFI plugin, "
                  "and NCCL did not use it."),
      .evidence = {{cat((*efa)->device->name, " has the link layer ",
                        (*efa)->port ? (*efa)->port->linkLayerText : "Unspecified", "."),
                    (*efa)->device->source, Certainty::Told}},
      .fix =
          "Install aws-ofi-nccl with libfabric in the image and put its directory into "
          "LD_LIBRARY_PATH (NCCL looks for libnccl-net.so, or for libnccl-net-ofi.so with "
          "NCCL_NET_PLUGIN=ofi); FI_PROVIDER=efa keeps it off TCP.",
      .certainty = Certainty::Told};
  if (c.seen.transport == Transport::Unknown || c.seen.planned)
    f.what = cat("The devices here are EFA (", listed(deviceNames(stopped)),
                 "), which NCCL's own IB transport cannot drive: it takes the AWS OFI plugin.");
  if (c.seen.transport == Transport::Unknown &&
      (!c.node.netPluginsMapped.empty() || !c.node.defaultNetPlugin.empty()))
    return std::nullopt;
  return f;
}

MaybeFinding linkLayerUnsupported(const Case& c) {
  if (!c.mayBeOff() || c.ibWorks() || !c.blockedAt(Obstacle::LinkLayer)) return std::nullopt;
  const auto stopped = c.stoppedAt(Obstacle::LinkLayer);
  if (std::any_of(stopped.begin(), stopped.end(),
                  [](const PortView* p) { return p->device->provider == "efa"; }))
    return std::nullopt;
  Finding f{
      .what = cat("No port of ", listed(deviceNames(stopped)),
                  " has a link layer that NCCL's IB transport takes (InfiniBand or Ethernet)."),
      .fix =
          "Use the net plugin that this fabric's vendor provides for NCCL "
          "(NCCL_NET_PLUGIN).",
      .certainty = Certainty::Told};
  for (const PortView* p : stopped)
    if (p->port)
      f.evidence.push_back({cat(portName(*p), " has the link layer ", p->port->linkLayerText, "."),
                            p->port->source, Certainty::Told});
  return f;
}

}  // namespace rdmaguard::engine
