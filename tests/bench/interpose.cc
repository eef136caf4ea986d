// See interpose.h. These definitions come before the C library's because the executable exports
// them.
#include "interpose.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

// glibc's own entry points: looking them up by name could allocate.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

thread_local bool counting = false;
std::atomic<std::uint64_t> allocations;
std::atomic<std::uint64_t> locks;

void countAllocation() {
  if (counting) allocations.fetch_add(1, std::memory_order_relaxed);
}

void countLock() {
  if (counting) locks.fetch_add(1, std::memory_order_relaxed);
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace bench {

CountingHere::CountingHere() {
  counting = true;
}
CountingHere::~CountingHere() {
  counting = false;
}

bool interposed() {
  const auto ours = [](const char* name, const void* function) {
    return dlsym(RTLD_DEFAULT, name) == function;
  };
  return ours("malloc", reinterpret_cast<const void*>(&malloc)) &&
         ours("free", reinterpret_cast<const void*>(&free)) &&
         ours("pthread_mutex_lock", reinterpret_cast<const void*>(&pthread_mutex_lock)) &&
         ours("pthread_rwlock_wrlock", reinterpret_cast<const void*>(&pthread_rwlock_wrlock));
}

Interposed takeCounts() {
  return {allocations.exchange(0), locks.exchange(0)};
}

}  // namespace bench

#define EXPORTED __attribute__((visibility("default")))
// Looked up once: a plugin that locks must not pay for the looking up.
#define FORWARD(name, parameters, arguments)                \
  EXPORTED int name parameters {                            \
    static decltype(&name) const real = next(&name, #name); \
    countLock();                                            \
    return real arguments;                                  \
  }

extern "C" {

EXPORTED void* malloc(std::size_t bytes) noexcept {
  countAllocation();
  return __libc_malloc(bytes);
}
EXPORTED void* calloc(std::size_t count, std::size_t bytes) noexcept {
  countAllocation();
  return __libc_calloc(count, bytes);
}
EXPORTED void* realloc(void* old, std::size_t bytes) noexcept {
  countAllocation();
  return __libc_realloc(old, bytes);
}
EXPORTED void free(void* memory) noexcept {
  countAllocation();
  __libc_free(memory);
}
EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  countAllocation();
  return __libc_memalign(alignment, bytes);
}
EXPORTED int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  countAllocation();
  void* const memory = __libc_memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}

FORWARD(pthread_mutex_lock, (pthread_mutex_t * m) noexcept, (m))
FORWARD(pthread_mutex_trylock, (pthread_mutex_t * m) noexcept, (m))
FORWARD(pthread_mutex_unlock, (pthread_mutex_t * m) noexcept, (m))
FORWARD(pthread_rwlock_rdlock, (pthread_rwlock_t * l) noexcept, (l))
FORWARD(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l) noexcept, (l))
FORWARD(pthread_rwlock_wrlock, (pthread_rwlock_t * l) noexcept, (l))
FORWARD(pthread_rwlock_trywrlock, (pthread_rwlock_t * l) noexcept, (l))
FORWARD(pthread_rwlock_unlock, (pthread_rwlock_t * l) noexcept, (l))
FORWARD(pthread_spin_lock, (pthread_spinlock_t * l) noexcept, (l))
FORWARD(pthread_spin_unlock, (pthread_spinlock_t * l) noexcept, (l))
FORWARD(pthread_cond_signal, (pthread_cond_t * c) noexcept, (c))
FORWARD(pthread_cond_broadcast, (pthread_cond_t * c) noexcept, (c))
FORWARD(sem_post, (sem_t * s) noexcept, (s))
FORWARD(sem_wait, (sem_t * s), (s))

}  // extern "C"
