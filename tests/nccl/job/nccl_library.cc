// See nccl_library.h.
#include "nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <stdexcept>

#include "elf_symbols.h"

namespace rdmaguard::job {
namespace {

using nccl_abi::Result;

constexpr const char* kLogger = "_Z12ncclDebugLog17ncclDebugLogLevelmPKciS1_z";
constexpr const char* kProfilerCallback = "_Z20ncclProfilerCallbackPPviS_lS_";

// Read in the sources of 2.19.3 to 2.30.7; profiler v7 and the kernel thread in the debug
// information of 2.31.2 and 2.32.3.
constexpr std::array kReleases{
    // code, net, profiler, nameBeforeInit, netPerComm, late, shortName, closed, noGroup, kernel
    Release{21900, 7, 0, false, false, false, false, false, false, false},
    Release{22000, 8, 0, false, false, false, false, false, false, false},
    Release{22300, 8, 1, false, false, false, false, true, false, false},
    Release{22400, 9, 2, false, false, false, false, true, false, false},
    Release{22600, 10, 3, false, false, false, true, false, false, false},
    Release{22700, 10, 4, false, false, true, true, false, false, false},
    Release{22800, 11, 5, false, true, true, true, true, true, false},
    Release{22807, 11, 5, true, true, true, true, true, true, false},
    Release{22900, 11, 6, true, true, true, true, true, true, false},
    Release{23000, 12, 6, true, true, true, true, true, true, false},
    Release{23100, 12, 7, true, true, true, true, true, true, true},
};

template <typename F>
F function(void* handle, const char* name) {
  return reinterpret_cast<F>(::dlsym(handle, name));
}

}  // namespace

const Release& releaseOf(int code) {
  const Release* row = nullptr;
  for (const Release& r : kReleases) {
    if (code >= r.code) row = &r;
  }
  if (row == nullptr) throw std::runtime_error(fmt::format("NCCL {} is older than 2.19", code));
  return *row;
}

NcclLibrary::NcclLibrary(const std::string& path)
    : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  const auto getVersion = function<Result (*)(int*)>(handle_, "ncclGetVersion");
  if (getVersion == nullptr || getVersion(&version_) != Result::Success) {
    throw std::runtime_error(path + " is not NCCL: it has no ncclGetVersion");
  }
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) throw std::runtime_error(::dlerror());
  path_ = map->l_name;
  const auto symbols = symbolsOf(path_, {"ncclNetIb", "ncclNetSocket", kLogger, kProfilerCallback});
  const auto address = [&](const char* name) -> void* {
    const auto at = symbols.find(name);
    if (at == symbols.end()) return nullptr;
    return reinterpret_cast<void*>(map->l_addr + at->second);  // NOLINT: an address by arithmetic
  };
  ib_ = address("ncclNetIb");
  socket_ = address("ncclNetSocket");
  logger_ = reinterpret_cast<nccl_abi::Logger>(address(kLogger));
  profilerCallback_ = address(kProfilerCallback);
  if (ib_ == nullptr || socket_ == nullptr || logger_ == nullptr) {
    throw std::runtime_error(path_ + " has no symbol table with ncclNetIb, ncclNetSocket and " +
                             "ncclDebugLog; this job needs a library as the wheels ship it");
  }
}

std::string NcclLibrary::versionText() const {
  return fmt::format("{}.{}.{}", version_ / 10000, version_ / 100 % 100, version_ % 100);
}

void NcclLibrary::start() const {
  // ncclUniqueId is 128 opaque bytes, passed by pointer.
  std::array<char, 128> id{};
  const auto getUniqueId = function<Result (*)(void*)>(handle_, "ncclGetUniqueId");
  const Result result = getUniqueId(id.data());
  if (result != Result::Success) {
    throw std::runtime_error(
        fmt::format("ncclGetUniqueId failed with {}", static_cast<int>(result)));
  }
}

}  // namespace rdmaguard::job
