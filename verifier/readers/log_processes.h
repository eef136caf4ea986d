// The processes, threads and communicators that a log tells of, while it is read. Which one a line
// belongs to is decided here; log_message.h says what it tells. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verifier/engine/log_facts.h"
#include "verifier/readers/log_channel.h"
#include "verifier/readers/log_header.h"
#include "verifier/readers/log_operations.h"

namespace rdmaguard::readers::nccl_log {

using engine::CommLog;
using engine::NetEdges;
using engine::NetworkLine;
using engine::Place;
using engine::ProcessLog;

/// A process and what is needed of it until the end. What each line touches stands first.
struct alignas(64) Process {
  std::uint32_t epoch = 1;  ///< changes when `log.comms` or their edges move in memory
  bool infoSeen = false;
  std::uint64_t lines = 0;
  Operations operations;
  ProcessLog log;
  std::string key;  ///< what processes of several machines may share: file, host, pid
  /// Of each communicator, parallel to log.comms: edges by peer, parallel to its localPeers.
  std::vector<std::vector<std::uint64_t>> localCounts;
  /// By which line the address was learnt: only equal kinds are compared.
  std::string bootstrapAddress, oobAddress, socketAddress;
  bool netPluginLoaded = false;
  Place symbolMissing;  ///< "Failed to find ncclNetPlugin_v6 symbol", the plugin's last chance
};

/// A thread of a process: communicators are initialised by one, line after line.
struct Thread {
  /// What the channel line before belonged to; good while `epoch` is the process's.
  struct Target {
    std::uint32_t epoch = 0;
    int rank = -1;
    CommLog* comm = nullptr;
    NetEdges* edges = nullptr;
    std::vector<std::uint64_t>* localCounts = nullptr;
    int lastPeer = -1;
  };
  Process* process = nullptr;
  Target target;
  int comm = -1;  ///< the communicator it works on, an index of log.comms; -1 = none
  bool rankTagIsLocal = false;
  /// The network line that no communicator has taken yet.
  bool hasPending = false;
  NetworkLine pending;
};

class Processes {
 public:
  static constexpr std::size_t kMaxProcesses = 32768;
  static constexpr std::size_t kMaxThreads = 131072;
  static constexpr std::size_t kMaxComms = 65536;
  static constexpr std::size_t kMaxPeers = 64;
  static constexpr std::size_t kMaxEdges = 16;  ///< networks of one communicator

  explicit Processes(engine::LogFacts& out) : out_(out) {}

  /// The thread that `header` names, in file `file`; `tag` tells speakers without a host apart.
  Thread& threadOf(const Header& header, std::string_view tag, std::uint32_t file);
  /// How many characters at the front of `header.host` are the end of another line, which lost its
  /// newline: what follows them is a host that spoke before with this pid. Mostly 0.
  std::size_t gluedToHost(const Header& header, std::uint32_t file) const;
  /// Changes when all Thread references went bad.
  std::uint32_t generation() const { return generation_; }
  static Process& processOf(const Thread& t) { return *t.process; }
  static ProcessLog& logOf(const Thread& t) { return t.process->log; }

  /// Counts a line that `process` said.
  void said(Process& process) {
    ++process.lines;
    ++out_.lines;
  }

  /// An address of this process was printed. Another one of the same kind than before: the host
  /// name repeats on another machine, and the thread is moved to a process of its own.
  enum class AddressOf : std::uint8_t { Bootstrap, Oob, Socket };
  void address(Thread& t, AddressOf kind, std::string_view address);

  /// A network line: it belongs to the communicator that this thread initialises, or will.
  void network(Thread& t, NetworkLine line);

  struct CommLine {
    enum class Phase : std::uint8_t { Start, Complete, Destroy, Abort, Nodes, Other };
    Phase phase = Phase::Other;
    std::string_view pointer, id, parent;
    int rank = -1, nRanks = 0, nNodes = 0, localRanks = 0;
    int mnnvl = -1;
    bool split = false;
  };
  void comm(Thread& t, const CommLine& line, Place at);
  /// A communicator by its pointer, or the one the thread works on; nullptr: none.
  CommLog* find(Thread& t, std::string_view pointer);

  /// Counts an operation of the communicator at `pointer`.
  static void operation(Process& process, const ShortWord& pointer, std::string_view pointerText,
                        const ShortWord& name);

  /// Counts a channel line. Returns the edges it went to; nullptr: none (local).
  NetEdges* channel(Thread& t, const ChannelLine& line, Place at);

  /// The rank `t` speaks for, -1 = not known.
  int rankOf(const Thread& t) const;

  /// Everything was read: the processes, their counts completed, in order of appearance, as they
  /// were gathered.
  std::deque<Process> take() {
    for (Process& p : processes_) {
      p.operations.flush(p.log.comms);
      p.log.lines = p.lines;
      p.log.warnLevelOnly = !p.infoSeen;
    }
    return std::move(processes_);
  }

 private:
  Process* newProcess(const Header& header, std::uint32_t file, const std::string& key);
  bool resolve(Thread& t, int rank, int peer, const ChannelLine& line, Place at);
  std::size_t newComm(Thread& t, Place at);
  static void takePending(Thread& t, CommLog& comm);
  std::size_t commOfChannel(Thread& t, int rank, int peer, const ChannelLine& line, Place at);
  std::size_t commOfLine(Thread& t, const CommLine& line, Place at);

  engine::LogFacts& out_;
  std::deque<Process> processes_;
  std::deque<Thread> threads_;
  std::unordered_map<std::string, std::uint32_t> threadByKey_;
  std::unordered_map<std::string, Process*> processByKey_;
  /// Processes of one key on several machines.
  std::unordered_map<std::string, std::vector<Process*>> machines_;
  std::size_t comms_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace rdmaguard::readers::nccl_log
