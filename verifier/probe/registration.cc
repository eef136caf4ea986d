// tryRegistration: what only a real call into libibverbs can tell. See probe.h.
// Sources: NCCL src/misc/ibvsymbols.cc (names and versions of the functions), src/transport/net_ib
// (ncclIbRegMrDmaBufInternal: access flags; ibDmaBufSupportInitOnce); ibv_reg_mr(3).
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "verifier/engine/text.h"
#include "verifier/probe/in_child.h"
#include "verifier/probe/numbers.h"
#include "verifier/probe/probe.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::RdmaDevice;
using engine::RegistrationTest;

constexpr std::size_t kPage = 4096;
// As much as NCCL's buffer of one connection (NCCL_BUFFSIZE).
constexpr std::size_t kBuffer = std::size_t{4} << 20;
// The one buffer, registered again and again, counts against the limit each time: 64 MiB are
// asked for and 4 MiB are used.
constexpr int kTimes = 16;

constexpr int kLocalWrite = 1, kRemoteWrite = 2, kRemoteRead = 4, kRemoteAtomic = 8;
constexpr int kRelaxedOrdering = 1 << 20;
constexpr int kAccess = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

// libibverbs's functions; its objects stay opaque.
struct Verbs {
  void** (*getDeviceList)(int*) = nullptr;
  const char* (*getDeviceName)(void*) = nullptr;
  void* (*openDevice)(void*) = nullptr;
  int (*closeDevice)(void*) = nullptr;
  void* (*allocPd)(void*) = nullptr;
  int (*deallocPd)(void*) = nullptr;
  void* (*regMr)(void*, void*, std::size_t, int) = nullptr;
  int (*deregMr)(void*) = nullptr;
  void* (*regMrIova2)(void*, void*, std::size_t, std::uint64_t, unsigned) = nullptr;
  void* (*regDmabufMr)(void*, std::uint64_t, std::size_t, std::uint64_t, int, int) = nullptr;
};

template <typename F>
bool load(void* library, const char* symbol, const char* version, F& function) {
  function = reinterpret_cast<F>(dlvsym(library, symbol, version));
  return function != nullptr;
}

bool loadAll(void* library, Verbs& v) {
  constexpr const char* kBase = "IBVERBS_1.1";
  load(library, "ibv_reg_mr_iova2", "IBVERBS_1.8", v.regMrIova2);
  load(library, "ibv_reg_dmabuf_mr", "IBVERBS_1.12", v.regDmabufMr);
  return load(library, "ibv_get_device_list", kBase, v.getDeviceList) &&
         load(library, "ibv_get_device_name", kBase, v.getDeviceName) &&
         load(library, "ibv_open_device", kBase, v.openDevice) &&
         load(library, "ibv_close_device", kBase, v.closeDevice) &&
         load(library, "ibv_alloc_pd", kBase, v.allocPd) &&
         load(library, "ibv_dealloc_pd", kBase, v.deallocPd) &&
         load(library, "ibv_reg_mr", kBase, v.regMr) &&
         load(library, "ibv_dereg_mr", kBase, v.deregMr);
}

// What the child has to say, a line each: "mlx5_0 open 0", and "- failure <words>".
class Account {
 public:
  explicit Account(int fd) : fd_(fd) {}
  void say(std::string_view device, std::string_view what, std::string_view value) const {
    const std::string line = cat(device, " ", what, " ", value, "\n");
    std::string_view left = line;
    while (!left.empty()) {
      const ssize_t n = write(fd_, left.data(), left.size());
      if (n < 0 && errno != EINTR) return;
      if (n > 0) left.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void say(std::string_view device, std::string_view what, std::uint64_t value) const {
    say(device, what, std::to_string(value));
  }

 private:
  int fd_;
};

// errno of a call that returns an object: 0 where it did, EIO where it failed without one.
template <typename Call>
std::uint64_t errnoOf(void*& object, Call call) {
  errno = 0;
  object = call();
  if (object) return 0;
  return errno ? static_cast<std::uint64_t>(errno) : static_cast<std::uint64_t>(EIO);
}

void tryMemory(const Verbs& v, void* pd, void* buffer, int times, const std::string& name,
               const Account& account) {
  void* mr = nullptr;
  account.say(name, "reg", errnoOf(mr, [&] { return v.regMr(pd, buffer, kPage, kAccess); }));
  if (mr) v.deregMr(mr);
  if (v.regMrIova2) {
    const auto address = reinterpret_cast<std::uint64_t>(buffer);
    account.say(name, "relaxed", errnoOf(mr, [&] {
                  return v.regMrIova2(pd, buffer, kPage, address, kAccess | kRelaxedOrdering);
                }));
    if (mr) v.deregMr(mr);
  }
  account.say(name, "asked", kBuffer * static_cast<std::uint64_t>(times));
  std::array<void*, kTimes> held{};
  std::size_t count = 0;
  std::uint64_t why = 0;
  while (why == 0 && count < static_cast<std::size_t>(times)) {
    why = errnoOf(held[count], [&] { return v.regMr(pd, buffer, kBuffer, kAccess); });
    if (why == 0) ++count;
  }
  for (std::size_t i = 0; i < count; ++i) v.deregMr(held[i]);
  account.say(name, "registered", kBuffer * count);
  account.say(name, "ended", why);
  // NCCL takes a libibverbs without the function for a kernel without DMA-BUF.
  account.say(name, "dmabuf",
              v.regDmabufMr ? errnoOf(mr, [&] { return v.regDmabufMr(pd, 0, 0, 0, -1, 0); })
                            : std::uint64_t{EOPNOTSUPP});
}

void tryDevice(const Verbs& v, void* device, void* buffer, int times, const Account& account) {
  const std::string name = v.getDeviceName(device);
  account.say(name, "listed", 1);
  void* context = nullptr;
  account.say(name, "open", errnoOf(context, [&] { return v.openDevice(device); }));
  if (context) {
    void* pd = nullptr;
    account.say(name, "pd", errnoOf(pd, [&] { return v.allocPd(context); }));
    if (pd) {
      tryMemory(v, pd, buffer, times, name, account);
      v.deallocPd(pd);
    }
    v.closeDevice(context);
  }
  account.say(name, "finished", 1);
}

// In the child. It leaves by _exit: the library and the list stay as they are.
void tryAll(const std::string& path, int fd) {
  const Account account(fd);
  const auto fail = [&account](std::string_view words) { account.say("-", "failure", words); };
  void* library = dlopen(path.c_str(), RTLD_NOW);
  if (!library) {
    const char* why = dlerror();
    return fail(cat("libibverbs cannot be opened: ", why ? why : path));
  }
  Verbs v;
  if (!loadAll(library, v)) return fail(cat(path, " lacks functions of IBVERBS_1.1"));
  void* buffer = mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return fail("there are not 4 MiB of memory for it");
  int n = 0;
  errno = 0;
  void** devices = v.getDeviceList(&n);
  if (!devices) return fail(cat("ibv_get_device_list fails with errno ", std::to_string(errno)));
  // The limit is the process's, so one device shows it.
  for (int i = 0; i < n; ++i) tryDevice(v, devices[i], buffer, i == 0 ? kTimes : 1, account);
}

void take(std::string_view what, int value, RegistrationTest& t) {
  if (what == "listed") t.listed = true;
  if (what == "finished") t.finished = true;
  if (what == "open") t.openErrno = value;
  if (what == "pd") t.pdErrno = value;
  if (what == "reg") t.regErrno = value;
  if (what == "relaxed") t.relaxedErrno = value;
  if (what == "dmabuf") t.dmabufErrno = value;
  if (what == "ended") t.registeredErrno = value;
}

void takeLine(std::string_view line, engine::NodeFacts& node) {
  const auto first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return;
  const std::string_view name = line.substr(0, first), value = line.substr(second + 1);
  const std::string_view what = line.substr(first + 1, second - first - 1);
  if (name == "-") {
    node.registration.failure = cat("The registration test could not be made: ", value, ".");
    return;
  }
  const auto d = std::find_if(node.devices.begin(), node.devices.end(),
                              [name](const RdmaDevice& x) { return x.name == name; });
  const auto n = number(value);
  if (d == node.devices.end() || !n) return;
  if (!d->registration) d->registration.emplace();
  if (what == "registered") d->registration->registered = *n;
  if (what == "asked") d->registration->asked = *n;
  take(what, static_cast<int>(*n), *d->registration);
}

void takeRun(const ChildRun& run, engine::NodeFacts& node) {
  node.registration.printed = run.printed;
  for (std::string_view left = run.result; !left.empty();) {
    const auto end = left.find('\n');
    if (end == std::string_view::npos) break;  // the child was stopped within a line
    takeLine(left.substr(0, end), node);
    left.remove_prefix(end + 1);
  }
  std::string& failure = node.registration.failure;
  if (!run.started)
    failure = "The registration test could not be started: no process could be made.";
  else if (run.timedOut)
    failure = "The registration test did not end within its time.";
  else if (run.signal != 0)
    failure = cat("The registration test was ended by signal ", std::to_string(run.signal), ".");
  // What the library does not list was tried as well: NCCL does not see it either.
  if (run.ended() && failure.empty())
    for (RdmaDevice& d : node.devices)
      if (!d.registration) d.registration.emplace().finished = true;
}

}  // namespace

void tryRegistration(engine::NodeFacts& node, std::chrono::milliseconds limit) noexcept {
  if (node.root.find_first_not_of('/') != std::string::npos) return;
  try {
    node.registration.tried = true;
    const std::string path = node.loader.path.empty() ? "libibverbs.so.1" : node.loader.path;
    takeRun(runInChild(limit, [&path](int fd) { tryAll(path, fd); }), node);
  } catch (const std::exception&) {
    // Out of memory: what was learnt so far stands.
  }
}

}  // namespace rdmaguard::probe
