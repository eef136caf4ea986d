// Writes the log of a training job as it comes out of a launcher that merges all ranks: nodes of
// eight GPUs and eight HCAs, the lines NCCL 2.27 prints at INFO in the order of its calls, each
// rank at its own pace, PyTorch's own words between them. Deterministic: the same arguments give
// the same bytes. For tests/bench_verify/run.sh; scripts/make-log builds and runs it.
//
// usage: make_log SIZE [RANKS]   SIZE in bytes, or with K, M, G (10^3, 10^6, 10^9); RANKS a
// multiple of 8, default 1024
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int kGpus = 8;  // a node
constexpr int kRingChannels = 16;
constexpr int kP2pChannels = 2;  // "2 p2p channels per peer"
constexpr int kBusIds[kGpus] = {0xa000,  0x18000, 0x3b000, 0x44000,
                                0x87000, 0x90000, 0xb8000, 0xc1000};

std::uint64_t state = 0x9e3779b97f4a7c15;
std::uint64_t random64() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
std::uint64_t below(std::uint64_t n) {
  return random64() % n;
}

/// A communicator as all its ranks share it: every `stride`-th rank, `size` of them.
struct Comm {
  const char* made;  ///< the call that made it
  int stride;
  int size;  ///< 0 = all
};
// The world, then the groups of a 3D-parallel job: tensor, pipeline, data, expert.
constexpr Comm kComms[] = {{"ncclCommInitRankConfig", 1, 0},
                           {"ncclCommInitRankConfig", 1, 8},
                           {"ncclCommInitRankConfig", 8, 16},
                           {"ncclCommInitRankConfig", 8, 32},
                           {"ncclCommInitRankConfig", 1, 64}};
constexpr int kCommCount = static_cast<int>(std::size(kComms));

/// The lines of one communicator's set-up, in order; a step may be many lines.
enum Step {
  Start,
  Assigned,
  Network,
  DmaBuf,
  HcaGdr,
  PairGdr,
  Affinity,
  Nodes,
  Trees,
  Chunk,
  Rings,
  ConnectedRings,
  TreeChannels,
  ConnectedTrees,
  Thresholds,
  Channels,
  Complete,
  StepCount
};

struct Rank {
  int rank = 0, pid = 0, tid = 0;
  int phase = -1;  ///< -1 = before any communicator, then its number, then p2p, then training
  int step = 0, line = 0;
  std::uint64_t operations = 0;

  int host() const { return rank / kGpus; }
  int gpu() const { return rank % kGpus; }
};

class Job {
 public:
  Job(std::uint64_t bytes, int ranks) : wanted_(bytes), ranks_(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) {
      ranks_[static_cast<std::size_t>(r)].rank = r;
      ranks_[static_cast<std::size_t>(r)].pid =
          20000 + r % kGpus * 1000 + static_cast<int>(below(900));
      ranks_[static_cast<std::size_t>(r)].tid = ranks_[static_cast<std::size_t>(r)].pid + 700;
    }
  }

  void write() {
    line("NCCL version 2.27.7+cuda12.8");
    while (written_ + buffer_.size() < wanted_) {
      // A rank's writes come in bursts: its buffer is flushed, then another's.
      Rank& r = ranks_[below(ranks_.size())];
      for (std::uint64_t n = 1 + below(6); n != 0 && written_ + buffer_.size() < wanted_; --n)
        next(r);
      if (buffer_.size() > (1u << 20)) flush();
    }
    flush();
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), stdout) != buffer_.size()) {
      std::perror("make_log");
      std::exit(1);
    }
    written_ += buffer_.size();
    buffer_.clear();
  }

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    buffer_ += '\n';
  }
  template <typename... Args>
  void nccl(const Rank& r, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), "gpu-h{:03}:{}:{} [{}] NCCL INFO ", r.host(), r.pid,
                   r.phase < 0 ? r.pid : r.tid, r.gpu());
    line(format, std::forward<Args>(args)...);
  }

  /// The next line or lines of a rank.
  void next(Rank& r) {
    if (r.phase < 0) {
      beforeCommunicators(r);
      r.phase = 0;
    } else if (r.phase < kCommCount) {
      if (communicator(r)) r.step++, r.line = 0;
      if (r.step == StepCount) r.step = 0, r.phase++;
    } else if (r.phase == kCommCount) {
      if (allToAll(r)) r.phase++;
    } else {
      training(r);
    }
  }

  void beforeCommunicators(Rank& r) {
    nccl(r, "NCCL_SOCKET_IFNAME set by environment to eth0");
    nccl(r, "Bootstrap: Using eth0:10.20.{}.{}<0>", r.host() / 200, 10 + r.host() % 200);
    nccl(r, "cudaDriverVersion 12080");
    nccl(r, "NCCL version 2.27.7+cuda12.8");
    nccl(r, "NET/Plugin: Could not find: libnccl-net.so");
    nccl(r, "NCCL_IB_HCA set to ibp");
    std::string list;
    for (int d = 0; d < kGpus; ++d) list += fmt::format(" [{}]ibp{}:1/IB", d, d);
    nccl(r, "NET/IB : Using{} [RO]; OOB eth0:10.20.{}.{}<0>", list, r.host() / 200,
         10 + r.host() % 200);
    nccl(r, "Initialized NET plugin IB");
  }

  int sizeOf(int comm) const {
    const int all = static_cast<int>(ranks_.size());
    const int size = kComms[comm].size;
    return size == 0 || size * kComms[comm].stride > all ? all / kComms[comm].stride : size;
  }
  /// The rank of `r` within a communicator, and the world's rank of one within it.
  int rankIn(const Rank& r, int comm) const { return r.rank / kComms[comm].stride % sizeOf(comm); }
  int worldRank(const Rank& r, int comm, int member) const {
    const int stride = kComms[comm].stride, span = stride * sizeOf(comm);
    return r.rank / span * span + member * stride + r.rank % stride;
  }
  std::uint64_t pointer(const Rank& r, int comm) const {
    return 0x55d1c0001400 + static_cast<std::uint64_t>(r.rank) * 0x1000000 +
           static_cast<std::uint64_t>(comm) * 0x40000;
  }
  std::uint64_t commId(const Rank& r, int comm) const {
    const int stride = kComms[comm].stride, span = stride * sizeOf(comm);
    const int group = r.rank / span * stride + r.rank % stride;
    return 0x5be21c07d94a3e18 ^ (static_cast<std::uint64_t>(comm) << 40) ^
           (static_cast<std::uint64_t>(group) * 0x9e3779b97f4a7c15);
  }

  void commLine(const Rank& r, int comm, const char* end) {
    nccl(r,
         "{} comm {:#x} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId {:#x} - Init {}",
         kComms[comm].made, pointer(r, comm), rankIn(r, comm), sizeOf(comm), r.gpu(), r.gpu(),
         kBusIds[r.gpu()], commId(r, comm), end);
  }

  /// One channel of a communicator to and from its neighbours `distance` away.
  void channel(const Rank& r, int comm, int number, int distance) {
    const int n = sizeOf(comm), me = rankIn(r, comm);
    const int to = (me + distance) % n, from = (me + n - distance % n) % n;
    const int peer = worldRank(r, comm, to), source = worldRank(r, comm, from);
    if (source / kGpus != r.host())
      nccl(r, "Channel {:02}/0 : {}[{}] -> {}[{}] [receive] via NET/IB/{}/GDRDMA", number, from,
           source % kGpus, me, r.gpu(), number % kGpus);
    if (peer / kGpus == r.host())
      nccl(r, "Channel {:02}/0 : {}[{}] -> {}[{}] via P2P/CUMEM", number, me, r.gpu(), to,
           peer % kGpus);
    else
      nccl(r, "Channel {:02}/0 : {}[{}] -> {}[{}] [send] via NET/IB/{}/GDRDMA", number, me, r.gpu(),
           to, peer % kGpus, number % kGpus);
  }

  /// Writes a part of the step that `r` is at; true when the step is done.
  bool communicator(Rank& r) {
    const int c = r.phase, n = sizeOf(c), me = rankIn(r, c);
    const int nodes = n * kComms[c].stride <= kGpus ? 1 : n * kComms[c].stride / kGpus;
    const bool oneNode = nodes == 1;
    switch (r.step) {
      case Start:
        commLine(r, c, "START");
        return true;
      case Assigned:
        nccl(r, "Assigned NET plugin IB to comm");
        return true;
      case Network:
        nccl(r, "Using network IB");
        return true;
      case DmaBuf:
        if (c == 0) nccl(r, "DMA-BUF is available on GPU device {}", r.gpu());
        return true;
      case HcaGdr:
        nccl(r, "NET/IB : GPU Direct RDMA Enabled for HCA {} 'ibp{}'", r.line, r.line);
        return ++r.line == kGpus;
      case PairGdr: {
        const int near = r.line / 2;
        nccl(r,
             "GPU Direct RDMA Enabled for GPU {} / HCA {:x} (distance {} <= 4), read {} mode "
             "Default",
             near, near * 0x101, 2 + r.line % 2, r.line % 2);
        return ++r.line == 2 * kGpus;
      }
      case Affinity:
        nccl(r, "Setting affinity for GPU {} to {}-{},{}-{}", r.gpu(), r.gpu() * 12,
             r.gpu() * 12 + 11, 96 + r.gpu() * 12, 107 + r.gpu() * 12);
        return true;
      case Nodes:
        nccl(r, "comm {:#x} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0",
             pointer(r, c), me, n, nodes, n / nodes, oneNode ? me : me % (n / nodes));
        return true;
      case Trees: {
        std::string trees;
        for (int t = 0; t < kRingChannels; ++t)
          trees += fmt::format(" [{}] {}/-1/-1->{}->{}", t, me + 1 < n ? me + 1 : -1, me, me - 1);
        nccl(r, "Trees{}", trees);
        return true;
      }
      case Chunk:
        nccl(r, "P2P Chunksize set to {}", oneNode ? 524288 : 131072);
        return true;
      case Rings:
        channel(r, c, r.line, 1);
        return ++r.line == kRingChannels;
      case ConnectedRings:
        nccl(r, "Connected all rings, use ring PXN 0 GDR 1");
        return true;
      case TreeChannels:
        if (n > 4) channel(r, c, r.line, n / 2);
        return n <= 4 || ++r.line == kRingChannels;
      case ConnectedTrees:
        nccl(r, "Connected all trees");
        return true;
      case Thresholds:
        nccl(r, "threadThresholds 8/8/64 | {}/8/64 | 512 | 512", n * 8);
        return true;
      case Channels:
        nccl(r,
             "{} coll channels, {} collnet channels, 0 nvls channels, 32 p2p channels, {} p2p "
             "channels per peer",
             kRingChannels, kRingChannels, oneNode ? 32 : kP2pChannels);
        return true;
      default:
        commLine(r, c, "COMPLETE");
        return true;
    }
  }

  /// The channels of an all-to-all over the world: to every rank of another node and back, sends
  /// through the GPU on the peer's rail (PXN).
  bool allToAll(Rank& r) {
    const int n = static_cast<int>(ranks_.size());
    const int peer = (r.rank + 1 + r.line / kP2pChannels) % n, number = r.line % kP2pChannels;
    const int rail = peer % kGpus;
    if (peer / kGpus != r.host()) {
      const std::string proxy = rail == r.gpu() ? "" : fmt::format("({})", r.host() * kGpus + rail);
      nccl(r, "Channel {:02}/1 : {}[{}] -> {}[{}] [send] via NET/IB/{}{}/GDRDMA/Shared", number,
           r.rank, r.gpu(), peer, rail, rail, proxy);
      nccl(r, "Channel {:02}/1 : {}[{}] -> {}[{}] [receive] via NET/IB/{}/GDRDMA/Shared", number,
           peer, rail, r.rank, r.gpu(), r.gpu());
    }
    return ++r.line >= (n - 1) * kP2pChannels;
  }

  /// What a rank says while it trains: the operations that NCCL_DEBUG_SUBSYS=COLL prints, a line
  /// of its own for each step, which has few operations here, and warnings of Python's now and
  /// then. One rank speaks for the job.
  void training(Rank& r) {
    static constexpr const char* kOps[] = {"AllReduce", "AllGather", "ReduceScatter", "AllGather"};
    constexpr std::uint64_t kOperations = 16;  // a step
    const std::uint64_t op = r.operations++, step = op / kOperations;
    if (op % kOperations == 0) {
      line("[rank{}]: step {} | loss 2.{:03} | {} tokens/s | mem {}.{} GiB", r.rank, step,
           below(1000), 30000 + below(4000), 60 + below(10), below(10));
      if (r.rank + 1 == static_cast<int>(ranks_.size())) iteration(step);
    }
    if (below(500) == 0) {
      line("");
      line(
          "/usr/local/lib/python3.12/dist-packages/torch/utils/checkpoint.py:{}: UserWarning: None "
          "of the inputs have requires_grad=True. Gradients will be None",
          80 + below(10));
    }
    const int c = static_cast<int>(op % kCommCount);
    nccl(
        r,
        "{}: opCount {:x} sendbuff {:#x} recvbuff {:#x} count {} datatype 9 op 0 root 0 comm {:#x} "
        "[nranks={}] stream {:#x}",
        kOps[op % 4], op, 0x7f2a40000000 + op % 977 * 0x200000,
        0x7f2b00000000 + op % 977 * 0x200000, 1u << (12 + op % 15), pointer(r, c), sizeOf(c),
        0x55d1b0f00000 + static_cast<std::uint64_t>(r.rank) * 0x1000);
  }

  void iteration(std::uint64_t step) {
    line(
        " [2025-03-04 {:02}:{:02}:{:02}] iteration {:8}/  500000 | consumed samples: {:12} | "
        "elapsed time per iteration (ms): {}.{} | throughput per GPU (TFLOP/s/GPU): {}.{} | "
        "learning rate: 1.{:06}E-04 | global batch size:  2048 | lm loss: 2.{:06}E+00 | loss "
        "scale: 1.0 | grad norm: 0.{:03} | number of skipped iterations:   0 | number of nan "
        "iterations:   0 |",
        step / 360 % 24, step / 6 % 60, step * 10 % 60, step, step * 2048, 9000 + below(900),
        below(10), 400 + below(60), below(10), below(1000000), below(1000000), below(1000));
  }

  std::uint64_t wanted_, written_ = 0;
  std::vector<Rank> ranks_;
  std::string buffer_;
};

std::uint64_t bytesOf(const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  const double unit = *end == 'G' ? 1e9 : *end == 'M' ? 1e6 : *end == 'K' ? 1e3 : 1;
  return number > 0 ? static_cast<std::uint64_t>(number * unit) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t bytes = argc > 1 ? bytesOf(argv[1]) : 0;
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 1024;
  if (argc > 3 || bytes == 0 || ranks < kGpus || ranks % kGpus != 0) {
    std::fputs("usage: make_log SIZE [RANKS]   as make_log 2G 1024 >log.txt; RANKS % 8 == 0\n",
               stderr);
    return 64;
  }
  Job(bytes, ranks).write();
}
