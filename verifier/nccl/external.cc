// See external.h.
#include "verifier/nccl/external.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "nccl_abi/releases.h"

namespace rdmaguard::nccl {
namespace {

using nccl_abi::versionCode;

constexpr std::string_view kDefault = "libnccl-net.so";
// Interfaces before v7 differ too much to be called from here.
constexpr int kOldestCallable = 7;

std::string prefixed(std::string_view name) {
  return fmt::format("libnccl-net-{}.so", name);
}

bool isStatic(int version, std::string_view name) {
  // Any beginning of the word counts: NCCL compares as many characters as the name has.
  constexpr std::string_view kWord = "STATIC_PLUGIN";
  return version >= versionCode(2, 22, 0) && !name.empty() && name.size() <= kWord.size() &&
         ::strncasecmp(name.data(), kWord.data(), name.size()) == 0;
}

std::vector<std::string> filesOf(int version, std::string_view name) {
  if (version < versionCode(2, 21, 0)) return {prefixed(name)};
  if (isStatic(version, name)) return {};
  const bool plain = name.starts_with("lib") && name.ends_with(".so");
  if (version >= versionCode(2, 27, 0) && version < versionCode(2, 27, 5))
    return {plain ? std::string(name) : prefixed(name)};
  std::vector<std::string> files{std::string(name)};
  const bool asGiven =
      version >= versionCode(2, 27, 5) && (plain || name.find('/') != std::string_view::npos);
  if (!asGiven) files.push_back(prefixed(name));
  return files;
}

ExternalNet load(int version, const std::vector<std::string>& files) {
  ExternalNet out;
  if (files.empty()) {
    out.library = "the program itself";
    out.why =
        "NCCL_NET_PLUGIN names a plugin linked into the job's program, which cannot be tried from "
        "here.";
    return out;
  }
  void* handle = nullptr;
  for (const std::string& file : files) {
    out.library = file;
    handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    const char* error = ::dlerror();
    out.why = fmt::format("It cannot be opened: {}.", error != nullptr ? error : file);
  }
  if (handle == nullptr) return out;
  out.why.clear();
  const nccl_abi::Release* release = nccl_abi::findRelease(version);
  if (release == nullptr) {
    out.why = "Which interfaces this NCCL takes is not known.";
    return out;
  }
  for (int v = release->net; v >= release->oldestNet; --v) {
    const std::string symbol = fmt::format("ncclNetPlugin_v{}", v);
    void* object = ::dlsym(handle, symbol.c_str());
    if (object == nullptr) continue;
    out.symbol = symbol;
    if (v >= kOldestCallable)
      out.net = netAt(object, v);
    else
      out.why = fmt::format("It exports {}, which is too old to be tried from here.", symbol);
    return out;
  }
  out.why = fmt::format("It exports no ncclNetPlugin_v{} to v{}: NCCL goes on without it.",
                        release->oldestNet, release->net);
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> pluginFiles(int version, const char* value) {
  if (value == nullptr || (*value == '\0' && version < versionCode(2, 27, 0)))
    return {{std::string(kDefault)}};
  std::vector<std::vector<std::string>> plugins;
  std::string_view rest = value;
  const bool list = version >= versionCode(2, 27, 0);
  while (!rest.empty()) {
    const std::string_view name = list ? rest.substr(0, rest.find(',')) : rest;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty() || (name.size() == 4 && ::strncasecmp(name.data(), "none", 4) == 0)) continue;
    plugins.push_back(filesOf(version, name));
  }
  return plugins;
}

std::vector<ExternalNet> loadExternalNets(int version) {
  const char* const value = std::getenv("NCCL_NET_PLUGIN");
  std::vector<ExternalNet> nets;
  for (const std::vector<std::string>& files : pluginFiles(version, value)) {
    ExternalNet one = load(version, files);
    const bool absentDefault = files.size() == 1 && files.front() == kDefault && !one.net &&
                               one.symbol.empty() && one.why.starts_with("It cannot be opened");
    if (!absentDefault || value != nullptr) nets.push_back(std::move(one));
  }
  return nets;
}

}  // namespace rdmaguard::nccl
