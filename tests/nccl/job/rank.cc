// One rank of the job, in NCCL's order: library, net, profiler, ranks meet, connections,
// collectives, and all of it undone. Result lines come from rank 0.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "options.h"
#include "profiler.h"
#include "proxy.h"
#include "rdmaguard/busbw.h"
#include "rendezvous.h"
#include "selection.h"
#include "wire.h"

namespace rdmaguard::job {
namespace {

using Json = nlohmann::json;

double sinceMs(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun)
      .count();
}

std::string deviceText(const Device& device) {
  return fmt::format("{} (port {}, {:g} Gb/s)", device.name, device.port,
                     device.speedMbps / 1000.0);
}

std::string sizeText(std::size_t bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} bytes", bytes);
}

// Whole numbers, so that the sum is exact in any order.
float input(std::size_t element, int rank, int iteration) {
  return static_cast<float>(
      (element * 7 + static_cast<std::size_t>(rank) * 13 + static_cast<std::size_t>(iteration)) %
      17);
}

bool isSum(const std::vector<float>& data, int ranks, int iteration) {
  // The pattern repeats every 17 elements: 17 sums are all there are.
  std::vector<float> sums(17, 0);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (int r = 0; r < ranks; ++r) sums[i] += input(i, r, iteration);
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != sums[i % 17]) return false;
  }
  return true;
}

class RankRun {
 public:
  explicit RankRun(const Options& options) : options_(options) {}

  int run() {
    const auto begun = std::chrono::steady_clock::now();
    nccl_.emplace(options_.nccl);
    result_["nccl"] = nccl_->versionText();
    result_["loadMs"] = sinceMs(begun);
    nccl_->start();
    // NCCL hashes the unique id; any 64 bits that all ranks share will do, and up to 2.26 they are
    // needed before the ranks have met. The launcher's process is common to all.
    commId_ = 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(::getppid() + options_.dryRun);
    selection_ = selectNet(*nccl_, commId_);
    result_["net"] = selection_.net->name();
    result_["netInitMs"] = selection_.initMs;
    result_["devices"] = Json::array();
    for (const Device& d : selection_.devices) {
      result_["devices"].push_back({{"name", d.name},
                                    {"port", d.port},
                                    {"speedMbps", d.speedMbps},
                                    {"pci", d.pciPath},
                                    {"ptrSupport", d.ptrSupport}});
    }
    if (!nccl_->release().profilerLate) startProfiler();
    if (!options_.dryRun) meet();
    if (nccl_->release().profilerLate) startProfiler();
    if (options_.dryRun) {
      if (speaks()) say();
    } else {
      collectives();
    }
    if (profiler() != nullptr) profiler()->finalize();
    selection_.net->finalize();
    if (options_.dryRun) {
      write(Json::array({result_}));
    } else {
      finish();
    }
    return 0;
  }

 private:
  Profiler* profiler() const { return library_ ? library_->profiler() : nullptr; }
  bool speaks() const { return !options_.quiet && options_.rank <= 0; }

  void startProfiler() {
    library_.emplace(*nccl_);
    result_["profiler"] = nullptr;
    if (profiler() == nullptr) {
      result_["profilerSaid"] = library_->said();
      return;
    }
    const int nodes = options_.nodes > 0 ? options_.nodes : options_.ranks;
    const auto begun = std::chrono::steady_clock::now();
    const nccl_abi::Result result = profiler()->init(
        {"nccl-job", commId_, nodes, options_.ranks, std::max(0, options_.rank)}, nccl_->logger());
    result_["profiler"] = {{"name", profiler()->name()},
                           {"version", profiler()->version()},
                           {"mask", profiler()->mask()},
                           {"result", static_cast<int>(result)},
                           {"initMs", sinceMs(begun)}};
  }

  void meet() {
    ranks_.emplace(options_.meetingPlace, options_.rank, options_.ranks, options_.limitSeconds);
    ranks_->allGather("here");
  }

  std::vector<std::unique_ptr<Wire>> connect(std::vector<float>& data,
                                             std::vector<float>& scratch) {
    const int devices = static_cast<int>(selection_.devices.size());
    const int channels = options_.channels > 0 ? options_.channels : std::min(devices, 4);
    result_["channels"] = channels;
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<Wire>> wires;
    if (selection_.net->name() == "IB") {
      const std::size_t bytes = data.size() * sizeof(float);
      wires =
          connectOverNet(*selection_.net, devices, channels, options_.rank, *ranks_,
                         {{data.data(), bytes}, {scratch.data(), bytes}}, options_.limitSeconds);
      result_["carrier"] = "NCCL's IB transport";
    } else {
      // NCCL's Socket transport listens without a driver, but connects only with one.
      ListenHandle handle{};
      socketListen_ = selection_.net->listen(0, handle);
      wires = connectOverTcp(channels, options_.rank, *ranks_);
      result_["carrier"] = "TCP of this job's own, as NCCL's Socket transport needs a CUDA driver";
    }
    result_["connectMs"] = sinceMs(begun);
    return wires;
  }

  // True while another collective is due; with --seconds rank 0 decides for all.
  bool goOn(int done, std::chrono::steady_clock::time_point begun) {
    if (options_.seconds <= 0) return done < options_.iterations;
    const bool mine = sinceMs(begun) < options_.seconds * 1000;
    return ranks_->allGather(mine ? "1" : "0")[0] == "1";
  }

  void collectives() {
    const std::size_t count = std::max<std::size_t>(1, options_.bytes / sizeof(float));
    std::vector<float> data(count);
    std::vector<float> scratch(count);
    auto wires = connect(data, scratch);
    if (speaks()) say();
    const RingShape shape{options_.rank, options_.ranks, count,
                          std::max(sizeof(float), options_.pieceBytes)};
    Ring ring(shape, data.data(), scratch.data(), wires);
    bool exact = true;
    std::vector<std::uint64_t> durations;
    {
      Proxy proxy(ring, profiler(), shape, nccl_->release().kernelThread);
      const auto begun = std::chrono::steady_clock::now();
      for (int i = 0; goOn(i, begun); ++i) {
        for (std::size_t e = 0; e < count; ++e) data[e] = input(e, options_.rank, i);
        durations.push_back(allReduce(proxy, data, static_cast<int>(wires.size()), i));
        exact = isSum(data, options_.ranks, i) && exact;
        std::this_thread::sleep_for(std::chrono::milliseconds(options_.pauseMs));
      }
      proxy.drain();
    }
    // A rank closes only when its neighbours have what it sent.
    ranks_->allGather("done");
    for (auto& wire : wires) wire->close();
    if (socketListen_ != nullptr) selection_.net->closeListen(socketListen_);
    result_["bytes"] = count * sizeof(float);
    result_["collectives"] = durations.size();
    result_["exact"] = exact;
    result_["bytesSent"] = ring.bytesSent();
    result_["bytesReceived"] = ring.bytesReceived();
    result_["durationsNs"] = durations;
  }

  std::uint64_t allReduce(Proxy& proxy, std::vector<float>& data, int channels, int sequence) {
    if (profiler() == nullptr) {
      proxy.start({});
      return proxy.wait();
    }
    const CollectiveInfo info{static_cast<std::uint64_t>(sequence), data.data(), data.data(),
                              data.size(), channels};
    CollectiveEvents events = profiler()->enqueue(info);
    profiler()->launch(events, info, nccl_->release().collWithoutGroup);
    proxy.start(events);
    profiler()->launched(events);
    return proxy.wait();
  }

  void say() const {
    std::string devices;
    for (const Device& device : selection_.devices) {
      devices += (devices.empty() ? "" : ", ") + deviceText(device);
    }
    fmt::print("nccl-job: NCCL {} chose {}: {}\n", nccl_->versionText(), selection_.net->name(),
               devices);
    if (!library_->said().empty()) fmt::print("nccl-job: {}\n", library_->said());
    std::fflush(stdout);
  }

  void write(const Json& ranks) const {
    if (!options_.json.empty()) std::ofstream(options_.json) << ranks.dump(1) << '\n';
  }

  void finish() {
    result_["rank"] = options_.rank;
    const auto all = ranks_->allGather(result_.dump());
    if (options_.rank != 0) return;
    Json job = Json::array();
    bool exact = true;
    for (const std::string& text : all) {
      job.push_back(Json::parse(text));
      exact = exact && job.back()["exact"].get<bool>();
    }
    write(job);
    auto times = result_["durationsNs"].get<std::vector<std::uint64_t>>();
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    const double busbw = result_["bytes"].get<double>() /
                         static_cast<double>(times[times.size() / 2]) *
                         busFactor(Operation::AllReduce, options_.ranks);
    if (speaks()) {
      fmt::print(
          "nccl-job: {} all-reduces of {} over {} ranks: {}; {:.1f} MB sent per rank; "
          "median busbw {:.3f} GB/s\n"
          "nccl-job: host memory, CPU clock (no GPU here); carried by {}\n",
          times.size(), sizeText(result_["bytes"].get<std::size_t>()), options_.ranks,
          exact ? "every sum exact" : "WRONG SUMS", result_["bytesSent"].get<double>() / 1e6, busbw,
          result_["carrier"].get<std::string>());
      std::fflush(stdout);
    }
    if (!exact) throw std::runtime_error("an all-reduce gave a wrong result");
  }

  const Options& options_;
  Json result_;
  std::uint64_t commId_ = 0;
  std::optional<NcclLibrary> nccl_;
  Selection selection_;
  std::optional<ProfilerLibrary> library_;
  std::optional<Rendezvous> ranks_;
  void* socketListen_ = nullptr;
};

}  // namespace

int runRank(const Options& options) {
  try {
    return RankRun(options).run();
  } catch (const PeerLost& lost) {
    fmt::print(stderr, "nccl-job: rank {}: {}\n", options.rank, lost.what());
    return kExitPeerLost;
  }
}

}  // namespace rdmaguard::job
