// See profiler_under_test.h.
#include "profiler_under_test.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

void quietLogger(nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}

[[noreturn]] void fail(const std::string& path, const char* why) {
  std::fprintf(stderr, "profiler_bench: %s: %s\n", path.c_str(), why);
  std::exit(2);
}

}  // namespace

ProfilerUnderTest::ProfilerUnderTest(const std::string& path) {
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) fail(path, dlerror());
  const void* profiler = dlsym(object, "ncclProfiler_v6");
  if (profiler == nullptr) profiler = dlsym(object, "ncclProfiler_v5");
  if (profiler == nullptr) fail(path, "exports neither ncclProfiler_v6 nor ncclProfiler_v5");
  calls_ = *static_cast<const nccl_abi::profiler_v5::Profiler*>(profiler);
  name_ = calls_.name;
  int mask = 0;
  if (calls_.init(&context_, 0x1234, &mask, "bench", 2, 16, 0, quietLogger) !=
      nccl_abi::Result::Success) {
    fail(path, "its init failed");
  }
}

ProfilerUnderTest::~ProfilerUnderTest() {
  if (context_ != nullptr) calls_.finalize(context_);
}

void Collective::launch(const ProfilerUnderTest& p) {
  startGroupApi(p);
  recordGroupApi(p);
  startCollApi(p);
  stopCollApi(p);
  endGroupApi(p);
  startGroup(p);
  startColl(p);
  stopColl(p);
  stopGroup(p);
  stopGroupApi(p);
}

void Collective::progress(const ProfilerUnderTest& p, void* collective) {
  for (int channel = 0; channel < kChannels; ++channel) startChannel(p, collective, channel);
  for (int channel = 0; channel < kChannels; ++channel) {
    recordChannel(p, channel);
    stopChannel(p, channel);
  }
}

}  // namespace bench
