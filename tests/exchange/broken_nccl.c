/* A libnccl that dies or hangs as soon as it is asked for its version: RDMAGUARD_TEST_NCCL=crash
 * or hang. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  const char* how = getenv("RDMAGUARD_TEST_NCCL");
  if (how != NULL && strcmp(how, "crash") == 0) raise(SIGSEGV);
  if (how != NULL && strcmp(how, "hang") == 0)
    for (;;) pause();
  *version = 99901;
  return 0;
}
