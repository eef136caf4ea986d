// Several threads, each with comms of its own as NCCL's proxies have, open, send, receive and close
// while another takes snapshots. Meant for the thread sanitizer; the sums must be right anyway.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "stand_in_net.h"

namespace tap = rdmaguard::tap;

namespace {

constexpr int kThreads = 6;
constexpr int kRounds = 400;
constexpr int kDevice = 200;

struct Sums {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t done = 0;
};

Sums drive(unsigned seed) {
  Sums sums;
  std::mt19937 random(seed);
  stand_in::Net& net = stand_in::tapped().ib;
  std::array<char, nccl_abi::kNetHandleBytes> handle{};
  for (int round = 0; round < kRounds; ++round) {
    void* listening = nullptr;
    void* sending = nullptr;
    void* receiving = nullptr;
    net.listen(nullptr, kDevice, handle.data(), &listening);
    net.connect(nullptr, kDevice, handle.data(), &sending, nullptr);
    net.accept(listening, &receiving, nullptr);
    net.closeListen(listening);
    net.regMr(sending, nullptr, 4096, nccl_abi::kPtrHost, nullptr);
    const int operations = static_cast<int>(random() % 40);
    for (int i = 0; i < operations; ++i) {
      std::size_t size = random() % 100000;
      void* request = nullptr;
      int done = 0;
      int sizes[8];
      int tag = 0;
      void* data = nullptr;
      net.isend(sending, nullptr, size, 0, nullptr, nullptr, &request);
      net.test(request, &done, nullptr);
      request = nullptr;
      net.irecv(receiving, 1, &data, &size, &tag, nullptr, nullptr, &request);
      net.test(request, &done, sizes);
      sums.sent += size;
      sums.received += size;
      sums.done += 2;
    }
    net.closeSend(sending);
    net.closeRecv(receiving);
  }
  return sums;
}

tap::DeviceView view(const tap::Snapshot& snapshot) {
  for (const auto& device : snapshot.instances.at(0).ib.devices) {
    if (device.info.index == kDevice) return device;
  }
  return {};
}

TEST(LedgerUnderLoad, LosesNothingAndReadsNoTornSum) {
  stand_in::tapped();
  std::atomic<bool> running{true};
  std::uint64_t snapshots = 0;
  std::thread reader([&] {
    std::uint64_t last = 0;
    while (running.load()) {
      const auto snapshot = tap::snapshot();
      if (!snapshot.consistent) continue;
      const auto now = view(snapshot).traffic;
      EXPECT_GE(now.bytesSent, last) << "a total that falls was read while it moved";
      last = now.bytesSent;
      ++snapshots;
    }
  });
  std::array<Sums, kThreads> sums;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&sums, i] { sums[i] = drive(i + 1); });
  }
  for (auto& thread : threads) thread.join();
  running = false;
  reader.join();

  Sums total;
  for (const Sums& s : sums) {
    total.sent += s.sent;
    total.received += s.received;
    total.done += s.done;
  }
  const auto after = tap::snapshot();
  EXPECT_TRUE(after.consistent);
  EXPECT_EQ(view(after).traffic.bytesSent, total.sent);
  EXPECT_EQ(view(after).traffic.bytesReceived, total.received);
  EXPECT_EQ(view(after).traffic.completed, total.done);
  EXPECT_EQ(view(after).traffic.inFlight, 0u);
  EXPECT_EQ(after.untrackedRequests, 0u);
  for (const auto& c : after.connections) EXPECT_NE(c.device, kDevice);
}

}  // namespace
