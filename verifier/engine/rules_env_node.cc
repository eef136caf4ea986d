// Rules about what a shell shows of a node: modules, packages, GID tables. See rules_env.h.
#include <algorithm>
#include <charconv>

#include "verifier/engine/hca_filter.h"
#include "verifier/engine/judge_log.h"
#include "verifier/engine/rules_env.h"
#include "verifier/engine/setting_sources.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxEvidence = 8;
constexpr int kRdmaCoreForUcx = 54;

// Drivers of RDMA devices, software ones too.
constexpr std::array<std::string_view, 17> kDrivers{
    "mlx5_ib",    "mlx4_ib", "irdma",       "i40iw",   "bnxt_re",  "efa",
    "erdma",      "hfi1",    "qedr",        "mana_ib", "iw_cxgb4", "ionic_rdma",
    "vmw_pvrdma", "ocrdma",  "usnic_verbs", "siw",     "rdma_rxe"};
constexpr std::array<std::string_view, 2> kPeermem{"nvidia_peermem", "nv_peer_mem"};

struct Modules {
  const Setting* whole = nullptr;  // the heading of a list that was not cut
  bool driver = false, peermem = false, nvidia = false;
};

Modules modulesOf(const JobFacts& job) {
  constexpr std::string_view kPrefix = "module ";
  Modules m;
  for (const Setting& f : job.hostFacts) {
    if (f.name == "lsmod" && !m.whole) m.whole = &f;
    if (!f.name.starts_with(kPrefix)) continue;
    const std::string_view name = std::string_view(f.name).substr(kPrefix.size());
    m.driver = m.driver || std::find(kDrivers.begin(), kDrivers.end(), name) != kDrivers.end() ||
               name.starts_with("hns_roce");
    m.peermem = m.peermem || std::find(kPeermem.begin(), kPeermem.end(), name) != kPeermem.end();
    m.nvidia = m.nvidia || name == "nvidia";
  }
  return m;
}

// A log shows that devices are there, or that none is needed.
bool devicesSeen(const Case& c) {
  if (c.log && (c.log->engaged == Engaged::Yes || c.log->engaged == Engaged::NotNeeded))
    return true;
  const auto& processes = c.job->log.processes;
  const auto& listings = c.job->ports.listings;
  return std::any_of(processes.begin(), processes.end(),
                     [](const ProcessLog& p) { return !p.devices.empty(); }) ||
         std::any_of(listings.begin(), listings.end(),
                     [](const PortListing& l) { return !l.devices.empty(); });
}

// The GIDs of one port.
struct GidTable {
  const PortListing* listing = nullptr;
  std::string device;
  int port = 1;
  std::vector<const ListedGid*> gids;
};

bool ethernetPort(const RdmaDevice& d, int number) {
  return std::any_of(d.ports.begin(), d.ports.end(), [number](const RdmaPort& p) {
    return p.number == number && p.linkLayer == LinkLayer::Ethernet;
  });
}

bool downPort(const RdmaDevice& d, int number) {
  return std::any_of(d.ports.begin(), d.ports.end(), [number](const RdmaPort& p) {
    return p.number == number && p.state != PortState::Unknown && p.state != PortState::Active;
  });
}

// Of RoCE ports that NCCL may take.
std::vector<GidTable> gidTables(const JobFacts& job, const NameFilter& taken) {
  std::vector<GidTable> tables;
  for (const PortListing& l : job.ports.listings)
    for (std::size_t i = 0; i < l.devices.size() && i < l.hardware.size(); ++i) {
      const RdmaDevice& d = l.devices[i];
      const std::size_t first = tables.size();
      for (const ListedGid& g : l.hardware[i].gids) {
        if (g.roceVersion == 0 && !ethernetPort(d, g.port)) continue;
        if (downPort(d, g.port) || !taken.takes(d.name, g.port)) continue;
        const auto known =
            std::find_if(tables.begin() + static_cast<std::ptrdiff_t>(first), tables.end(),
                         [&g](const GidTable& t) { return t.port == g.port; });
        if (known != tables.end())
          known->gids.push_back(&g);
        else
          tables.push_back({&l, d.name, g.port, {&g}});
      }
    }
  return tables;
}

const ListedGid* entryOf(const GidTable& t, long long index) {
  const auto found = std::find_if(t.gids.begin(), t.gids.end(),
                                  [index](const ListedGid* g) { return g->index == index; });
  return found == t.gids.end() ? nullptr : *found;
}

struct GidChoice {
  long long index = -1;  // below 0: NCCL chooses by itself
  Evidence evidence;
  std::vector<GidTable> tables;
};

GidChoice gidChoice(const Case& c) {
  GidChoice out;
  if (!c.job) return out;
  NameFilter taken;
  eachSetting(*c.job, [&](const SeenSetting& s) {
    if (s.name == "NCCL_IB_HCA" && taken.entries.empty())
      taken = parseNameFilter(s.value, kMaxHcaEntries);
    const auto n = s.name == "NCCL_IB_GID_INDEX" ? numberValue(s.value) : std::nullopt;
    if (n && *n >= 0 && out.index < 0) {
      out.index = *n;
      out.evidence = {cat("NCCL_IB_GID_INDEX=", s.value, "."), s.source, Certainty::Told};
    }
    return true;
  });
  if (out.index >= 0) out.tables = gidTables(*c.job, taken);
  return out;
}

// The leading number of a version without a distributor's epoch; -1 where NVIDIA's own build
// counts in another way ("2307mlnx47").
int majorOf(std::string_view version) {
  if (version.find("mlnx") != std::string_view::npos) return -1;
  if (const auto colon = version.find(':'); colon != std::string_view::npos)
    version.remove_prefix(colon + 1);
  int major = -1;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

bool ofGb300Set(const SeenSetting& s) {
  if (s.name == "UCX_TLS") return s.value.find("_mlx5") != std::string::npos;
  return s.name == "UCX_IB_GID_INDEX" || s.name == "UCX_MAX_RMA_RAILS";
}

}  // namespace

const Setting* uverbsAbsent(const JobFacts& job) {
  const Setting* absent = nullptr;
  for (const Setting& f : job.hostFacts) {
    if (f.name != "/dev/infiniband") continue;
    if (f.value == "uverbs") return nullptr;
    if (!absent) absent = &f;
  }
  return absent;
}

const Setting* peermemAbsent(const JobFacts& job) {
  const Modules m = modulesOf(job);
  return m.nvidia && !m.peermem ? m.whole : nullptr;
}

MaybeFinding gidIndexEmpty(const Case& c) {
  // A connection shows that the entry is there.
  if (c.log && c.log->engaged == Engaged::Yes && !c.log->setupFailure && !c.log->notConnected)
    return std::nullopt;
  const GidChoice choice = gidChoice(c);
  Finding f{.evidence = {choice.evidence}, .certainty = Certainty::Told};
  std::vector<std::string> names;
  for (const GidTable& t : choice.tables) {
    // What a cut listing lacks may be there.
    if (!t.listing->complete || entryOf(t, choice.index)) return std::nullopt;
    names.push_back(cat(t.device, " port ", std::to_string(t.port)));
    if (f.evidence.size() < kMaxEvidence)
      f.evidence.push_back(
          {cat(names.back(), " has ", counted(t.gids.size(), "GID"), ", and none at that index."),
           c.job->source(t.gids.front()->at), Certainty::Told});
  }
  if (names.empty()) return std::nullopt;
  f.what =
      cat("NCCL_IB_GID_INDEX=", std::to_string(choice.index), " names an entry that is empty on ",
          listed(names), ": NCCL then fails to connect its queue pairs (ibv_modify_qp).");
  return f;
}

MaybeFinding gidIndexRoceV1(const Case& c) {
  const GidChoice choice = gidChoice(c);
  Finding f{.evidence = {choice.evidence}, .certainty = Certainty::Told};
  std::vector<std::string> names;
  for (const GidTable& t : choice.tables) {
    const ListedGid* g = entryOf(t, choice.index);
    if (!g || g->roceVersion != 1) continue;
    names.push_back(cat(t.device, " port ", std::to_string(t.port)));
    if (f.evidence.size() < kMaxEvidence)
      f.evidence.push_back({cat("GID ", std::to_string(g->index), " of ", names.back(), " is ",
                                g->gid, ", RoCE v1."),
                            c.job->source(g->at), Certainty::Told});
  }
  if (names.empty()) return std::nullopt;
  f.what =
      cat("NCCL_IB_GID_INDEX=", std::to_string(choice.index), " takes RoCE v1 on ", listed(names),
          ": its packets have no IP header, so no router passes them, and nodes in other "
          "subnets are not reached.");
  return f;
}

MaybeFinding rdmaModulesMissing(const Case& c) {
  if (!c.job || devicesSeen(c)) return std::nullopt;
  const Modules m = modulesOf(*c.job);
  if (!m.whole || m.driver) return std::nullopt;
  return Finding{
      .what =
          "The kernel has no driver of an RDMA device loaded: libibverbs finds no device, and NCCL "
          "takes Socket.",
      .evidence = {{"lsmod lists none of mlx5_ib, irdma, bnxt_re, efa and their like.",
                    m.whole->source, Certainty::Told}},
      .certainty = Certainty::Inferred};
}

MaybeFinding peermemNotLoaded(const Case& c) {
  if (!c.job || (c.log && c.log->gdr == GdrState::Enabled)) return std::nullopt;
  const Setting* absent = peermemAbsent(*c.job);
  if (!absent) return std::nullopt;
  return Finding{.what =
                     "No peer-memory module is loaded: GPUDirect RDMA then needs DMA-BUF (NVIDIA's "
                     "open kernel "
                     "modules on Linux 5.12 or later).",
                 .evidence = {{"lsmod lists neither nvidia_peermem nor nv_peer_mem.",
                               absent->source, Certainty::Told}},
                 .certainty = Certainty::Told};
}

MaybeFinding rdmaCoreOldForUcx(const Case& c) {
  if (!c.job) return std::nullopt;
  constexpr std::string_view kPrefix = "package ";
  Finding f{.certainty = Certainty::Told};
  for (const Setting& fact : c.job->hostFacts) {
    if (!fact.name.starts_with(kPrefix) || fact.name == "package ucx") continue;
    const int major = majorOf(fact.value);
    if (major < 0 || major >= kRdmaCoreForUcx || f.evidence.size() >= kMaxEvidence) continue;
    f.evidence.push_back({cat(fact.name.substr(kPrefix.size()), " is ", fact.value, "."),
                          fact.source, Certainty::Told});
  }
  if (f.evidence.empty()) return std::nullopt;
  bool set = false;
  eachSetting(*c.job, [&](const SeenSetting& s) {
    set = ofGb300Set(s);
    if (set) f.evidence.push_back({cat(s.name, "=", s.value, "."), s.source, Certainty::Told});
    return !set;
  });
  if (!set) return std::nullopt;
  f.what =
      "UCX on GB300 RoCE needs rdma-core 54 or later, and an older one is installed. NCCL is not "
      "concerned.";
  return f;
}

}  // namespace rdmaguard::engine
