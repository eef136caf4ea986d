// See library.h.
#include "verifier/nccl/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>

#include "plugin/tap/locate.h"

namespace rdmaguard::nccl {
namespace {

template <typename F>
F function(void* handle, const char* name) {
  return reinterpret_cast<F>(::dlsym(handle, name));
}

std::string loaderError() {
  const char* error = ::dlerror();
  return error != nullptr ? error : "the loader gives no reason";
}

// NOLINTNEXTLINE(cert-dcl50-cpp): NCCL's logger is a C variadic function
void print(nccl_abi::LogLevel level, unsigned long, const char* file, int line, const char* format,
           ...) {
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto pid = static_cast<long>(::getpid());
  std::array<char, 1024> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (level == nccl_abi::LogLevel::Warn)
    fmt::print("\n{}:{}:{} [0] {}:{} NCCL WARN {}\n", host.data(), pid, pid, file, line,
               text.data());
  else if (level == nccl_abi::LogLevel::Info)
    fmt::print("{}:{}:{} [0] NCCL INFO {}\n", host.data(), pid, pid, text.data());
}

}  // namespace

Library openLibrary(const std::string& path) {
  Library out;
  out.path = path;
  out.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (out.handle == nullptr) {
    out.failure = fmt::format("The loader cannot open it: {}.", loaderError());
    return out;
  }
  const auto version = function<nccl_abi::Result (*)(int*)>(out.handle, "ncclGetVersion");
  if (version == nullptr) {
    out.failure = "It is not NCCL: it has no ncclGetVersion.";
    return out;
  }
  const tap::LocateResult found = tap::locate(nullptr, reinterpret_cast<const void*>(version));
  if (!found.path.empty()) out.path = found.path;
  out.version = found.version;
  if (out.version == 0) version(&out.version);
  out.versionText =
      fmt::format("{}.{}.{}", out.version / 10000, out.version / 100 % 100, out.version % 100);
  out.netAbi = found.netAbi;
  out.ib = static_cast<void*>(found.ib);
  out.socket = static_cast<void*>(found.socket);
  out.failure = found.reason;
  return out;
}

bool startLibrary(const Library& library) {
  // ncclUniqueId is 128 opaque bytes, passed by pointer.
  std::array<char, 128> id{};
  const auto start = function<nccl_abi::Result (*)(void*)>(library.handle, "ncclGetUniqueId");
  return start != nullptr && start(id.data()) == nccl_abi::Result::Success;
}

nccl_abi::Logger logger() {
  return print;
}

}  // namespace rdmaguard::nccl
