// See node_json.h.
#include "verifier/engine/node_json.h"

#include <string>

namespace rdmaguard::engine {
namespace {

using Json = nlohmann::ordered_json;

Json textOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json portJson(const RdmaPort& p) {
  Json out{{"number", p.number},
           {"state", name(p.state)},
           {"phys_state", name(p.physState)},
           {"link_layer", name(p.linkLayer)},
           {"rate_gbps", p.rateGbps > 0 ? Json(p.rateGbps) : Json()},
           {"netdev", textOrNull(p.netdev)}};
  if (p.lid) out["lid"] = *p.lid;
  if (p.smLid) out["sm_lid"] = *p.smLid;
  if (p.gidsKnown) {
    out["gids"] = Json::array();
    for (const Gid& g : p.gids)
      out["gids"].push_back(
          {{"index", g.index}, {"type", textOrNull(g.type)}, {"netdev", textOrNull(g.netdev)}});
  }
  if (p.countersKnown) {
    out["counters"] = Json::object();
    for (const PortCounter& c : p.counters) out["counters"][c.name] = c.value;
  }
  for (const CounterChange& c : p.changes) out["grown"][c.name] = c.after - c.before;
  out["source"] = p.source;
  return out;
}

Json registrationJson(const RegistrationTest& t) {
  const auto number = [](const std::optional<int>& e) { return e ? Json(*e) : Json(); };
  return {{"listed", t.listed},
          {"finished", t.finished},
          {"open_errno", number(t.openErrno)},
          {"reg_mr_errno", number(t.regErrno)},
          {"reg_mr_iova2_errno", number(t.relaxedErrno)},
          {"dmabuf", t.dmabuf() ? Json(*t.dmabuf()) : Json()}};
}

Json deviceJson(const RdmaDevice& d, const NodeFacts& node) {
  Json out{{"name", d.name},
           {"driver", textOrNull(d.kernelDriver)},
           {"provider", textOrNull(d.provider)},
           {"software", d.software},
           {"firmware", textOrNull(d.firmware)},
           {"pci", textOrNull(d.pciPath)},
           {"numa_node", d.numaNode >= 0 ? Json(d.numaNode) : Json()},
           {"virtual_function", d.virtualFunction ? Json(*d.virtualFunction) : Json()},
           {"verbs_node", textOrNull(d.nodePath)},
           {"verbs_node_present", d.nodePresent},
           {"open_errno", d.openTried ? Json(d.openErrno) : Json()},
           {"ports", Json::array()}};
  for (const RdmaPort& p : d.ports) out["ports"].push_back(portJson(p));
  if (!d.toGpu.empty()) {
    out["distance_to_gpu"] = Json::object();
    for (std::size_t i = 0; i < d.toGpu.size() && i < node.gpus.size(); ++i)
      out["distance_to_gpu"][node.gpus[i].pciPath] = name(d.toGpu[i]);
  }
  if (d.registration) out["registration"] = registrationJson(*d.registration);
  out["source"] = d.source;
  return out;
}

Json bytesOrNull(bool known, std::uint64_t bytes) {
  if (!known) return {};
  return bytes == MemLock::kUnlimited ? Json("unlimited") : Json(bytes);
}

}  // namespace

nlohmann::ordered_json toJson(const NodeFacts& node) {
  Json out{{"hostname", textOrNull(node.hostname)},
           {"root", node.root},
           {"kernel", textOrNull(node.kernelRelease)},
           {"container", textOrNull(node.container)}};
  if (node.devicesKnown) {
    out["rdma_devices"] = Json::array();
    for (const RdmaDevice& d : node.devices) out["rdma_devices"].push_back(deviceJson(d, node));
  } else {
    out["rdma_devices"] = Json();
  }
  out["dev_infiniband"] = node.devInfinibandKnown ? Json(node.devInfiniband) : Json();
  out["libibverbs"] = {{"found", node.loader.state == VerbsLoader::State::NotTried
                                     ? Json()
                                     : Json(node.loader.state == VerbsLoader::State::Found)},
                       {"path", textOrNull(node.loader.path)},
                       {"rdma_core", textOrNull(node.loader.rdmaCore)}};
  out["memlock_bytes"] = bytesOrNull(node.memlock.known, node.memlock.softBytes);
  out["ipc_lock"] = node.memlock.ipcLock ? Json(*node.memlock.ipcLock) : Json();
  out["shm_bytes"] = node.shm.sizeBytes ? Json(*node.shm.sizeBytes) : Json();
  out["gpus"] = node.gpusKnown ? Json(node.gpus.size()) : Json();
  out["nvidia_driver"] = textOrNull(node.gdr.nvidiaDriver);
  out["peer_memory"] = node.gdr.known ? Json(node.gdr.peermem) : Json();
  out["settings"] = Json::array();
  for (const Setting& s : node.settings)
    out["settings"].push_back({{"name", s.name}, {"value", s.value}, {"source", s.source}});
  if (node.watchedSeconds > 0) out["watched_seconds"] = node.watchedSeconds;
  out["unread"] = Json::array();
  for (const Evidence& e : node.notes)
    out["unread"].push_back({{"fact", e.fact}, {"source", e.source}});
  return out;
}

}  // namespace rdmaguard::engine
