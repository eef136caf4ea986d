// See log_processes.h.
#include "verifier/readers/log_processes.h"

#include <algorithm>

namespace rdmaguard::readers::nccl_log {
namespace {

constexpr std::size_t kMaxNetworks = 32;  // distinct network lines of a process

/// The more it says, the larger.
int strength(NetworkLine::Form f) {
  switch (f) {
    case NetworkLine::Form::Using:
      return 3;
    case NetworkLine::Form::Assigned:
      return 2;
    default:
      return 0;
  }
}

bool isNameless(const CommLog& c) {
  return c.pointer.empty();
}

bool mayHold(const CommLog& c, int rank, int peer) {
  return (c.rank == rank || c.rank < 0) && (c.nRanks == 0 || peer < c.nRanks) && !c.destroyed;
}

/// Adds `rank` to a sorted list of bounded length; where it stands, or npos.
std::size_t addSorted(std::vector<int>& list, int rank, bool& inserted) {
  const auto at = std::lower_bound(list.begin(), list.end(), rank);
  const auto index = static_cast<std::size_t>(at - list.begin());
  inserted = false;
  if (at != list.end() && *at == rank) return index;
  if (list.size() >= Processes::kMaxPeers) return std::string::npos;
  list.insert(at, rank);
  inserted = true;
  return index;
}

/// What names a process within a file, as far as its prefix tells.
std::string processKey(std::uint32_t file, std::string_view host, long pid) {
  std::string key = std::to_string(file);
  key += '\n';
  key += host;
  key += '\n';
  if (!host.empty()) key += std::to_string(pid);
  return key;
}

std::string& addressOf(Process& p, Processes::AddressOf kind) {
  switch (kind) {
    case Processes::AddressOf::Bootstrap:
      return p.bootstrapAddress;
    case Processes::AddressOf::Oob:
      return p.oobAddress;
    case Processes::AddressOf::Socket:
      break;
  }
  return p.socketAddress;
}

}  // namespace

Process* Processes::newProcess(const Header& header, std::uint32_t file, const std::string& key) {
  if (processes_.size() >= kMaxProcesses) {
    out_.tooMany = true;
    return &processes_.back();
  }
  Process& p = processes_.emplace_back();
  p.key = key;
  p.log.host = header.host;
  p.log.pid = header.pid;
  p.log.file = file;
  return &p;
}

std::size_t Processes::gluedToHost(const Header& header, std::uint32_t file) const {
  const std::string_view token = header.host;
  if (processByKey_.contains(processKey(file, token, header.pid))) return 0;
  // "GDRDMA" and the like end a message; no host is called so.
  for (const std::string_view end : {"GDRDMA", "Shared", "START", "COMPLETE"})
    if (token.starts_with(end) && token.size() > end.size()) return end.size();
  constexpr std::size_t kLongest = 128;
  if (token.size() > kLongest) return 0;
  for (std::size_t skip = 1; skip < token.size(); ++skip) {
    // "w-0" within "big-w-0" is the end of a name, not a name.
    const char before = token[skip - 1];
    if (before == '-' || before == '.' || before == '_') continue;
    if (processByKey_.contains(processKey(file, token.substr(skip), header.pid))) return skip;
  }
  return 0;
}

Thread& Processes::threadOf(const Header& header, std::string_view tag, std::uint32_t file) {
  std::string key = processKey(file, header.host, header.pid);
  if (header.host.empty()) {
    key += tag;
    key += '\n';
    key += std::to_string(header.device);
  }
  const std::size_t processPart = key.size();
  key += '\n';
  key += std::to_string(header.tid);
  if (const auto known = threadByKey_.find(key); known != threadByKey_.end())
    return threads_[known->second];
  if (threads_.size() >= kMaxThreads) {
    // Threads that come and go for each connection. Their processes and communicators stay.
    threads_.clear();
    threadByKey_.clear();
    ++generation_;
  }
  const auto index = static_cast<std::uint32_t>(threads_.size());
  threadByKey_.emplace(key, index);
  Thread& t = threads_.emplace_back();
  key.resize(processPart);
  const auto known = processByKey_.find(key);
  if (known != processByKey_.end()) {
    t.process = known->second;
  } else {
    t.process = newProcess(header, file, key);
    processByKey_.emplace(std::move(key), t.process);
  }
  return t;
}

void Processes::address(Thread& t, AddressOf kind, std::string_view address) {
  if (address.empty()) return;
  Process* p = t.process;
  if (const std::string& known = addressOf(*p, kind); !known.empty() && known != address) {
    std::vector<Process*>& machines = machines_[p->key];
    if (machines.empty()) machines.push_back(t.process);
    const auto same = std::find_if(machines.begin(), machines.end(),
                                   [&](Process* m) { return addressOf(*m, kind) == address; });
    Process* machine = nullptr;
    if (same != machines.end()) {
      machine = *same;
    } else {
      Header header;
      const std::string host = p->log.host;
      header.host = host;
      header.pid = p->log.pid;
      const std::string key = p->key;
      machine = newProcess(header, p->log.file, key);
      machines.push_back(machine);
    }
    processByKey_[p->key] = machine;
    t.process = machine;
    ++generation_;  // who remembers the thread's process has to ask again
    t.comm = -1;
    t.hasPending = false;
    t.target.epoch = 0;
    p = machine;
  }
  addressOf(*p, kind) = address;
  if (p->log.address.empty() || (kind == AddressOf::Bootstrap && p->oobAddress.empty()))
    p->log.address = address;
}

void Processes::network(Thread& t, NetworkLine line) {
  Process& p = (*t.process);
  std::vector<NetworkLine>& all = p.log.networks;
  const auto same = std::find_if(all.begin(), all.end(), [&](const NetworkLine& n) {
    return n.form == line.form && n.network == line.network;
  });
  if (same != all.end())
    ++same->count;
  else if (all.size() < kMaxNetworks)
    all.push_back(line);
  if (strength(line.form) == 0) return;
  if (t.comm >= 0) {
    CommLog& c = p.log.comms[static_cast<std::size_t>(t.comm)];
    // Some builds say "Init START" first.
    const bool open = c.started && !c.complete && c.edges.empty();
    const bool better = c.network == line.network && strength(line.form) > strength(c.networkForm);
    if (open && (c.network.empty() || better)) {
      c.network = line.network;
      c.networkForm = line.form;
      c.networkAt = line.at;
      return;
    }
    t.comm = -1;
  }
  t.hasPending = true;
  t.target.epoch = 0;
  t.pending = std::move(line);
}

void Processes::takePending(Thread& t, CommLog& comm) {
  if (!t.hasPending || !comm.network.empty()) return;
  comm.network = t.pending.network;
  comm.networkForm = t.pending.form;
  comm.networkAt = t.pending.at;
  t.hasPending = false;
}

std::size_t Processes::newComm(Thread& t, Place at) {
  Process& p = (*t.process);
  if (comms_ >= kMaxComms && !p.log.comms.empty()) {
    out_.tooMany = true;
    return p.log.comms.size() - 1;
  }
  ++comms_;
  ++p.epoch;
  p.operations.flush(p.log.comms);
  CommLog& c = p.log.comms.emplace_back();
  p.localCounts.emplace_back();
  c.first = at;
  takePending(t, c);
  return p.log.comms.size() - 1;
}

std::size_t Processes::commOfLine(Thread& t, const CommLine& line, Place at) {
  std::vector<CommLog>& comms = t.process->log.comms;
  using Phase = CommLine::Phase;
  for (std::size_t i = comms.size(); i-- > 0;) {
    const CommLog& c = comms[i];
    if (c.pointer != line.pointer || c.pointer.empty()) continue;
    const bool again = c.id.empty() || line.id.empty() || c.id == line.id;
    // Memory of a communicator that is gone is used again.
    if (line.phase == Phase::Start && (c.destroyed || !again)) break;
    return i;
  }
  if (line.phase != Phase::Start) {
    // Channel lines came before the communicator's name.
    const auto fits = [&](const CommLog& c) {
      return isNameless(c) && (c.rank < 0 || line.rank < 0 || c.rank == line.rank);
    };
    if (t.comm >= 0 && fits(comms[static_cast<std::size_t>(t.comm)]))
      return static_cast<std::size_t>(t.comm);
    for (std::size_t i = 0; i < comms.size(); ++i)
      if (fits(comms[i]) && comms[i].rank >= 0) return i;
  }
  return newComm(t, at);
}

void Processes::comm(Thread& t, const CommLine& line, Place at) {
  using Phase = CommLine::Phase;
  // What a pointer means may change.
  t.process->operations.flush(t.process->log.comms);
  const std::size_t index = commOfLine(t, line, at);
  CommLog& c = t.process->log.comms[index];
  if (!line.pointer.empty()) c.pointer = line.pointer;
  if (!line.id.empty()) c.id = line.id;
  if (!line.parent.empty()) c.parent = line.parent;
  if (line.rank >= 0) c.rank = line.rank;
  if (line.nRanks > 0) c.nRanks = line.nRanks;
  if (line.nNodes > 0) c.nNodes = line.nNodes;
  if (line.localRanks > 0) c.localRanks = line.localRanks;
  if (line.mnnvl >= 0) c.mnnvl = line.mnnvl != 0;
  c.split = c.split || line.split;
  switch (line.phase) {
    case Phase::Start:
      c.started = true;
      break;
    case Phase::Complete:
      c.complete = true;
      break;
    case Phase::Destroy:
    case Phase::Abort:
      c.destroyed = true;
      c.aborted = line.phase == Phase::Abort;
      if (t.comm == static_cast<int>(index)) t.comm = -1;
      ++t.process->epoch;
      return;
    case Phase::Nodes:
    case Phase::Other:
      break;
  }
  takePending(t, c);
  if (t.comm != static_cast<int>(index)) {
    t.comm = static_cast<int>(index);
    t.target.epoch = 0;
  }
}

void Processes::operation(Process& process, const ShortWord& pointer, std::string_view pointerText,
                          const ShortWord& name) {
  if (process.operations.count(pointer, name)) return;
  std::uint32_t index = Operations::kNoComm;
  const std::vector<CommLog>& comms = process.log.comms;
  for (std::size_t i = comms.size(); i-- > 0 && index == Operations::kNoComm;)
    if (comms[i].pointer == pointerText) index = static_cast<std::uint32_t>(i);
  process.operations.add(pointer, index, process.log.comms);
  process.operations.count(pointer, name);
}

CommLog* Processes::find(Thread& t, std::string_view pointer) {
  std::vector<CommLog>& comms = t.process->log.comms;
  if (t.comm >= 0) {
    CommLog& c = comms[static_cast<std::size_t>(t.comm)];
    if (pointer.empty() || c.pointer == pointer) return &c;
  }
  if (pointer.empty()) return nullptr;
  for (std::size_t i = comms.size(); i-- > 0;)
    if (comms[i].pointer == pointer) return &comms[i];
  return nullptr;
}

std::size_t Processes::commOfChannel(Thread& t, int rank, int peer, const ChannelLine& line,
                                     Place at) {
  std::vector<CommLog>& comms = t.process->log.comms;
  const bool net = line.via == ChannelLine::Via::Net;
  const auto netFits = [&](const CommLog& c) {
    return !net || c.network.empty() || c.network == line.network;
  };
  if (!line.comm.empty()) {
    for (std::size_t i = comms.size(); i-- > 0;)
      if (comms[i].pointer == line.comm && !comms[i].destroyed) return i;
    const std::size_t index = newComm(t, at);
    comms[index].pointer = line.comm;
    comms[index].rank = rank;
    t.comm = static_cast<int>(index);
    return index;
  }
  std::size_t second = std::string::npos;
  if (t.comm >= 0) {
    const auto current = static_cast<std::size_t>(t.comm);
    if (mayHold(comms[current], rank, peer)) {
      if (netFits(comms[current])) return current;
      second = current;
    }
  }
  if (!t.hasPending) {
    // Connections made later come from threads of their own, for any communicator of the process.
    for (std::size_t i = comms.size(); i-- > 0;) {
      if (comms[i].rank != rank || !mayHold(comms[i], rank, peer)) continue;
      if (netFits(comms[i])) return i;
      if (second == std::string::npos) second = i;
    }
  }
  if (second != std::string::npos) return second;
  const std::size_t index = newComm(t, at);
  comms[index].rank = rank;
  t.comm = static_cast<int>(index);
  return index;
}

bool Processes::resolve(Thread& t, int rank, int peer, const ChannelLine& line, Place at) {
  Process& p = *t.process;
  const std::size_t index = commOfChannel(t, rank, peer, line, at);
  CommLog& c = p.log.comms[index];
  if (c.rank < 0) c.rank = rank;
  Thread::Target& target = t.target;
  target = {};
  target.rank = rank;
  target.comm = &c;
  target.localCounts = &p.localCounts[index];
  if (line.via == ChannelLine::Via::Net) {
    const auto same = std::find_if(c.edges.begin(), c.edges.end(),
                                   [&](const NetEdges& e) { return e.network == line.network; });
    if (same != c.edges.end()) {
      target.edges = &*same;
    } else {
      if (c.edges.size() >= kMaxEdges) return false;
      ++p.epoch;
      target.edges = &c.edges.emplace_back();
      target.edges->network = line.network;
    }
  }
  target.epoch = p.epoch;
  return true;
}

NetEdges* Processes::channel(Thread& t, const ChannelLine& line, Place at) {
  const bool receive = line.end == ChannelLine::End::Receive;
  const int rank = receive ? line.to : line.from;
  const int peer = receive ? line.from : line.to;
  const bool net = line.via == ChannelLine::Via::Net;
  Thread::Target& target = t.target;
  const bool known = target.epoch == t.process->epoch && target.rank == rank && line.comm.empty() &&
                     (!net || (target.edges != nullptr && target.edges->network == line.network));
  if (!known && !resolve(t, rank, peer, line, at)) return nullptr;
  CommLog& c = *target.comm;
  bool inserted = false;
  if (line.via == ChannelLine::Via::CollNet) {
    ++c.collNetEdges;
    c.collNetEdgesGdr += line.gdr ? 1U : 0U;
    return nullptr;
  }
  if (!net) {
    ++c.localEdges;
    c.mnnvlEdges += line.mnnvl ? 1U : 0U;
    const std::size_t where = addSorted(c.localPeers, peer, inserted);
    std::vector<std::uint64_t>& counts = *target.localCounts;
    if (inserted) counts.insert(counts.begin() + static_cast<std::ptrdiff_t>(where), 0);
    if (where != std::string::npos) ++counts[where];
    return nullptr;
  }
  if (peer != target.lastPeer && c.netPeers.size() < kMaxPeers) {
    addSorted(c.netPeers, peer, inserted);
    target.lastPeer = peer;
  }
  NetEdges& e = *target.edges;
  if (!e.first) e.first = at;
  if (receive) {
    ++e.receives;
    e.receivesGdr += line.gdr ? 1U : 0U;
  } else {
    ++e.sends;
    e.sendsGdr += line.gdr ? 1U : 0U;
    e.pxnSends += line.pxn ? 1U : 0U;
  }
  Place& firstOfKind = line.gdr ? e.firstGdr : e.firstWithoutGdr;
  if (!firstOfKind) firstOfKind = at;
  if (line.device >= 0 && line.device < 64) e.devicesUsed |= std::uint64_t{1} << line.device;
  return &e;
}

int Processes::rankOf(const Thread& t) const {
  const ProcessLog& p = t.process->log;
  // The job's communicator has all ranks; where several ranks share the process, the thread tells.
  const CommLog* largest = nullptr;
  bool several = false;
  for (const CommLog& c : p.comms) {
    if (c.rank < 0) continue;
    several = several || (largest != nullptr && c.id == largest->id && c.rank != largest->rank);
    if (largest == nullptr || c.nRanks > largest->nRanks) largest = &c;
  }
  if (several) return t.comm >= 0 ? p.comms[static_cast<std::size_t>(t.comm)].rank : -1;
  if (largest != nullptr) return largest->rank;
  return t.rankTagIsLocal ? -1 : p.launcherRank;
}

}  // namespace rdmaguard::readers::nccl_log
