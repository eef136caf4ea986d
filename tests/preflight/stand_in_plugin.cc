// A net plugin for the tests of the dry run: a mock, since real ones need their hardware. What it
// does is in STAND_IN: nothing (it has one device), "fails", "crashes" or "hangs" at init.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "nccl_abi/net_v8.h"

namespace {

using nccl_abi::Result;
using nccl_abi::net_v8::Net;
using nccl_abi::net_v8::Properties;

Result init(nccl_abi::Logger logger) {
  const char* const set = std::getenv("STAND_IN");
  const std::string_view what = set != nullptr ? set : "";
  logger(nccl_abi::LogLevel::Info, nccl_abi::log_subsys::kNet, __FILE__, __LINE__, "NET/%s : here",
         "StandIn");
  if (what == "crashes") std::raise(SIGSEGV);
  if (what == "hangs") ::pause();
  return what == "fails" ? Result::SystemError : Result::Success;
}

Result devices(int* count) {
  *count = 1;
  return Result::Success;
}

Result getProperties(int, Properties* properties) {
  static char name[] = "standin0";
  *properties = {};
  properties->name = name;
  properties->speed = 100000;
  properties->port = 1;
  properties->ptrSupport = nccl_abi::kPtrHost;
  return Result::Success;
}

Net made() {
  Net net{};
  net.name = "StandIn";
  net.init = init;
  net.devices = devices;
  net.getProperties = getProperties;
  return net;
}

}  // namespace

extern "C" {
extern __attribute__((visibility("default"))) Net ncclNetPlugin_v8;
Net ncclNetPlugin_v8 = made();
}
