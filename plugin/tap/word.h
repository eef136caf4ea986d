// An atomic value without a constructor. Used by the ledger, which must be plain zeroes in .bss:
// std::atomic's constructor would run for every entry and touch megabytes at load.
#pragma once

#include <atomic>

namespace rdmaguard::tap {

/// As std::atomic<T>, but a trivial type: zero where its storage is zero.
template <class T>
struct Word {
  T value;

  T load(std::memory_order order) const { return reference().load(order); }
  void store(T next, std::memory_order order) { reference().store(next, order); }
  T fetch_add(T n, std::memory_order order) { return reference().fetch_add(n, order); }
  T fetch_and(T mask, std::memory_order order) { return reference().fetch_and(mask, order); }
  bool compare_exchange_strong(T& expected, T next, std::memory_order order) {
    return reference().compare_exchange_strong(expected, next, order);
  }

 private:
  std::atomic_ref<T> reference() const { return std::atomic_ref<T>(const_cast<T&>(value)); }
  static_assert(std::atomic_ref<T>::is_always_lock_free);
};

}  // namespace rdmaguard::tap
