/* A library that is not NCCL but looks like one: it answers ncclGetVersion and holds two structs as
 * NCCL 2.28 does, plus one defect chosen by -DDEFECT_*. It shows that the locator refuses for that
 * defect and no other; the variant without a defect is found. Used by locate_test.cc only. */
#include <stddef.h>
#include <stdlib.h>

#ifndef VERSION
#define VERSION 22809
#endif

__attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = VERSION;
  return 0;
}

static int slot(void) {
  return 0;
}
#define F ((void*)slot)
#define O NULL

struct Net {
  const char* name;
#if defined(DEFECT_SHORT)
  void* slots[18]; /* as NCCL 2.19 to 2.23 have them */
#else
  void* slots[21];
#endif
};

#if defined(DEFECT_NULL_PATTERN)
#define IB_TAIL F, O, F, F, F /* getDeviceMr is NULL in every release */
#elif defined(DEFECT_FOREIGN_SLOT)
#define IB_TAIL O, O, F, F, (void*)abort /* a function of another library */
#elif defined(DEFECT_SHORT)
#define IB_TAIL O, O
#else
#define IB_TAIL O, O, F, F, F
#endif

#if defined(DEFECT_SHORT)
#define SOCKET_TAIL O, O
#else
#define SOCKET_TAIL O, O, O, F, O
#endif

#if defined(DEFECT_NAME)
#define IB_NAME "IBext"
#else
#define IB_NAME "IB"
#endif

struct Net forgedIb = {IB_NAME, {F, F, F, F, F, F, F, F, F, F, F, F, F, F, F, F, IB_TAIL}};
struct Net forgedSocket = {"Socket", {F, F, F, F, F, F, F, O, F, F, F, F, F, F, F, F, SOCKET_TAIL}};
#if defined(DEFECT_SECOND_IB)
struct Net forgedSecondIb = {"IB", {F, F, F, F, F, F, F, F, F, F, F, F, F, F, F, F, IB_TAIL}};
#endif
