// One process that loads the NCCL (or the would-be NCCL) named on the command line, locates or taps
// it, and prints what it saw, one "key value" a line. The tests start one for each library, so that
// no two NCCLs meet unless they mean to.
//   nccl_child locate LIB              the address of LIB's ncclGetVersion as the logger
//   nccl_child alone LIB               no address at all
//   nccl_child both LIB LIB2           both loaded, no address
//   nccl_child first LIB LIB2          both loaded, the address of LIB as the caller
//   nccl_child replace LIB OTHER       OTHER is renamed over LIB's file once LIB is loaded
//   nccl_child delete LIB              LIB's file is removed once it is loaded
//   nccl_child call LIB                calls NCCL's own net functions, untapped
//   nccl_child tap LIB                 the same, tapped
//   nccl_child tapboth LIB LIB2        installs on both
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "nccl_abi/net_v10.h"
#include "nccl_abi/net_v11.h"
#include "nccl_abi/net_v12.h"
#include "nccl_abi/net_v7.h"
#include "nccl_abi/net_v8.h"
#include "nccl_abi/net_v9.h"
#include "plugin/tap/tap.h"

namespace tap = rdmaguard::tap;
using nccl_abi::Result;

namespace {

void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("dlopen %s\n", dlerror());
    std::exit(1);
  }
  return library;
}

void print(const tap::LocateResult& found) {
  std::printf("found %d\npath %s\nversion %d\nversionText %s\nnetAbi %d\nreason %s\n",
              found ? 1 : 0, found.path.c_str(), found.version, found.versionText.c_str(),
              found.netAbi, found.reason.c_str());
  for (const std::string& fact : found.evidence) std::printf("evidence %s\n", fact.c_str());
  if (found) {
    std::printf("ib %lx\nsocket %lx\n", reinterpret_cast<std::uintptr_t>(found.ib) - found.base,
                reinterpret_cast<std::uintptr_t>(found.socket) - found.base);
  }
}

void log(nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}

// What NCCL does with a net before it connects anything, in its order.
template <class Net, class Properties>
void drive(void** words, const char* which) {
  auto* net = reinterpret_cast<Net*>(words);
  void* context = nullptr;
  Result result = Result::Success;
  if constexpr (requires { net->init(log); }) {
    result = net->init(log);
  } else if constexpr (requires { net->init(log, nullptr); }) {
    result = net->init(log, nullptr);
  } else {
    nccl_abi::NetCommConfig config{nccl_abi::kNetTrafficClassUndefined};
    result = net->init(&context, 0x1234, &config, log, nullptr);
  }
  int count = -7;
  const Result counted = net->devices(&count);
  std::printf("%s.init %d\n%s.devices %d %d\n", which, static_cast<int>(result), which,
              static_cast<int>(counted), count);
  for (int i = 0; i < count; ++i) {
    Properties p{};
    const Result got = net->getProperties(i, &p);
    std::printf("%s.device %d %d %s %s %d %d %lx %d\n", which, i, static_cast<int>(got), p.name,
                p.pciPath == nullptr ? "-" : p.pciPath, p.speed, p.port,
                static_cast<unsigned long>(p.guid), p.ptrSupport);
  }
  if (count < 1) return;
  char handle[nccl_abi::kNetHandleBytes] = {};
  void* comm = nullptr;
  Result listened = Result::Success;
  if constexpr (requires { net->listen(0, handle, &comm); }) {
    listened = net->listen(0, handle, &comm);
  } else {
    listened = net->listen(context, 0, handle, &comm);
  }
  std::printf("%s.listen %d %d\n", which, static_cast<int>(listened), comm != nullptr ? 1 : 0);
  const auto during = tap::snapshot();
  for (const auto& c : during.connections) {
    std::printf("open %s %s %d\n", std::string(name(c.net)).c_str(),
                std::string(name(c.role)).c_str(), c.device);
  }
  std::printf("%s.closeListen %d\n", which, static_cast<int>(net->closeListen(comm)));
}

void drive(int netAbi, void** words, const char* which) {
  switch (netAbi) {
    case 7:
      return drive<nccl_abi::net_v7::Net, nccl_abi::net_v7::Properties>(words, which);
    case 8:
      return drive<nccl_abi::net_v8::Net, nccl_abi::net_v8::Properties>(words, which);
    case 9:
      return drive<nccl_abi::net_v9::Net, nccl_abi::net_v9::Properties>(words, which);
    case 10:
      return drive<nccl_abi::net_v10::Net, nccl_abi::net_v10::Properties>(words, which);
    case 11:
      return drive<nccl_abi::net_v11::Net, nccl_abi::net_v11::Properties>(words, which);
    case 12:
      return drive<nccl_abi::net_v12::Net, nccl_abi::net_v12::Properties>(words, which);
  }
}

std::string nullPattern(void** words, int netAbi) {
  const int slots = netAbi >= 11 ? 21 : netAbi >= 9 ? 19 : 18;
  std::string pattern;
  for (int i = 1; i <= slots; ++i) pattern += words[i] == nullptr ? '0' : 'F';
  return pattern;
}

void printNet(const char* which, const tap::NetView& net) {
  std::printf("%s.calls init=%lu devices=%lu getProperties=%lu listen=%lu\n", which,
              net.calls(tap::Call::Init) + net.failures(tap::Call::Init),
              net.calls(tap::Call::Devices), net.calls(tap::Call::GetProperties),
              net.calls(tap::Call::Listen));
  std::printf("%s.lastDevices %d\n%s.used %d\n", which, net.lastDevices.value_or(-99), which,
              net.used() ? 1 : 0);
  for (const auto& d : net.devices) {
    std::printf("%s.seen %d %s %s %d %d %lx %d opened=%lu open=%lu\n", which, d.info.index,
                d.info.name.c_str(), d.info.pciPath.empty() ? "-" : d.info.pciPath.c_str(),
                d.info.speedMbps, d.info.port, static_cast<unsigned long>(d.info.guid),
                d.info.ptrSupport, d.opened[0], d.open[0]);
  }
}

int callAndMaybeTap(const char* path, bool tapped) {
  const void* address = dlsym(load(path), "ncclGetVersion");
  const auto found = tap::find(address, nullptr);
  if (!found) {
    print(found);
    return 1;
  }
  if (tapped) {
    const std::string before =
        nullPattern(found.ib, found.netAbi) + "/" + nullPattern(found.socket, found.netAbi);
    const auto first = tap::install(found);
    std::printf("installed %d %d\n", first.installed, first.already);
    const auto again = tap::find(address, nullptr);
    print(again);
    const auto second = tap::install(again);
    std::printf("again %d %d\n", second.installed, second.already);
    const std::string after =
        nullPattern(found.ib, found.netAbi) + "/" + nullPattern(found.socket, found.netAbi);
    std::printf("pattern %d\n", before == after ? 1 : 0);
    std::printf("before ib=%d socket=%d\n", tap::internalDevices(tap::Net::IB),
                tap::internalDevices(tap::Net::Socket));
  }
  drive(found.netAbi, found.ib, "IB");
  drive(found.netAbi, found.socket, "Socket");
  if (tapped) {
    std::printf("after ib=%d socket=%d list=%zu\n", tap::internalDevices(tap::Net::IB),
                tap::internalDevices(tap::Net::Socket), tap::deviceList(tap::Net::Socket).size());
    const auto snapshot = tap::snapshot();
    printNet("tap.IB", snapshot.instances.at(0).ib);
    printNet("tap.Socket", snapshot.instances.at(0).socket);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  const std::string_view mode = argv[1];
  if (mode == "call" || mode == "tap") return callAndMaybeTap(argv[2], mode == "tap");

  void* library = load(argv[2]);
  const void* address = dlsym(library, "ncclGetVersion");
  if (mode == "locate") {
    print(tap::find(address, nullptr));
  } else if (mode == "alone") {
    print(tap::find(nullptr, nullptr));
  } else if (mode == "both") {
    load(argv[3]);
    print(tap::find(nullptr, nullptr));
  } else if (mode == "first") {
    load(argv[3]);
    print(tap::find(nullptr, address));
  } else if (mode == "replace") {
    if (std::rename(argv[3], argv[2]) != 0) return 1;
    print(tap::find(address, nullptr));
  } else if (mode == "delete") {
    if (unlink(argv[2]) != 0) return 1;
    print(tap::find(address, nullptr));
  } else if (mode == "tapboth") {
    const auto one = tap::install(tap::find(address, nullptr));
    const auto two = tap::install(tap::find(dlsym(load(argv[3]), "ncclGetVersion"), nullptr));
    std::printf("one %d %u\ntwo %d %u\n", one.installed, one.instance, two.installed, two.instance);
    const auto snapshot = tap::snapshot();
    for (const auto& i : snapshot.instances) std::printf("instance %s\n", i.version.c_str());
  } else {
    return 64;
  }
  return 0;
}
