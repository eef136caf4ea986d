// A file as it lies on the disk: gzip, zstd or neither, whole or broken.
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "verifier/readers/input.h"

using namespace rdmaguard;

namespace {

// One file in memory for all runs: making one costs more than reading it.
int file() {
  static const int fd = memfd_create("fuzz", 0);
  return fd;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int fd = file();
  fuzz::require(fd >= 0 && ftruncate(fd, 0) == 0);
  fuzz::require(pwrite(fd, data, size, 0) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  readers::readInput(std::span(&path, 1));
  return 0;
}
