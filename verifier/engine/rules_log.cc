// What only a log shows: distances of GPU and HCA, ranks beside each other, how far a job got.
// Called through the table in rules.cc.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "verifier/engine/judge_log.h"
#include "verifier/engine/rule_functions.h"
#include "verifier/engine/rules_spec.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

constexpr std::size_t kMaxEvidence = 8;
constexpr std::size_t kMaxNamed = 6;

std::string netWords(const Network& net) {
  switch (net.transport) {
    case Transport::External:
      return net.name;
    case Transport::None:
      return "no network";
    default:
      return std::string(name(net.transport));
  }
}

// Interfaces that a host has for its own containers and virtual machines, or for itself.
constexpr std::array<std::string_view, 10> kHostOnly{
    "virbr", "docker", "veth", "cni", "lxcbr", "lxdbr", "podman", "vmnet", "cilium_", "kube-ipvs"};

bool hostOnlyInterface(std::string_view name) {
  return name == "lo" || std::any_of(kHostOnly.begin(), kHostOnly.end(),
                                     [&](std::string_view p) { return name.starts_with(p); });
}

bool hostOnlyAddress(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("169.254.") || address == "::1" ||
         address.starts_with("fe80:");
}

// The address of a host that another host has too: no way from one to the other.
bool sharedAddress(const JobFacts& job, const ProcessLog& process) {
  return std::any_of(job.log.processes.begin(), job.log.processes.end(), [&](const ProcessLog& o) {
    return !process.address.empty() && o.address == process.address && !o.host.empty() &&
           !process.host.empty() && o.host != process.host;
  });
}

bool severalHosts(const JobFacts& job) {
  const std::vector<ProcessLog>& all = job.log.processes;
  return std::any_of(all.begin(), all.end(), [&](const ProcessLog& p) {
    return !p.host.empty() && nodeOf(p) != nodeOf(all.front());
  });
}

bool tooFar(const PairGdr& pair) {
  return !pair.enabled && pair.distance >= 0 && pair.distance > pair.limit;
}

bool isRdmaJob(const LogVerdict& log) {
  return log.engaged == Engaged::Yes || log.engaged == Engaged::Partial;
}

}  // namespace

MaybeFinding gdrDistance(const Case& c) {
  if (!c.log) return std::nullopt;
  Finding f{.what =
                "Some GPUs are farther from the HCA than NCCL allows for GPUDirect RDMA: their "
                "data is staged through the host.",
            .fix =
                "Use the HCA on the GPU's own PCIe switch (check with `nvidia-smi topo -m`), or "
                "allow the distance with NCCL_NET_GDR_LEVEL (PHB, then SYS) and measure: across "
                "CPU sockets it can be slower than staging.",
            .certainty = Certainty::Told};
  std::set<std::string> seen;
  for (const CommNet& comm : c.log->comms) {
    if (comm.engaged == Engaged::NotNeeded) continue;
    for (const RankNet& rank : comm.ranks) {
      if (rank.net.standing != Standing::OnRdma) continue;
      for (const PairGdr& pair : rank.process->pairGdr) {
        if (f.evidence.size() >= kMaxEvidence) return f;
        if (!tooFar(pair)) continue;
        std::string fact =
            cat(rank.process->host.empty() ? std::string("GPU ")
                                           : cat("On ", rank.process->host, ": GPU "),
                pair.gpu, " and HCA ", pair.hca, ": distance ", std::to_string(pair.distance),
                " > ", std::to_string(pair.limit), ".");
        if (seen.insert(fact).second)
          f.evidence.push_back({std::move(fact), c.job->source(pair.at), Certainty::Told});
      }
    }
  }
  if (f.evidence.empty()) return std::nullopt;
  return f;
}

MaybeFinding gdrPartial(const Case& c) {
  if (!c.log || c.log->gdr != GdrState::Partial) return std::nullopt;
  Finding f{.what = "GPUDirect RDMA is in use on some connections and not on others.",
            .certainty = Certainty::Told};
  for (const CommNet& comm : c.log->comms)
    for (const RankNet& rank : comm.ranks) {
      if (rank.net.standing != Standing::OnRdma || f.evidence.size() >= kMaxEvidence) continue;
      if (!rank.comm || rank.comm->edges.empty()) continue;
      for (const NetEdges& e : rank.comm->edges) {
        if (e.firstWithoutGdr)
          f.evidence.push_back({cat(rankName(rank), " has a channel without /GDRDMA."),
                                c.job->source(e.firstWithoutGdr), Certainty::Told});
        if (e.firstGdr)
          f.evidence.push_back({cat(rankName(rank), " has a channel with /GDRDMA."),
                                c.job->source(e.firstGdr), Certainty::Told});
      }
    }
  if (f.evidence.empty())
    for (const ProcessLog& p : c.job->log.processes) {
      const auto add = [&](std::string fact, Place at) {
        if (f.evidence.size() < kMaxEvidence)
          f.evidence.push_back({std::move(fact), c.job->source(at), Certainty::Told});
      };
      for (const HcaGdr& h : p.hcaGdr)
        add(cat("GPU Direct RDMA is ", h.enabled ? "enabled" : "disabled", " for ", h.hca, "."),
            h.at);
      for (const PairGdr& pair : p.pairGdr)
        add(cat("GPU Direct RDMA is ", pair.enabled ? "enabled" : "disabled", " for GPU ", pair.gpu,
                "."),
            pair.at);
    }
  if (f.evidence.empty()) return std::nullopt;
  return f;
}

MaybeFinding ranksDisagree(const Case& c) {
  if (!c.log || c.log->off.empty()) return std::nullopt;
  const std::vector<const RankNet*>& off = c.log->off;
  const RankNet* other = nullptr;
  for (const CommNet& comm : c.log->comms) {
    const bool here = std::any_of(comm.ranks.begin(), comm.ranks.end(),
                                  [&](const RankNet& r) { return &r == off.front(); });
    if (!here) continue;
    for (const RankNet& r : comm.ranks)
      if (!other && r.net.decided() && !r.net.sameAs(off.front()->net)) other = &r;
  }
  if (!other) return std::nullopt;
  std::vector<std::string> names;
  names.reserve(off.size());
  for (const RankNet* r : off) names.push_back(rankName(*r));
  Finding f{.what = cat(
                "The ranks of a communicator are on different networks: ", listed(names, kMaxNamed),
                off.size() == 1 ? " is on " : " are on ", netWords(off.front()->net), ", ",
                rankName(*other), " and the rest on ", netWords(other->net),
                ". They cannot talk to each other: the job hangs or fails."),
            .fix =
                "Make the odd ranks like the rest: the other findings say why they differ; compare "
                "image, settings and devices of both nodes.",
            .certainty = Certainty::Told};
  for (const RankNet* r : off) {
    if (f.evidence.size() >= kMaxEvidence - 1) break;
    f.evidence.push_back(
        {cat(rankName(*r), ": ", r->how, "."), c.job->source(r->at), r->certainty});
  }
  f.evidence.push_back(
      {cat(rankName(*other), ": ", other->how, "."), c.job->source(other->at), other->certainty});
  return f;
}

MaybeFinding unequalHcaSets(const Case& c) {
  if (!c.log || !isRdmaJob(*c.log)) return std::nullopt;
  for (std::size_t jobNumber = 0; jobNumber < static_cast<std::size_t>(c.log->jobs); ++jobNumber) {
    struct Node {
      std::set<std::string> names;
      Place at;
    };
    std::map<std::string, Node> nodes;
    for (const CommNet& comm : c.log->comms) {
      if (comm.job != jobNumber || comm.engaged == Engaged::NotNeeded) continue;
      for (const RankNet& r : comm.ranks) {
        if (r.process->devices.empty() || r.process->host.empty() || r.process->deviceListCut)
          continue;
        Node& node = nodes[nodeOf(*r.process)];
        if (!node.at) node.at = r.process->deviceListAt;
        for (const ListedDevice& d : r.process->devices)
          node.names.insert(cat(d.name, ":", std::to_string(d.port)));
      }
    }
    if (nodes.size() < 2) continue;
    const auto fewer = [](const auto& a, const auto& b) {
      return a.second.names.size() < b.second.names.size();
    };
    const auto least = std::min_element(nodes.begin(), nodes.end(), fewer);
    const auto most = std::max_element(nodes.begin(), nodes.end(), fewer);
    if (least->second.names.size() == most->second.names.size()) continue;
    std::vector<std::string> lacking;
    for (const std::string& d : most->second.names)
      if (!least->second.names.contains(d)) lacking.push_back(d.substr(0, d.rfind(':')));
    return Finding{
        .what = cat("Nodes use different numbers of HCAs: ", least->first, " has ",
                    std::to_string(least->second.names.size()), ", ", most->first, " has ",
                    std::to_string(most->second.names.size()), ". ", least->first, " lacks ",
                    listed(lacking), ", and every collective waits for it."),
        .evidence = {{cat(least->first, " lists ", std::to_string(least->second.names.size()), "."),
                      c.job->source(least->second.at), Certainty::Told},
                     {cat(most->first, " lists ", std::to_string(most->second.names.size()), "."),
                      c.job->source(most->second.at), Certainty::Told}},
        .fix = cat("Run `ibv_devinfo` in the job's container on ", least->first, ": is ",
                   lacking.front(), " there and PORT_ACTIVE, and does NCCL_IB_HCA take it?"),
        .certainty = Certainty::Told};
  }
  return std::nullopt;
}

MaybeFinding wrongInterface(const Case& c) {
  if (!c.log || c.log->engaged == Engaged::NotNeeded) return std::nullopt;
  Finding f{.certainty = Certainty::Told};
  std::string named;
  for (const ProcessLog& p : c.job->log.processes) {
    const std::string& interface =
        p.bootstrapInterface.empty() ? p.oobInterface : p.bootstrapInterface;
    const bool local = hostOnlyInterface(interface) || hostOnlyAddress(p.address);
    if (interface.empty() || f.evidence.size() >= kMaxEvidence) continue;
    // An odd name alone is no fault where it works.
    const bool fails = c.log->setupFailure != nullptr && local;
    if (!fails && !(local && sharedAddress(*c.job, p))) continue;
    const Place at = p.bootstrapInterface.empty() ? p.deviceListAt : p.bootstrapAt;
    f.evidence.push_back({cat(p.host.empty() ? std::string("A process") : p.host, " uses ",
                              interface, p.address.empty() ? "" : cat(" (", p.address, ")"), "."),
                          c.job->source(Place{p.file, at.line}), Certainty::Told});
    if (named.empty()) named = interface;
  }
  if (f.evidence.empty()) return std::nullopt;
  f.what = cat("NCCL's own connections go over ", named,
               ", which leads to this host's containers or virtual machines only: the other nodes "
               "cannot be reached there.");
  f.fix =
      "Set NCCL_SOCKET_IFNAME to the interface that reaches the other nodes (`ip -br addr`; a "
      "prefix such as eth is enough, ^virbr,docker,lo leaves these out).";
  return f;
}

MaybeFinding versionsDiffer(const Case& c) {
  // On one host they are two runs of one after the other.
  if (!c.log || !severalHosts(*c.job)) return std::nullopt;
  struct Seen {
    std::string version;
    std::string source;
  };
  const auto differ = [](const std::vector<Seen>& all) -> MaybeFinding {
    if (all.size() < 2) return std::nullopt;
    Finding f{.what = cat("The ranks run different NCCL releases: ", all[0].version, " and ",
                          all[1].version,
                          ". Their plugins and messages differ, and NCCL does not support it."),
              .fix = "Use one image, or one NCCL release (LD_LIBRARY_PATH, pip), on all nodes.",
              .certainty = Certainty::Told};
    for (const Seen& s : all)
      if (f.evidence.size() < kMaxEvidence)
        f.evidence.push_back({cat("NCCL ", s.version, " speaks here."), s.source, Certainty::Told});
    return f;
  };
  const auto add = [](std::vector<Seen>& all, const std::string& version, std::string source) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Seen& s) { return s.version == version; });
    if (!version.empty() && !known) all.push_back({version, std::move(source)});
  };
  for (int jobNumber = 0; jobNumber < c.log->jobs; ++jobNumber) {
    std::vector<Seen> all;
    for (const CommNet& comm : c.log->comms)
      if (comm.job == static_cast<std::size_t>(jobNumber))
        for (const RankNet& r : comm.ranks)
          add(all, r.process->ncclVersion, c.job->source(Place{r.process->file, 0}));
    if (MaybeFinding f = differ(all)) return f;
  }
  // Lines of no process can be told to belong to one job only where there is one.
  if (c.log->jobs > 1) return std::nullopt;
  std::vector<Seen> all;
  const LogFacts& log = c.job->log;
  for (std::size_t i = 0; i < log.versions.size(); ++i)
    add(all, log.versions[i],
        c.job->source(i < log.versionsAt.size() ? log.versionsAt[i] : Place{}));
  return differ(all);
}

MaybeFinding setupFailed(const Case& c) {
  if (!c.log || !c.log->setupFailure) return std::nullopt;
  const Event& e = *c.log->setupFailure;
  return Finding{.what = cat("The job failed while its connections were set up (", e.id,
                             "): no data went over the network."),
                 .evidence = {{cat("The error ", e.id, e.host.empty() ? "" : cat(" on ", e.host),
                                   e.detail.empty() ? "" : cat(": ", e.detail), "."),
                               c.job->source(e.at), Certainty::Told}},
                 .certainty = Certainty::Told};
}

MaybeFinding selectedNotConnected(const Case& c) {
  if (!c.log || !c.log->notConnected) return std::nullopt;
  const RankNet& r = *c.log->notConnected;
  return Finding{
      .what = cat(rankName(r), " chose its network (", netWords(r.net),
                  ") and began, and the log shows no connection after that: it ends there, or the "
                  "job hung there."),
      .evidence = {{"The communicator starts here, and no channel line follows.",
                    c.job->source(r.comm->first), Certainty::Told}},
      .fix =
          "If the job hung: look at every rank's stack and last lines; a rank that does not reach "
          "this point holds all others. The network was chosen rightly.",
      .certainty = Certainty::Inferred};
}

MaybeFinding linkLayerNotShown(const Case& c) {
  if (!c.log || c.log->net.transport != Transport::IB || c.log->net.linkLayerShown)
    return std::nullopt;
  Finding f{.what =
                "No line shows the link layer: NCCL calls RoCE ports IB too. IB is the assumption "
                "here.",
            .fix =
                "Keep the \"NET/IB : Using [0]...\" line of the start (NCCL_DEBUG=INFO), or run "
                "`ibv_devinfo` in the job's container (link_layer).",
            .certainty = Certainty::Inferred};
  if (c.log->connected)
    f.evidence.push_back({cat("The network shows in an error (", c.log->connected->id, ")."),
                          c.job->source(c.log->connected->at), Certainty::Told});
  for (const Evidence& e : c.log->evidence)
    if (f.evidence.empty()) f.evidence.push_back(e);
  if (f.evidence.empty()) return std::nullopt;
  return f;
}

MaybeFinding externalPlugin(const Case& c) {
  if (c.log && c.log->engaged == Engaged::NotNeeded) return std::nullopt;
  if (!c.log || !c.log->any) return specExternalPlugin(c);
  for (const CommNet& comm : c.log->comms)
    for (const RankNet& r : comm.ranks) {
      if (r.net.name.empty() || sameWord(r.net.name, "IB") || sameWord(r.net.name, "Socket"))
        continue;
      return Finding{
          .what = cat("The traffic goes through the net plugin ", r.net.name,
                      ", not through NCCL's own transports: its settings and faults are "
                      "the plugin's."),
          .evidence = {{cat(rankName(r), ": ", r.how, "."), c.job->source(r.at), r.certainty}},
          .certainty = Certainty::Told};
    }
  if (c.log->net.transport == Transport::External && !c.log->evidence.empty())
    return Finding{.what = cat("The traffic goes through the net plugin ", c.log->net.name, "."),
                   .evidence = {c.log->evidence.front()},
                   .certainty = Certainty::Told};
  return std::nullopt;
}

MaybeFinding externalPluginFile(const Case& c) {
  for (const Event& e : c.job->run.events) {
    // NCCL's own sources end in .cc (before 2.x builds .cu); plugins are written in C.
    const std::string file = e.location.substr(0, e.location.find(':'));
    if (!e.failure || e.network.empty() || !file.ends_with(".c")) continue;
    return Finding{.what = cat("The error comes from ", file,
                               ", which is a net plugin's source file and not NCCL's."),
                   .evidence = {{cat("The error ", e.id, " is reported at ", e.location, "."),
                                 c.job->source(e.at), Certainty::Told}},
                   .certainty = Certainty::Told};
  }
  return std::nullopt;
}

}  // namespace rdmaguard::engine
