// Rules about memory: what the registration test of probe::tryRegistration showed, and /dev/shm.
// Called through the table in rules_node.h.
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "verifier/engine/rules_node.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// NCCL's documentation asks for 1 GiB; each connection through it takes about 9.2 MiB.
constexpr std::uint64_t kEnoughShm = 1ULL << 30U;
constexpr std::uint64_t kEnoughFreeShm = 64ULL << 20U;
constexpr std::string_view kTest = "registration test in a child process";

std::string errnoWords(int number) {
  return std::generic_category().message(number);
}

std::string mebibytes(std::uint64_t bytes) {
  return cat(std::to_string(bytes >> 20U), " MiB");
}

// Devices that take part: NCCL's own list where that is known, else all.
bool wanted(const Case& c, const RdmaDevice& d) {
  return std::any_of(c.ports.begin(), c.ports.end(), [&d](const PortView& p) {
    return p.device == &d && !p.hit(Obstacle::Filtered) && !p.hit(Obstacle::NotActive);
  });
}

template <typename Holds>
std::vector<const RdmaDevice*> devicesWhere(const Case& c, Holds holds) {
  std::vector<const RdmaDevice*> out;
  if (c.oneNode()) return out;
  for (const RdmaDevice& d : c.node.devices)
    if (d.registration && wanted(c, d) && holds(*d.registration)) out.push_back(&d);
  return out;
}

std::vector<std::string> namesOf(const std::vector<const RdmaDevice*>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const RdmaDevice* d : devices) names.push_back(d->name);
  return names;
}

void observe(Finding& f, std::string fact) {
  f.evidence.push_back({std::move(fact), std::string(kTest), Certainty::Observed});
}

void addVersions(Finding& f, const NodeFacts& node) {
  if (!node.loader.rdmaCore.empty())
    f.evidence.push_back({cat("libibverbs here is of rdma-core ", node.loader.rdmaCore, "."),
                          node.loader.file, Certainty::Told});
  if (!node.kernelRelease.empty())
    f.evidence.push_back({cat("The host's kernel is ", node.kernelRelease, "."),
                          "/proc/sys/kernel/osrelease", Certainty::Told});
}

// The call that fails first, and how. ENOMEM while the limit binds is rule memlock-limited's;
// a device that cannot be opened is an obstacle, and has rules of its own.
struct Refusal {
  std::string_view call;
  int number;
};

std::optional<Refusal> refusalOf(const Case& c, const RegistrationTest& t) {
  const auto failed = [](const std::optional<int>& e) { return e && *e != 0; };
  if (failed(t.pdErrno)) return Refusal{"ibv_alloc_pd", *t.pdErrno};
  const MemLock& m = c.node.memlock;
  const bool limited = m.known && m.softBytes != MemLock::kUnlimited && !m.ipcLock.value_or(false);
  if (failed(t.regErrno) && !(limited && *t.regErrno == ENOMEM))
    return Refusal{"ibv_reg_mr", *t.regErrno};
  if (t.registeredErrno != 0 && !failed(t.regErrno) && !(limited && t.registeredErrno == ENOMEM))
    return Refusal{"ibv_reg_mr", t.registeredErrno};
  return std::nullopt;
}

}  // namespace

MaybeFinding relaxedOrderingRefused(const Case& c) {
  const Setting* off = c.setting("NCCL_IB_PCI_RELAXED_ORDERING");
  if (off && !off->value.empty() && numberValue(off->value).value_or(2) == 0) return std::nullopt;
  const auto hit = devicesWhere(c, [](const RegistrationTest& t) {
    return t.regErrno == 0 && t.relaxedErrno.value_or(0) != 0;
  });
  if (hit.empty()) return std::nullopt;
  Finding f{.certainty = Certainty::Observed};
  f.what = cat("On ", listed(namesOf(hit)),
               " memory can be registered, but not with relaxed ordering, as NCCL asks for it: "
               "NCCL takes the device and then fails (ibv_reg_mr_iova2: ",
               errnoWords(*hit.front()->registration->relaxedErrno),
               "). The rdma-core of this image and the driver of the host do not fit each other.");
  for (const RdmaDevice* d : hit)
    observe(f, cat("ibv_reg_mr_iova2 with relaxed ordering fails on ", d->name, " with ",
                   errnoWords(*d->registration->relaxedErrno), ", ibv_reg_mr does not."));
  addVersions(f, c.node);
  f.fix =
      "Use an image whose rdma-core is as new as the host's RDMA driver (`ofed_info -s` or "
      "`modinfo "
      "mlx5_ib` on the host). NCCL_IB_PCI_RELAXED_ORDERING=0 avoids the call until then.";
  return f;
}

MaybeFinding registrationRefused(const Case& c) {
  const auto hit =
      devicesWhere(c, [&c](const RegistrationTest& t) { return refusalOf(c, t).has_value(); });
  if (hit.empty()) return std::nullopt;
  const Refusal first = *refusalOf(c, *hit.front()->registration);
  Finding f{.certainty = Certainty::Observed};
  f.what = cat(listed(namesOf(hit)), hit.size() == 1 ? " does" : " do",
               " not let this process register memory (", first.call, ": ",
               errnoWords(first.number), "), without which nothing can be sent.");
  for (const RdmaDevice* d : hit) {
    const Refusal r = *refusalOf(c, *d->registration);
    observe(f, cat(r.call, " fails on ", d->name, " with ", errnoWords(r.number),
                   r.call == "ibv_reg_mr" && d->registration->registered > 0
                       ? cat(" after ", mebibytes(d->registration->registered))
                       : "",
                   "."));
  }
  addVersions(f, c.node);
  f.fix = cat("Try `ibv_devinfo -d ", hit.front()->name,
              "` in the same container and look for the driver's reason in the host's dmesg; where "
              "the rdma-core of the image is older than the host's driver, use a newer one.");
  return f;
}

MaybeFinding registrationUnfinished(const Case& c) {
  const RegistrationRun& run = c.node.registration;
  if (c.oneNode() || !run.tried || run.failure.empty()) return std::nullopt;
  const auto hit =
      devicesWhere(c, [](const RegistrationTest& t) { return t.listed && !t.finished; });
  // Without a device at work, what failed is said by the rules about libibverbs and devices.
  if (hit.empty()) return std::nullopt;
  Finding f{.certainty = Certainty::Observed};
  f.what = cat(run.failure, " It was at work on ", listed(namesOf(hit)),
               ": a job that takes this device hangs or crashes there as well.");
  observe(f, run.failure);
  if (!run.printed.empty())
    observe(f, cat("It printed: ", std::string_view(run.printed).substr(0, 400), "."));
  f.fix = cat("Look for ", hit.front()->name,
              " in the host's dmesg (a firmware command that timed out, a device reset), and keep "
              "the node out of the job until `ibv_devinfo -d ",
              hit.front()->name, "` answers.");
  return f;
}

MaybeFinding shmTooSmall(const Case& c) {
  const SharedMemory& shm = c.node.shm;
  if (c.oneNode() || !shm.known) return std::nullopt;
  // Ranks of one node share it; with one GPU there is one rank.
  const std::size_t gpus =
      c.node.gpusKnown ? c.node.gpus.size() : static_cast<std::size_t>(c.node.gdr.gpus);
  if (gpus < 2) return std::nullopt;
  const bool small = shm.sizeBytes && *shm.sizeBytes < kEnoughShm;
  const bool full = shm.freeBytes && *shm.freeBytes < kEnoughFreeShm;
  if (!small && !full) return std::nullopt;
  Finding f{.certainty = Certainty::Told};
  f.what = small ? cat("/dev/shm holds ", mebibytes(*shm.sizeBytes),
                       ": NCCL puts some 9 MiB into it for each pair of ranks on a node and stops "
                       "where it is full.")
                 : cat("/dev/shm has ", mebibytes(*shm.freeBytes),
                       " left: NCCL puts some 9 MiB into it for each pair of ranks on a node and "
                       "stops where it is full.");
  f.evidence.push_back(
      {cat("The size of /dev/shm is ", shm.sizeBytes ? mebibytes(*shm.sizeBytes) : "not known",
           shm.freeBytes ? cat(", ", mebibytes(*shm.freeBytes), " of it free.") : "."),
       shm.source, Certainty::Told});
  if (!small)
    f.fix = "Remove what killed jobs left there (ls -l /dev/shm/nccl-*), or make it larger.";
  else if (c.node.container == "kubernetes")
    f.fix =
        "Mount an emptyDir with medium: Memory at /dev/shm (its sizeLimit 1Gi or more; it counts "
        "as memory of the pod).";
  else if (!c.node.container.empty())
    f.fix = "Start the container with --shm-size=1g or more, or with --ipc=host.";
  else
    f.fix = "Make it larger: mount -o remount,size=50% /dev/shm.";
  return f;
}

}  // namespace rdmaguard::engine
