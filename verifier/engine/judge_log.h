// What the log lines of an input decide: the network of each rank, then of each communicator,
// then of the job. No causes: those are the rule table's (judge_job.h). Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rdmaguard/transport.h"
#include "verifier/engine/job_facts.h"
#include "verifier/engine/verdict.h"

namespace rdmaguard::engine {

/// Whether a network is RDMA.
enum class Standing : std::uint8_t { Unknown, OnRdma, OffRdma };

/// A network as NCCL names it, with what is known of it.
struct Network {
  Transport transport = Transport::Unknown;
  std::string name;  ///< as written: "IB", "IBext_v8", "AWS Libfabric"; empty = not known
  Standing standing = Standing::Unknown;
  bool linkLayerShown = true;  ///< false: called IB because no line shows a link layer

  bool decided() const { return transport != Transport::Unknown; }
  bool sameAs(const Network& other) const {
    return transport == other.transport && (transport != Transport::External || name == other.name);
  }
};

/// One rank (or a process whose ranks are not told apart) in one communicator.
struct RankNet {
  const ProcessLog* process = nullptr;
  const CommLog* comm = nullptr;  ///< null: no line of the process names one
  Network net;
  Certainty certainty = Certainty::Inferred;
  Place at;         ///< of the deciding line
  std::string how;  ///< a clause: "its channels go via NET/IB"
  GdrState gdr = GdrState::Unknown;
  bool gdrByChannels = false;  ///< `gdr` is what channel lines show, which outweighs other lines

  int rank() const { return comm ? comm->rank : -1; }
};

/// One communicator.
struct CommNet {
  std::string id;  ///< commId; empty = no line gave one
  int nRanks = 0;  ///< 0 = not known
  int nNodes = 0;  ///< 0 = not known
  std::vector<RankNet> ranks;
  bool netEdges = false;  ///< channel lines through a network were seen
  Engaged engaged = Engaged::Unknown;
  Network net;  ///< Transport::Mixed where ranks differ
  GdrState gdr = GdrState::Unknown;
  std::size_t job = 0;  ///< communicators that share a process are of one job
};

/// The log's answer. Refers to the facts: no longer-lived than they are.
struct LogVerdict {
  bool any = false;  ///< the input holds NCCL lines or events of a run
  std::vector<CommNet> comms;
  Engaged engaged = Engaged::Unknown;
  Network net;
  GdrState gdr = GdrState::Unknown;
  int nodes = 0;  ///< of the job that decides, 0 = not known
  int jobs = 0;   ///< jobs (sets of communicators that share processes) in the input
  std::vector<const RankNet*> off;        ///< ranks that are not on what the rest is on
  const Event* setupFailure = nullptr;    ///< it failed before data moved
  const Event* connected = nullptr;       ///< an event that proves a connection
  const Event* failure = nullptr;         ///< the first event that is a failure
  const RankNet* notConnected = nullptr;  ///< started on a network, and no connection follows
  std::vector<Evidence> evidence;
};

/// Host and address of a process: what tells nodes apart.
std::string nodeOf(const ProcessLog& process);
/// "rank 3 on node-a", "node-a pid 4711", "a process".
std::string rankName(const RankNet& rank);

LogVerdict judgeLog(const JobFacts& job);

}  // namespace rdmaguard::engine
