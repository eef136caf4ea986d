// Facts of a job as the log reader fills them, for the tests of judgeJob.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verifier/engine/job_facts.h"
#include "verifier/engine/judge_job.h"

namespace rdmaguard::engine {

/// A job of two nodes with one rank each, built line by line; every line counts on by one.
class JobInput {
 public:
  JobInput() {
    facts.files = {"log.txt"};
    facts.log.lines = 1;
  }

  Place next() { return Place{0, ++line_}; }

  /// A process of `host`; its communicator has `nRanks` ranks.
  ProcessLog& process(std::string host, int rank, int nRanks = 2, int nNodes = 2) {
    facts.log.processes.emplace_back();
    ProcessLog& p = facts.log.processes.back();
    p.host = std::move(host);
    p.pid = 1000 + rank;
    p.warnLevelOnly = false;
    CommLog c;
    c.id = "0x5be2";
    c.rank = rank;
    c.nRanks = nRanks;
    c.nNodes = nNodes;
    c.started = true;
    c.first = next();
    p.comms.push_back(c);
    return p;
  }

  void uses(ProcessLog& p, const std::string& network) {
    p.networks.push_back({NetworkLine::Form::Using, network, next(), 1});
    p.comms.back().network = network;
    p.comms.back().networkAt = p.networks.back().at;
  }

  void lists(ProcessLog& p, const std::vector<std::string>& names, LinkLayer layer) {
    p.deviceListSeen = true;
    p.deviceListNet = "IB";
    p.deviceListAt = next();
    for (const std::string& n : names) {
      ListedDevice d;
      d.name = n;
      d.linkLayer = layer;
      d.index = static_cast<int>(p.devices.size());
      p.devices.push_back(d);
    }
  }

  void channel(ProcessLog& p, const std::string& network, bool gdr, int device = 0) {
    CommLog& c = p.comms.back();
    if (c.edges.empty() || c.edges.back().network != network) {
      c.edges.emplace_back();
      c.edges.back().network = network;
      c.edges.back().first = next();
    }
    NetEdges& e = c.edges.back();
    ++e.sends;
    e.sendsGdr += gdr ? 1 : 0;
    e.devicesUsed |= std::uint64_t{1} << device;
    (gdr ? e.firstGdr : e.firstWithoutGdr) = next();
  }

  void set(ProcessLog& p, const std::string& name, const std::string& value) {
    p.settings.push_back({name, value, "log.txt"});
    p.settingsAt.push_back(next());
  }

  Event& event(const std::string& id, Phase phase, const std::string& network = "") {
    facts.run.events.emplace_back();
    Event& e = facts.run.events.back();
    e.id = id;
    e.phase = phase;
    e.network = network;
    e.at = next();
    return e;
  }

  JobVerdict judged(Requirement wanted = {}) const { return judgeJob(facts, wanted); }

  JobFacts facts;

 private:
  std::uint64_t line_ = 0;
};

/// The finding of that id among all lists of a verdict, or null.
inline const Finding* findingOf(const JobVerdict& v, std::string_view id) {
  for (const auto* list : {&v.causes, &v.job.missing, &v.job.degraded, &v.job.notes})
    for (const Finding& f : *list)
      if (f.ruleId == id) return &f;
  return nullptr;
}

}  // namespace rdmaguard::engine
