// See judge_log_rank.h.
#include "verifier/engine/judge_log_rank.h"

#include <algorithm>
#include <array>

#include "verifier/engine/rule_functions.h"
#include "verifier/engine/selection.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

struct KnownProvider {
  std::string_view prefix;
  Standing standing;
};

// libfabric's providers (fi_provider(7)). "ofi_rxm" on top says nothing of what is below.
constexpr std::array kProviders{
    KnownProvider{"efa", Standing::OnRdma},      KnownProvider{"cxi", Standing::OnRdma},
    KnownProvider{"verbs", Standing::OnRdma},    KnownProvider{"opx", Standing::OnRdma},
    KnownProvider{"psm", Standing::OnRdma},      KnownProvider{"tcp", Standing::OffRdma},
    KnownProvider{"sockets", Standing::OffRdma}, KnownProvider{"udp", Standing::OffRdma},
    KnownProvider{"net", Standing::OffRdma},
};

// The provider a process of the OFI plugin chose: its own line, else another process's, else
// what it was told to take.
std::string_view providerOf(const JobFacts& job, const ProcessLog& process) {
  if (!process.ofiProvider.empty()) return process.ofiProvider;
  for (const ProcessLog& other : job.log.processes)
    if (!other.ofiProvider.empty()) return other.ofiProvider;
  if (const Setting* s = find(process.settings, "FI_PROVIDER")) return s->value;
  if (const Setting* s = find(job.settings, "FI_PROVIDER")) return s->value;
  return {};
}

bool isOwnIb(std::string_view name) {
  return sameWord(name, "IB");
}

Network networkNamed(const JobFacts& job, const ProcessLog& process, const std::string& name,
                     bool gdrSeen) {
  Network net{.transport = Transport::External, .name = name};
  if (isOwnIb(name)) {
    net.transport = Transport::IB;
    net.linkLayerShown = false;
    net.standing = Standing::OnRdma;
  } else if (sameWord(name, "Socket")) {
    net.transport = Transport::Socket;
    net.standing = Standing::OffRdma;
  } else if (const ExternalKind kind = externalKind(name); kind != ExternalKind::Unknown) {
    net.standing = kind == ExternalKind::Rdma ? Standing::OnRdma : Standing::OffRdma;
  } else {
    if (isOfi(name)) net.standing = providerStanding(providerOf(job, process));
    // GPU memory reaches a NIC directly through RDMA alone.
    if (net.standing == Standing::Unknown && gdrSeen) net.standing = Standing::OnRdma;
  }
  return net;
}

const NetEdges* mostUsed(const CommLog* comm) {
  if (!comm || comm->edges.empty()) return nullptr;
  return &*std::max_element(comm->edges.begin(), comm->edges.end(),
                            [](const NetEdges& a, const NetEdges& b) {
                              return a.sends + a.receives < b.sends + b.receives;
                            });
}

const NetworkLine* decidingLine(const ProcessLog& process) {
  const NetworkLine* last = nullptr;
  for (const NetworkLine& line : process.networks)
    if (line.form == NetworkLine::Form::Using || line.form == NetworkLine::Form::Assigned)
      last = &line;
  return last;
}

const NetworkLine* lineOf(const ProcessLog& process, NetworkLine::Form form) {
  for (const NetworkLine& line : process.networks)
    if (line.form == form) return &line;
  return nullptr;
}

const CommLog* parentOf(const ProcessLog& process, const CommLog* comm) {
  if (!comm || comm->parent.empty()) return nullptr;
  for (const CommLog& c : process.comms)
    if (&c != comm && c.pointer == comm->parent) return &c;
  return nullptr;
}

bool pluginRuns(const ProcessLog& process) {
  return std::any_of(process.networks.begin(), process.networks.end(), [](const NetworkLine& l) {
    return l.form == NetworkLine::Form::Initialized && !isOwnIb(l.network) &&
           !sameWord(l.network, "Socket");
  });
}

void decide(RankNet& rank, Network net, Certainty certainty, Place at, std::string how) {
  rank.net = std::move(net);
  rank.certainty = certainty;
  rank.at = at;
  rank.how = std::move(how);
}

// No line names a network: what the search for one left behind. NCCL asks a plugin first, then
// IB, then Socket, and stops at the first that has a device; so "No device found" and a missing
// libibverbs mean that only Socket is left.
void decideBySearch(RankNet& rank) {
  const ProcessLog& p = *rank.process;
  if (!p.devices.empty() && !pluginRuns(p)) {
    Network net{.transport = Transport::IB, .name = "IB", .standing = Standing::OnRdma};
    net.linkLayerShown = false;
    return decide(rank, std::move(net), Certainty::Told, p.deviceListAt,
                  "NCCL's IB transport lists its devices");
  }
  if (pluginRuns(p)) return;
  const Network socket{
      .transport = Transport::Socket, .name = "Socket", .standing = Standing::OffRdma};
  if (p.noDevice)
    return decide(rank, socket, Certainty::Inferred, p.noDevice,
                  "NCCL's IB transport found no device, which leaves Socket");
  if (p.libibverbsFailed)
    return decide(rank, socket, Certainty::Inferred, p.libibverbsFailed,
                  "libibverbs could not be opened, which leaves Socket");
}

GdrState stateOf(std::uint64_t with, std::uint64_t all) {
  if (all == 0) return GdrState::Unknown;
  if (with == 0) return GdrState::Disabled;
  return with == all ? GdrState::Enabled : GdrState::Partial;
}

bool isTcp(std::string_view net) {
  return sameWord(net, "Socket") || externalKind(net) == ExternalKind::NotRdma;
}

}  // namespace

Standing providerStanding(std::string_view provider) noexcept {
  for (const KnownProvider& known : kProviders)
    if (sameWord(provider.substr(0, known.prefix.size()), known.prefix)) return known.standing;
  return Standing::Unknown;
}

bool isOfi(std::string_view network) noexcept {
  return network.find("ibfabric") != std::string_view::npos || sameWord(network, "OFI");
}

RankNet rankNet(const JobFacts& job, const ProcessLog& process, const CommLog* comm) {
  RankNet rank;
  rank.process = &process;
  rank.comm = comm;
  const NetEdges* edges = mostUsed(comm);
  const bool gdrSeen = edges && edges->sendsGdr + edges->receivesGdr > 0;
  using Form = NetworkLine::Form;
  if (edges) {
    decide(rank, networkNamed(job, process, edges->network, gdrSeen), Certainty::Told, edges->first,
           cat("its channels go via NET/", edges->network));
  } else if (comm && !comm->network.empty() &&
             (comm->networkForm == Form::Using || comm->networkForm == Form::Assigned)) {
    decide(rank, networkNamed(job, process, comm->network, false), Certainty::Told, comm->networkAt,
           cat("NCCL says it uses the network ", comm->network));
  } else if (const CommLog* parent = parentOf(process, comm);
             parent && (mostUsed(parent) || !parent->network.empty())) {
    const NetEdges* used = mostUsed(parent);
    const std::string& network = used ? used->network : parent->network;
    decide(rank, networkNamed(job, process, network, false), Certainty::Told,
           used ? used->first : parent->networkAt,
           cat("it is split from a communicator on the network ", network));
  } else if (const NetworkLine* line = decidingLine(process)) {
    decide(rank, networkNamed(job, process, line->network, false), Certainty::Told, line->at,
           cat("NCCL says it uses the network ", line->network));
  } else if (const NetworkLine* missing = lineOf(process, Form::NotFound)) {
    decide(rank, {.transport = Transport::None, .name = {}, .standing = Standing::OffRdma},
           Certainty::Told, missing->at,
           cat("NCCL found no network called ", missing->network, " and stopped"));
  } else {
    decideBySearch(rank);
  }
  applyDevices(rank, process.devices);
  applyGdr(rank);
  return rank;
}

Transport linkLayerOf(const std::vector<ListedDevice>& devices, const CommLog* comm) {
  std::uint64_t used = 0;
  if (comm)
    for (const NetEdges& e : comm->edges)
      if (!isTcp(e.network)) used |= e.devicesUsed;
  for (const std::uint64_t counted : {used, ~std::uint64_t{0}}) {
    int ib = 0, ethernet = 0;
    int group = -1;  // members of a merged NIC follow the index that channels name
    for (const ListedDevice& d : devices) {
      if (d.index >= 0) group = d.index;
      const bool counts = counted == ~std::uint64_t{0} ||
                          (group >= 0 && group < 64 && ((counted >> group) & 1u) != 0);
      if (!counts) continue;
      ib += d.linkLayer == LinkLayer::InfiniBand ? 1 : 0;
      ethernet += d.linkLayer == LinkLayer::Ethernet ? 1 : 0;
    }
    if (ib + ethernet == 0) continue;
    if (ib == ethernet) return Transport::Mixed;
    return ib > ethernet ? Transport::IB : Transport::RoCE;
  }
  return Transport::Unknown;
}

void applyDevices(RankNet& rank, const std::vector<ListedDevice>& devices) {
  Network& net = rank.net;
  const bool ownIb = net.transport == Transport::IB && !net.linkLayerShown;
  const bool plugin =
      net.transport == Transport::External && net.standing != Standing::OffRdma && !isOfi(net.name);
  if (!ownIb && !plugin) return;
  const Transport layer = linkLayerOf(devices, rank.comm);
  if (layer == Transport::Unknown) return;
  net.transport = layer;
  net.standing = Standing::OnRdma;
  net.linkLayerShown = true;
}

void applyGdr(RankNet& rank) {
  rank.gdr = GdrState::Unknown;
  rank.gdrByChannels = false;
  if (rank.net.standing != Standing::OnRdma) return;
  std::uint64_t all = 0, with = 0;
  if (rank.comm)
    for (const NetEdges& e : rank.comm->edges) {
      if (isTcp(e.network)) continue;
      all += e.sends + e.receives;
      with += e.sendsGdr + e.receivesGdr;
    }
  if (all > 0) {
    rank.gdr = stateOf(with, all);
    rank.gdrByChannels = true;
    return;
  }
  const ProcessLog& p = *rank.process;
  std::uint64_t hcas = 0, hcasOn = 0, pairsOn = 0;
  for (const HcaGdr& h : p.hcaGdr) {
    if (isTcp(h.net)) continue;
    ++hcas;
    hcasOn += h.enabled ? 1 : 0;
  }
  for (const PairGdr& pair : p.pairGdr) pairsOn += pair.enabled ? 1 : 0;
  rank.gdr = stateOf(hcasOn, hcas);
  if (rank.gdr == GdrState::Disabled) return;
  if (!p.pairGdr.empty()) rank.gdr = stateOf(pairsOn, p.pairGdr.size());
  if (rank.gdr == GdrState::Unknown && gdrSwitchedOff(p.settings)) rank.gdr = GdrState::Disabled;
}

}  // namespace rdmaguard::engine
