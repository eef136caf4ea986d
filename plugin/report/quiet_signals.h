// A write of ours must not end the job: a reader that left raises SIGPIPE, a file
// size limit SIGXFSZ, both in the thread that wrote. Any thread; two system calls,
// so never in NCCL's steady state.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <ctime>

namespace rdmaguard::report {

/// Blocks SIGPIPE and SIGXFSZ in this thread while it lives, and at its end takes
/// back those that our own writes raised. The thread's mask is left as it was.
class QuietSignals {
 public:
  QuietSignals() {
    sigemptyset(&ours_);
    sigaddset(&ours_, SIGPIPE);
    sigaddset(&ours_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    for (int s : {SIGPIPE, SIGXFSZ})
      if (sigismember(&pending, s) == 1) sigdelset(&ours_, s);
    blocked_ = pthread_sigmask(SIG_BLOCK, &ours_, &before_) == 0;
  }
  ~QuietSignals() {
    if (!blocked_) return;
    const timespec now{0, 0};
    while (sigtimedwait(&ours_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t ours_, before_;
  bool blocked_ = false;
};

}  // namespace rdmaguard::report
