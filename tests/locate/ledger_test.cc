// What the tap records of calls through tapped slots, read at its boundary: snapshot().
#include "plugin/tap/ledger.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "stand_in_net.h"

namespace tap = rdmaguard::tap;
using nccl_abi::Result;
using stand_in::Comm;

namespace {

using Handle = std::array<char, nccl_abi::kNetHandleBytes>;

Handle handleOf(const char* address, std::uint16_t port) {
  Handle handle{};
  if (std::strchr(address, ':') != nullptr) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    inet_pton(AF_INET6, address, &to.sin6_addr);
    std::memcpy(handle.data(), &to, sizeof to);
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    inet_pton(AF_INET, address, &to.sin_addr);
    std::memcpy(handle.data(), &to, sizeof to);
  }
  return handle;
}

/// Each test works on a device of its own, so that one process can run them all.
class Tap : public testing::Test {
 protected:
  Tap() : net(stand_in::tapped().ib), device(nextDevice++) {}

  Comm* connectTo(const char* address = "10.0.0.2", void* context = nullptr) {
    Handle handle = handleOf(address, 4711);
    void* comm = nullptr;
    net.connect(context, device, handle.data(), &comm, nullptr);
    return static_cast<Comm*>(comm);
  }
  Comm* acceptOne(void* context = nullptr) {
    Handle handle{};
    void* listening = nullptr;
    void* comm = nullptr;
    net.listen(context, device, handle.data(), &listening);
    net.accept(listening, &comm, nullptr);
    net.closeListen(listening);
    return static_cast<Comm*>(comm);
  }
  void* send(Comm* comm, std::size_t size) {
    void* request = nullptr;
    sent = net.isend(comm, nullptr, size, 0, nullptr, nullptr, &request);
    return request;
  }
  void* receive(Comm* comm, std::vector<std::size_t> sizes, void* request = nullptr) {
    void* data[8] = {};
    int tags[8] = {};
    net.irecv(comm, static_cast<int>(sizes.size()), data, sizes.data(), tags, nullptr, nullptr,
              &request);
    return request;
  }
  bool test(void* request, int* sizes = nullptr) {
    int done = 0;
    tested = net.test(request, &done, sizes);
    return done != 0;
  }
  tap::DeviceView view() const {
    const auto snapshot = tap::snapshot();
    for (const auto& d : snapshot.instances.at(0).ib.devices) {
      if (d.info.index == device) return d;
    }
    return {};
  }
  tap::Traffic traffic() const { return view().traffic; }
  std::vector<tap::ConnectionView> open() const {
    auto all = tap::snapshot().connections;
    all.erase(std::remove_if(
                  all.begin(), all.end(),
                  [this](const auto& c) { return c.net != tap::Net::IB || c.device != device; }),
              all.end());
    return all;
  }

  static inline int nextDevice = 10;
  stand_in::Net& net;
  int device;
  Result sent = Result::Success;
  Result tested = Result::Success;
};

TEST_F(Tap, CountsASendWhenTheTransportAcceptsIt) {
  Comm* comm = connectTo();
  comm->refuses = true;
  EXPECT_EQ(send(comm, 1000), nullptr);
  EXPECT_EQ(traffic().bytesSent, 0u);
  EXPECT_EQ(traffic().sends, 0u);
  comm->refuses = false;
  void* request = send(comm, 1000);
  EXPECT_EQ(traffic().bytesSent, 1000u);
  EXPECT_EQ(traffic().sends, 1u);
  EXPECT_EQ(traffic().inFlight, 1u);
  EXPECT_TRUE(test(request));
  EXPECT_EQ(traffic().inFlight, 0u);
  EXPECT_EQ(traffic().completed, 1u);
  net.closeSend(comm);
}

TEST_F(Tap, KeepsSizesBeyond32BitsOnTheSendingSide) {
  Comm* comm = connectTo();
  send(comm, std::size_t{5} << 32);
  EXPECT_EQ(traffic().bytesSent, std::uint64_t{5} << 32);
  net.closeSend(comm);
}

TEST_F(Tap, CountsReceivedBytesAsTestTellsThem) {
  Comm* comm = acceptOne();
  void* request = receive(comm, {4096, 4096, 4096});
  static_cast<stand_in::Request*>(request)->sizes = {100, 20, 3};
  EXPECT_EQ(traffic().bytesReceived, 0u);
  int sizes[8];
  EXPECT_TRUE(test(request, sizes));
  EXPECT_EQ(traffic().bytesReceived, 123u);
  EXPECT_EQ(traffic().receives, 1u);
  EXPECT_EQ(traffic().unsized, 0u);
  net.closeRecv(comm);
}

TEST_F(Tap, CountsAReceiveBetween2And4GiBInFull) {
  Comm* comm = acceptOne();
  int sizes[8];
  EXPECT_TRUE(test(receive(comm, {std::size_t{3} << 30}), sizes));
  EXPECT_EQ(traffic().bytesReceived, std::uint64_t{3} << 30);
  net.closeRecv(comm);
}

TEST_F(Tap, SaysThatASizeIsUnknownRatherThanGuessIt) {
  Comm* comm = acceptOne();
  EXPECT_TRUE(test(receive(comm, {4096}), nullptr));  // NCCL asked for no size
  int sizes[8];
  EXPECT_TRUE(test(receive(comm, {std::size_t{5} << 32}), sizes));  // does not fit in test's answer
  EXPECT_EQ(traffic().bytesReceived, 0u);
  EXPECT_EQ(traffic().completed, 2u);
  EXPECT_EQ(traffic().unsized, 2u);
  net.closeRecv(comm);
}

TEST_F(Tap, TakesAnUnfinishedTestForWhatItIs) {
  Comm* comm = connectTo();
  auto* request = static_cast<stand_in::Request*>(send(comm, 8));
  request->done = false;
  EXPECT_FALSE(test(request));
  EXPECT_EQ(traffic().inFlight, 1u);
  net.closeSend(comm);
}

TEST_F(Tap, DoesNotTakeAFlushInAReusedRequestForAReceive) {
  Comm* comm = acceptOne();
  int sizes[8];
  void* request = receive(comm, {64});
  EXPECT_TRUE(test(request, sizes));
  EXPECT_TRUE(test(request, nullptr));  // iflush took the same request of IB's pool
  EXPECT_EQ(traffic().completed, 1u);
  EXPECT_EQ(traffic().unsized, 0u);
  net.closeRecv(comm);
}

TEST_F(Tap, HandsThroughTheMarkOfAnOptionalCompletion) {
  Comm* comm = acceptOne();
  auto* mark = reinterpret_cast<void*>(nccl_abi::kOptionalRecvCompletion);
  receive(comm, {64}, mark);
  EXPECT_EQ(comm->requestBefore, mark);
  net.closeRecv(comm);
}

TEST_F(Tap, CountsFailuresAndPassesThemOn) {
  Comm* comm = connectTo();
  void* request = send(comm, 8);
  static_cast<stand_in::Request*>(request)->result = Result::RemoteError;
  EXPECT_FALSE(test(request));
  EXPECT_EQ(tested, Result::RemoteError);
  comm->result = Result::SystemError;
  send(comm, 8);
  EXPECT_EQ(sent, Result::SystemError);
  EXPECT_EQ(traffic().failures, 2u);
  EXPECT_EQ(traffic().bytesSent, 8u);
  const auto ib = tap::snapshot().instances.at(0).ib;
  EXPECT_EQ(ib.lastFailedCall, tap::Call::Isend);
  EXPECT_EQ(ib.lastFailure, static_cast<int>(Result::SystemError));
  net.closeSend(comm);
}

TEST_F(Tap, TellsHostPeermemAndDmaBufRegistrationsApart) {
  Comm* comm = connectTo();
  net.regMr(comm, nullptr, 4096, nccl_abi::kPtrHost, nullptr);
  const std::uint64_t before = tap::changes();
  net.regMr(comm, nullptr, 4096, nccl_abi::kPtrCuda, nullptr);
  EXPECT_GT(tap::changes(), before);
  net.regMrDmaBuf(comm, nullptr, 4096, nccl_abi::kPtrCuda, 0, 5, nullptr);
  net.regMrDmaBuf(comm, nullptr, 4096, nccl_abi::kPtrCuda, 0, 5, nullptr);
  const auto connections = open();
  ASSERT_EQ(connections.size(), 1u);
  for (const tap::Traffic& t : {connections[0].traffic, traffic()}) {
    EXPECT_EQ(t.registered(tap::Registration::Host), 1u);
    EXPECT_EQ(t.registered(tap::Registration::Peermem), 1u);
    EXPECT_EQ(t.registered(tap::Registration::DmaBuf), 2u);
  }
  net.closeSend(comm);
}

TEST_F(Tap, NamesThePeerOnceTheConnectSucceeds) {
  stand_in::pendingConnects = 2;
  EXPECT_EQ(connectTo(), nullptr);
  EXPECT_EQ(connectTo(), nullptr);
  EXPECT_TRUE(open().empty());
  Comm* four = connectTo("192.168.7.9");
  Comm* six = connectTo("fe80::17");
  std::vector<std::string> peers;
  for (const auto& c : open()) {
    EXPECT_EQ(c.role, tap::Role::Send);
    peers.push_back(c.peer);
  }
  std::sort(peers.begin(), peers.end());
  EXPECT_EQ(peers, (std::vector<std::string>{"192.168.7.9:4711", "[fe80::17]:4711"}));
  net.closeSend(four);
  net.closeSend(six);
}

TEST_F(Tap, SaysNoPeerForAnAddressFamilyItDoesNotKnow) {
  const std::array<char, 28> handle{9, 0, 1, 2, 3};
  EXPECT_EQ(tap::peerText(handle.data()), "");
}

TEST_F(Tap, KnowsTheCommunicatorOfAConnectionByItsContext) {
  void* context = nullptr;
  net.init(&context, 0xfeed, nullptr, nullptr, nullptr);
  Comm* sending = connectTo("10.0.0.2", context);
  Comm* receiving = acceptOne(context);
  for (const auto& c : open()) EXPECT_EQ(c.commId, 0xfeedu) << name(c.role);
  EXPECT_EQ(open().size(), 2u);
  net.closeSend(sending);
  net.closeRecv(receiving);
  void* const gone = context;
  net.finalize(context);
  Comm* after = connectTo("10.0.0.2", gone);
  EXPECT_EQ(open().at(0).commId, 0u);
  net.closeSend(after);
}

TEST_F(Tap, TakesNoContextFromAnInitThatMadeNone) {
  // NCCL 2.28 and later call Socket's init with what IB's init left in the communicator.
  int freed = 0;
  void* context = &freed;
  stand_in::makesNoContext = true;
  net.init(&context, 0xbad, nullptr, nullptr, nullptr);
  stand_in::makesNoContext = false;
  Comm* comm = connectTo("10.0.0.2", context);
  EXPECT_EQ(open().at(0).commId, 0u);
  net.closeSend(comm);
}

TEST_F(Tap, KeepsTheTotalsOfClosedConnections) {
  for (int i = 0; i < 3; ++i) {
    Comm* comm = connectTo();
    net.regMrDmaBuf(comm, nullptr, 4096, nccl_abi::kPtrCuda, 0, 5, nullptr);
    EXPECT_TRUE(test(send(comm, 100)));
    net.closeSend(comm);
  }
  EXPECT_TRUE(open().empty());
  const auto after = view();
  EXPECT_EQ(after.traffic.bytesSent, 300u);
  EXPECT_EQ(after.traffic.completed, 3u);
  EXPECT_EQ(after.traffic.registered(tap::Registration::DmaBuf), 3u);
  EXPECT_EQ(after.opened[static_cast<std::size_t>(tap::Role::Send)], 3u);
  EXPECT_EQ(after.open[static_cast<std::size_t>(tap::Role::Send)], 0u);
}

TEST_F(Tap, StartsACommAtAReusedAddressFromZero) {
  auto& ledger = tap::ledger;
  alignas(64) static char memory[64];
  ledger.onOpen(0, tap::Role::Send, memory, device, 0, nullptr);
  ledger.onSend(0, memory, 5, memory + 1, 0);
  // NCCL lets go of it without a close, and the allocator hands the address out again.
  ledger.onOpen(0, tap::Role::Send, memory, device, 0, nullptr);
  const auto connections = open();
  ASSERT_EQ(connections.size(), 1u);
  EXPECT_EQ(connections[0].traffic.bytesSent, 0u);
  EXPECT_EQ(traffic().bytesSent, 5u);
  ledger.onClose(memory);
}

TEST_F(Tap, ForwardsWhatItHasNoRecordForAndSaysSo) {
  const auto before = tap::snapshot();
  std::vector<Comm*> comms;
  for (std::size_t i = 0; i < tap::kMaxConnections + 10; ++i) comms.push_back(connectTo());
  const auto full = tap::snapshot();
  EXPECT_EQ(full.connections.size(), tap::kMaxConnections);
  EXPECT_GE(full.untrackedConnections - before.untrackedConnections, 10u);
  Comm* last = comms.back();
  void* request = send(last, 77);
  EXPECT_NE(request, nullptr) << "the transport works on";
  EXPECT_TRUE(test(request));
  EXPECT_EQ(tap::snapshot().untrackedOperations - before.untrackedOperations, 1u);
  for (Comm* comm : comms) net.closeSend(comm);
  Comm* again = connectTo();
  EXPECT_TRUE(test(send(again, 78)));
  EXPECT_EQ(open().size(), 1u) << "records are free again";
  EXPECT_EQ(traffic().bytesSent, 78u);
  net.closeSend(again);
}

TEST_F(Tap, ForwardsADeviceBeyondItsTables) {
  Handle handle = handleOf("10.0.0.2", 1);
  void* comm = nullptr;
  const auto before = tap::snapshot().untrackedConnections;
  EXPECT_EQ(net.connect(nullptr, 70000, handle.data(), &comm, nullptr), Result::Success);
  ASSERT_NE(comm, nullptr);
  EXPECT_EQ(tap::snapshot().untrackedConnections, before + 1);
  net.closeSend(comm);
}

TEST_F(Tap, ListsDevicesWithTheMembersOfMergedOnes) {
  const auto list = tap::deviceList(tap::Net::IB);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(tap::internalDevices(tap::Net::IB), 2);
  EXPECT_EQ(list[1].index, 1);
  EXPECT_EQ(list[1].name, "mlx5_0+mlx5_1");
  EXPECT_EQ(list[1].pciPath, "/sys/devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(list[1].speedMbps, 800000);
  EXPECT_EQ(list[1].guid, 0xabceu);
  EXPECT_EQ(list[1].members, (std::vector<int>{0, 1}));
  const auto devices = tap::snapshot().instances.at(0).ib.devices;
  ASSERT_GE(devices.size(), 2u);
  EXPECT_TRUE(devices[1].known);
  EXPECT_EQ(devices[1].info, list[1]);
}

TEST_F(Tap, KeepsTheTwoNetsApart) {
  auto& socket = stand_in::tapped().socket;
  Handle handle = handleOf("10.0.0.3", 5);
  void* comm = nullptr;
  socket.connect(nullptr, device, handle.data(), &comm, nullptr);
  void* request = nullptr;
  socket.isend(comm, nullptr, 999, 0, nullptr, nullptr, &request);
  EXPECT_EQ(traffic().bytesSent, 0u);
  const auto view = tap::snapshot().instances.at(0).socket;
  EXPECT_TRUE(view.used());
  EXPECT_GE(view.traffic.bytesSent, 999u);
  socket.closeSend(comm);
}

TEST(Install, RefusesAThirdNccl) {
  ASSERT_TRUE(stand_in::tapped().installed.installed);
  static stand_in::Net nets[4] = {stand_in::make(), stand_in::make(), stand_in::make(),
                                  stand_in::make()};
  EXPECT_TRUE(tap::install(stand_in::locationOf(nets[0], nets[1])).installed);
  const auto third = tap::install(stand_in::locationOf(nets[2], nets[3]));
  EXPECT_FALSE(third.installed);
  EXPECT_NE(third.reason.find("one too many"), std::string::npos) << third.reason;
  const stand_in::Net untouched = stand_in::make();
  EXPECT_EQ(nets[2].isend, untouched.isend);
}

TEST(Install, GivesTheLocatorsReasonWhereNothingWasFound) {
  tap::LocateResult nothing;
  nothing.reason = "No object of this process defines ncclGetVersion.";
  const auto result = tap::install(nothing);
  EXPECT_FALSE(result.installed);
  EXPECT_EQ(result.reason, nothing.reason);
}

TEST(Install, LeavesNullSlotsNull) {
  const stand_in::Net& net = stand_in::tapped().ib;
  EXPECT_EQ(net.makeVDevice, nullptr);
  EXPECT_EQ(net.setNetAttr, nullptr);
  EXPECT_NE(net.isend, stand_in::make().isend);
}

}  // namespace
