// See oracle.h.
#include "oracle.h"

#include <algorithm>
#include <stdexcept>

namespace replay {
namespace {

constexpr std::uint32_t kColl = 2, kP2p = 4, kKernelCh = 64, kCollApi = 512;
constexpr int kKernelChStop = 22;

std::uint64_t sizeOf(const std::string& datatype) {
  static const std::map<std::string, std::uint64_t> kSizes{
      {"ncclInt8", 1},   {"ncclFloat16", 2}, {"ncclBfloat16", 2}, {"ncclFloat32", 4},
      {"ncclInt32", 4},  {"ncclFloat64", 8}, {"ncclInt64", 8},    {"ncclUint64", 8},
      {"ncclUint32", 4}, {"Unknown", 1},     {"ncclUint8", 1}};
  const auto found = kSizes.find(datatype);
  if (found == kSizes.end()) throw std::runtime_error("oracle: data type " + datatype);
  return found->second;
}

/// nccl-tests' doc/PERFORMANCE.md, written out again.
double factor(const std::string& operation, double n) {
  if (operation == "AllReduce") return 2 * (n - 1) / n;
  if (operation == "AllGather" || operation == "ReduceScatter" || operation == "AlltoAll") {
    return (n - 1) / n;
  }
  return 1;
}

struct Times {
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  unsigned channels = 0;
};

/// GPU times of a task's channels, from all its KernelCh events.
Times timesOf(const Trace& trace, const std::vector<int>& tasks) {
  Times times;
  for (const Event& start : trace) {
    if (start.callback != Callback::Start || start.type != kKernelCh ||
        std::find(tasks.begin(), tasks.end(), start.parent) == tasks.end()) {
      continue;
    }
    times.first = std::min(times.first, start.pTimer);
    ++times.channels;
    for (const Event& record : trace) {
      if (record.callback == Callback::Record && record.handle == start.handle &&
          record.state == kKernelChStop) {
        times.last = std::max(times.last, record.argument);
      }
    }
  }
  return times;
}

void addTimes(Expected& expected, const Times& times, int ranks) {
  if (times.channels == 0) return;
  expected.durationNs = times.last - times.first;
  expected.busbw =
      double(expected.bytes) / double(expected.durationNs) * factor(expected.operation, ranks);
}

Expected collective(const Trace& trace, const Event& coll, int ranks) {
  Expected expected;
  expected.operation = coll.func;
  expected.algorithm = coll.algo;
  expected.protocol = coll.proto;
  expected.datatype = coll.datatype;
  for (const Event& api : trace) {
    if (api.callback == Callback::Start && api.type == kCollApi && api.handle == coll.parent) {
      expected.datatype = api.datatype;
    }
  }
  expected.bytes = coll.count * sizeOf(coll.datatype);
  if (coll.func == "AllGather" || coll.func == "ReduceScatter") {
    expected.bytes *= static_cast<std::uint64_t>(ranks);
  }
  addTimes(expected, timesOf(trace, {coll.handle}), ranks);
  return expected;
}

/// All sends and receives of the group that `first` is in.
Expected batch(const Trace& trace, const Event& first, int ranks) {
  std::uint64_t sent = 0, received = 0;
  std::vector<int> tasks;
  std::map<std::string, std::vector<std::pair<int, std::uint64_t>>> calls;
  const auto groupOf = [](const Event& e) { return e.group != 0 ? e.group : e.parent; };
  for (const Event& e : trace) {
    if (e.callback != Callback::Start || e.type != kP2p || groupOf(e) != groupOf(first)) continue;
    const std::uint64_t bytes = e.count * sizeOf(e.datatype);
    (e.func == "Send" ? sent : received) += bytes;
    calls[e.func].emplace_back(e.peer, bytes);
    tasks.push_back(e.handle);
  }
  Expected expected;
  expected.datatype = first.datatype;
  expected.bytes = std::max(sent, received);
  for (auto& [func, list] : calls) std::sort(list.begin(), list.end());
  if (calls.size() == 1) {
    expected.operation = calls.begin()->first;
  } else {
    expected.operation = "SendRecv";
    const auto& sends = calls["Send"];
    const bool all = int(sends.size()) == ranks && sends == calls["Recv"];
    if (all && sent == sends.front().second * sends.size()) {
      expected.operation = "AlltoAll";
      expected.bytes = sends.front().second * static_cast<std::uint64_t>(ranks);
    }
  }
  addTimes(expected, timesOf(trace, tasks), ranks);
  return expected;
}

}  // namespace

std::map<int, ExpectedCommunicator> expectedFrom(const Trace& trace) {
  std::map<int, ExpectedCommunicator> all;
  std::map<int, int> ranks;
  std::vector<int> groupsSeen;
  for (const Event& e : trace) {
    if (e.callback == Callback::Init) {
      all[e.context];
      ranks[e.context] = e.nRanks;
    }
    if (e.callback != Callback::Start) continue;
    if (e.type == kColl) {
      all[e.context].finished.push_back(collective(trace, e, ranks[e.context]));
    } else if (e.type == kP2p) {
      const int group = e.group != 0 ? e.group : e.parent;
      if (std::find(groupsSeen.begin(), groupsSeen.end(), group) != groupsSeen.end()) continue;
      groupsSeen.push_back(group);
      all[e.context].finished.push_back(batch(trace, e, ranks[e.context]));
    } else if (e.type == kCollApi && !e.graph) {
      const bool launched = std::any_of(trace.begin(), trace.end(), [&](const Event& coll) {
        return coll.callback == Callback::Start && coll.type == kColl && coll.parent == e.handle;
      });
      if (!launched) ++all[e.context].apiOnly[e.func];
    }
  }
  return all;
}

}  // namespace replay
