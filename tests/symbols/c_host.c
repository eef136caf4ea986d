/* A program with no C++ in it that loads the plugin the way NCCL does and looks at what it got.
 * Run with LD_BIND_NOW=1 by ctest and scripts/check.sh: c_host PATH-OF-LIBRDMAGUARD.SO */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int fail(const char* what, const char* detail) {
  fprintf(stderr, "c_host: %s: %s\n", what, detail ? detail : "");
  return 1;
}

/* Whether a mapped file's name holds `part`. */
static int mapped(const char* part) {
  char line[4096];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (!maps) return -1;
  while (!found && fgets(line, sizeof line, maps)) found = strstr(line, part) != NULL;
  fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  static const char* const kForeign[] = {"libstdc++", "libgcc_s", "libfmt", "libspdlog",
                                         "libibverbs"};
  if (argc != 2) return fail("usage", "c_host PLUGIN");
  if (mapped("libstdc++") != 0) return fail("this program", "already holds libstdc++");

  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return fail("dlopen", dlerror());

  for (int version = 1; version <= 7; ++version) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    /* Every version of the interface starts with the profiler's name, then init. */
    struct {
      const char* name;
      void* init;
    } const* profiler = dlsym(plugin, symbol);
    if (!profiler) return fail("not exported", symbol);
    if (!profiler->name || !profiler->name[0]) return fail("has no name", symbol);
    if (!profiler->init) return fail("has no init", symbol);
  }
  for (unsigned i = 0; i < sizeof kForeign / sizeof *kForeign; ++i) {
    if (mapped(kForeign[i]) != 0) return fail("loading the plugin brought in", kForeign[i]);
  }

  /* NCCL 2.28.3 and later close the plugin between communicators; it has to stay. */
  if (dlclose(plugin) != 0) return fail("dlclose", dlerror());
  if (mapped("librdmaguard.so") != 1) return fail("after dlclose", "the plugin is gone");
  puts("c_host: loaded, versions 1 to 7 present, nothing foreign, stays after dlclose");
  return 0;
}
