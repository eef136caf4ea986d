// The functions that stand in NCCL's net slots: each forwards at once, with the arguments it was
// given, and records the outcome. One instance per net interface version and place; chosen by
// tap.cc, called by NCCL.
#pragma once

#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "nccl_abi/types.h"
#include "plugin/tap/ledger.h"

namespace rdmaguard::tap {

/// What tap.cc needs of one interface version at one place, behind plain pointers.
struct SlotTable {
  int netAbi = 0;
  std::size_t words = 0;                     ///< of the struct, the name included
  void* const* own = nullptr;                ///< our functions, null where a slot is left alone
  void** originals = nullptr;                ///< NCCL's functions, filled before ours are seen
  int (*devices)() = nullptr;                ///< NCCL's own devices(); -1 before the net's init
  bool (*card)(int, DeviceCard&) = nullptr;  ///< NCCL's own getProperties()
};

/// The table of an interface version, 7 to 12; nullptr for any other. slots.cc
const SlotTable* slotTable(int netAbi, Place place);

/// Keeps what a device's properties say, in the shape all versions share.
template <class Properties>
DeviceCard cardOf(const Properties& properties) {
  DeviceCard card{};
  const auto copy = [](char* into, std::size_t size, const char* from) {
    if (from != nullptr) std::strncpy(into, from, size - 1);
  };
  copy(card.name, sizeof card.name, properties.name);
  copy(card.pciPath, sizeof card.pciPath, properties.pciPath);
  card.guid = properties.guid;
  card.ptrSupport = properties.ptrSupport;
  card.speedMbps = properties.speed;
  card.port = properties.port;
  if constexpr (requires { properties.vProps; }) {
    constexpr int kMost = static_cast<int>(std::extent_v<decltype(properties.vProps.devs)>);
    static_assert(kMost <= static_cast<int>(std::extent_v<decltype(card.member)>));
    const int members = properties.vProps.ndevs;
    card.members = members < 0 || members > kMost ? 0 : members;
    for (int i = 0; i < card.members; ++i) card.member[i] = properties.vProps.devs[i];
  }
  return card;
}

template <class NetStruct, Place kPlace>
class Slots {
  using Result = nccl_abi::Result;
  using Properties =
      std::remove_pointer_t<std::tuple_element_t<1, decltype([]<class... A>(Result (*)(A...)) {
                                                   return std::tuple<A...>{};
                                                 }(decltype(NetStruct::getProperties){}))>>;

  static int code(Result result) { return static_cast<int>(result); }

  // Argument i from the front, or from the back: the versions add arguments in the middle.
  template <std::size_t i, class... A>
  static auto front(A... args) {
    return std::get<i>(std::tuple<A...>(args...));
  }
  template <std::size_t i, class... A>
  static auto back(A... args) {
    return std::get<sizeof...(A) - 1 - i>(std::tuple<A...>(args...));
  }

  // From v11 on listen and connect begin with the communicator's context.
  template <class First, class... Rest>
  static std::uint64_t commIdOf(First first, Rest...) {
    if constexpr (std::is_same_v<First, void*>) {
      return ledger.commIdOf(kPlace, first);
    } else {
      return 0;
    }
  }
  template <class First, class Second, class... Rest>
  static int deviceOf(First first, Second second, Rest...) {
    if constexpr (std::is_same_v<First, int>) {
      return first;
    } else {
      return second;
    }
  }

  template <class... A>
  static Result init(A... args) {
    constexpr bool kHasContext = std::is_same_v<decltype(front<0>(args...)), void**>;
    void* before = nullptr;
    if constexpr (kHasContext) before = *front<0>(args...);
    const Result result = real.init(args...);
    ledger.onCall(kPlace, Call::Init, code(result));
    if constexpr (kHasContext) {
      // Socket makes no context: NCCL 2.28 to 2.30 then hand it the one that IB's init left in
      // the communicator and IB's finalize has freed.
      void* const made = *front<0>(args...);
      if (result == Result::Success && made != nullptr && made != before) {
        ledger.onContext(kPlace, made, front<1>(args...));
      }
    }
    return result;
  }

  static Result devices(int* count) {
    const Result result = real.devices(count);
    ledger.onDevices(kPlace, *count, code(result));
    return result;
  }

  static Result getProperties(int device, Properties* properties) {
    const Result result = real.getProperties(device, properties);
    ledger.onCall(kPlace, Call::GetProperties, code(result));
    if (result == Result::Success) ledger.onProperties(kPlace, device, cardOf(*properties));
    return result;
  }

  template <class... A>
  static Result listen(A... args) {
    const Result result = real.listen(args...);
    ledger.onCall(kPlace, Call::Listen, code(result));
    void* comm = result == Result::Success ? *back<0>(args...) : nullptr;
    if (comm != nullptr) {
      ledger.onOpen(kPlace, Role::Listen, comm, deviceOf(args...), commIdOf(args...), nullptr);
    }
    return result;
  }

  template <class... A>
  static Result connect(A... args) {
    const Result result = real.connect(args...);
    if (result != Result::Success) {
      ledger.onCall(kPlace, Call::Connect, code(result));
      return result;
    }
    // A null comm means "not connected yet, call again".
    if (void* comm = *back<1>(args...)) {
      ledger.onCall(kPlace, Call::Connect, 0);
      ledger.onOpen(kPlace, Role::Send, comm, deviceOf(args...), commIdOf(args...),
                    back<2>(args...));
    }
    return result;
  }

  template <class... A>
  static Result accept(void* listenComm, void** receiveComm, A... args) {
    const Result result = real.accept(listenComm, receiveComm, args...);
    if (result != Result::Success) {
      ledger.onCall(kPlace, Call::Accept, code(result));
      return result;
    }
    if (*receiveComm != nullptr) {
      ledger.onCall(kPlace, Call::Accept, 0);
      int device = -1;
      std::uint64_t commId = 0;
      ledger.listenOf(listenComm, device, commId);
      ledger.onOpen(kPlace, Role::Receive, *receiveComm, device, commId, nullptr);
    }
    return result;
  }

  template <class Size>
  static Result regMr(void* comm, void* data, Size size, int type, void** mhandle) {
    const Result result = real.regMr(comm, data, size, type, mhandle);
    ledger.onCall(kPlace, Call::RegMr, code(result));
    if (result == Result::Success) {
      ledger.onRegister(comm,
                        type == nccl_abi::kPtrHost ? Registration::Host : Registration::Peermem);
    }
    return result;
  }

  static Result regMrDmaBuf(void* comm, void* data, std::size_t size, int type,
                            std::uint64_t offset, int fd, void** mhandle) {
    const Result result = real.regMrDmaBuf(comm, data, size, type, offset, fd, mhandle);
    ledger.onCall(kPlace, Call::RegMrDmaBuf, code(result));
    if (result == Result::Success) ledger.onRegister(comm, Registration::DmaBuf);
    return result;
  }

  template <class... A>
  static Result isend(A... args) {
    const Result result = real.isend(args...);
    ledger.onSend(kPlace, front<0>(args...), static_cast<std::uint64_t>(front<2>(args...)),
                  *back<0>(args...), code(result));
    return result;
  }

  /// How many buffers test will tell the size of: all n, or none.
  template <class Size>
  [[gnu::noinline]] static unsigned sizedBuffers(int n, const Size* sizes) {
    if (n < 1 || n > 255) return 0;
    for (int i = 0; i < n; ++i) {
      if (static_cast<std::uint64_t>(sizes[i]) > UINT32_MAX) return 0;
    }
    return static_cast<unsigned>(n);
  }

  template <class... A>
  static Result irecv(A... args) {
    const Result result = real.irecv(args...);
    const int n = front<1>(args...);
    const auto* sizes = front<3>(args...);
    // test tells sizes in 32 bits, so those of a larger receive will not be known.
    const bool one = n == 1 && static_cast<std::uint64_t>(sizes[0]) <= UINT32_MAX;
    ledger.onReceive(kPlace, front<0>(args...), one ? 1 : sizedBuffers(n, sizes), *back<0>(args...),
                     code(result));
    return result;
  }

  static Result test(void* request, int* done, int* sizes) {
    const Result result = real.test(request, done, sizes);
    if (result != Result::Success) [[unlikely]] {
      ledger.onBroken(kPlace, request, code(result));
    } else if (*done != 0) {
      ledger.onDone(request, sizes);
    }
    return result;
  }

  static Result closeSend(void* comm) {
    ledger.onClose(comm);
    return real.closeSend(comm);
  }
  static Result closeRecv(void* comm) {
    ledger.onClose(comm);
    return real.closeRecv(comm);
  }
  static Result closeListen(void* comm) {
    ledger.onClose(comm);
    return real.closeListen(comm);
  }

  static Result finalize(void* context) {
    ledger.onContextGone(kPlace, context);
    if constexpr (requires { &NetStruct::finalize; }) return real.finalize(context);
    return Result::InternalError;
  }

  static constexpr NetStruct ours() {
    NetStruct net{};
    net.init = init;
    net.devices = devices;
    net.getProperties = getProperties;
    net.listen = listen;
    net.connect = connect;
    net.accept = accept;
    net.regMr = regMr;
    net.regMrDmaBuf = regMrDmaBuf;
    net.isend = isend;
    net.irecv = irecv;
    net.test = test;
    net.closeSend = closeSend;
    net.closeRecv = closeRecv;
    net.closeListen = closeListen;
    if constexpr (requires { net.finalize; }) net.finalize = finalize;
    return net;
  }

  static int realDevices() {
    int count = -1;
    return real.devices(&count) == Result::Success ? count : -1;
  }
  static bool realCard(int device, DeviceCard& card) {
    Properties properties{};
    if (real.getProperties(device, &properties) != Result::Success) return false;
    card = cardOf(properties);
    return true;
  }

  static_assert(sizeof(NetStruct) % sizeof(void*) == 0);
  static inline constinit NetStruct real{};
  static constexpr NetStruct own = ours();

 public:
  static SlotTable table(int netAbi) {
    return {netAbi,
            sizeof(NetStruct) / sizeof(void*),
            reinterpret_cast<void* const*>(&own),
            reinterpret_cast<void**>(&real),
            realDevices,
            realCard};
  }
};

}  // namespace rdmaguard::tap
