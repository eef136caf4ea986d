// How NCCL finds its profiler plugin, by release: names, then symbols. See profiler.h.
#include <dlfcn.h>
#include <fmt/format.h>
#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "profiler.h"

namespace rdmaguard::job {
namespace {

constexpr int k2270 = 22700;
constexpr int k2273 = 22703;
constexpr int k2275 = 22705;
constexpr int k2283 = 22803;

bool isLibraryName(std::string_view name) {
  return name.substr(0, 3) == "lib" && name.size() >= 3 && name.substr(name.size() - 3) == ".so";
}

// File names tried, in order. 2.27.3 takes only lib*.so as given; from 2.27.5 on a path or a
// library name is never decorated.
std::vector<std::string> candidates(const NcclLibrary& nccl, const std::string& name) {
  if (name.empty()) return {"libnccl-profiler.so"};
  const std::string decorated = "libnccl-profiler-" + name + ".so";
  if (!nccl.release().profilerShortName) return {name};
  if (nccl.version() < k2270) return {name, decorated};
  if (nccl.version() < k2275 && nccl.version() >= k2273) {
    return {isLibraryName(name) ? name : decorated};
  }
  if (isLibraryName(name) || name.find('/') != std::string::npos) return {name};
  return {name, decorated};
}

}  // namespace

ProfilerLibrary::ProfilerLibrary(const NcclLibrary& nccl) {
  open(nccl);
}

ProfilerLibrary::~ProfilerLibrary() {
  profiler_.reset();
  if (handle_ != nullptr && close_) ::dlclose(handle_);
}

void ProfilerLibrary::open(const NcclLibrary& nccl) {
  const Release& release = nccl.release();
  const char* variable = std::getenv("NCCL_PROFILER_PLUGIN");
  const std::string name = variable != nullptr ? variable : "";
  if (release.profilerVersion == 0) {
    said_ = fmt::format("NCCL {} has no profiler interface", nccl.versionText());
    return;
  }
  if (nccl.version() >= k2283 && ::strcasecmp(name.c_str(), "none") == 0) {
    said_ = "no profiler plugin: NCCL_PROFILER_PLUGIN=none";
    return;
  }
  for (const std::string& file : candidates(nccl, name)) {
    // Any beginning of this word, as NCCL compares it, stands for the program itself.
    const bool inProgram = ::strncasecmp(file.c_str(), "STATIC_PLUGIN", file.size()) == 0;
    handle_ = ::dlopen(inProgram ? nullptr : file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) break;
    const char* error = ::dlerror();
    said_ += fmt::format("{}{}", said_.empty() ? "no profiler plugin: " : "; ",
                         error != nullptr ? error : file);
  }
  if (handle_ == nullptr) return;
  said_.clear();
  close_ = release.profilerClosed;
  for (int version = release.profilerVersion; version >= 1; --version) {
    const std::string symbol = fmt::format("ncclProfiler_v{}", version);
    void* object = ::dlsym(handle_, symbol.c_str());
    if (object == nullptr) continue;
    profiler_ = profilerAt(object, version, nccl.version() >= 23100);
    return;
  }
  said_ = fmt::format("the profiler plugin {} exports none of ncclProfiler_v1 to _v{}", name,
                      release.profilerVersion);
}

}  // namespace rdmaguard::job
