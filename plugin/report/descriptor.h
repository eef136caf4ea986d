// Files of ours stay clear of 0, 1 and 2: in a job whose standard error is closed, the
// next open() would be it, and log lines would go into our own records.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace rdmaguard::report {

/// `fd`, or where it is a standard one a duplicate above them (close-on-exec) in its
/// place. -1 stays -1, with errno as it was. Any thread.
inline int aboveStandard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(fd);
  return moved;
}

}  // namespace rdmaguard::report
