// Lifecycle for librecorder-profiler.so: opens and closes communicators and drains them every few
// milliseconds into nothing, as the report thread would. For profiler_bench only.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "plugin/collective/collective.h"
#include "plugin/entry/lifecycle.h"

namespace rdmaguard::entry {
namespace {

struct Drainer {
  std::mutex lock;
  std::vector<collective::Communicator*> open;

  Drainer() {
    std::thread([this] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        const std::lock_guard guard(lock);
        for (collective::Communicator* c : open) collective::drain(*c, {});
      }
    }).detach();
  }
};

Drainer& drainer() {
  static auto* const instance = new Drainer;
  return *instance;
}

}  // namespace

void* onInit(const InitArgs& args, int* mask) noexcept {
  collective::Communicator* c =
      collective::open({args.abiVersion, args.nRanks, args.rank,
                        args.logger != nullptr ? args.logger : args.caller});
  *mask = c == nullptr ? 0 : collective::wantedMask(args.abiVersion);
  if (c != nullptr) {
    const std::lock_guard guard(drainer().lock);
    drainer().open.push_back(c);
  }
  return c;
}

void onFinalize(void* context) noexcept {
  if (context == nullptr) return;
  auto* c = static_cast<collective::Communicator*>(context);
  const std::lock_guard guard(drainer().lock);
  std::erase(drainer().open, c);
  collective::finish(*c, {});
  collective::close(c);
}

}  // namespace rdmaguard::entry
