// See find_library.h.
#include "verifier/nccl/find_library.h"

#include <unistd.h>

#include <string_view>

#include "verifier/probe/in_child.h"

namespace rdmaguard::nccl {
namespace {

// Imports nothing but the finder: no package of the job runs.
constexpr const char* kAsk = R"(
import importlib.util, os, sys
try:
    spec = importlib.util.find_spec("nvidia.nccl")
except Exception:
    spec = None
for folder in (spec.submodule_search_locations or []) if spec else []:
    path = os.path.join(folder, "lib", "libnccl.so.2")
    if os.path.exists(path):
        print("found", sys.executable, path, sep="\t")
        break
)";

}  // namespace

FoundLibrary findLibrary() {
  const probe::ChildRun run = probe::runInChild(std::chrono::seconds(3), [](int) {
    ::execlp("python3", "python3", "-c", kAsk, static_cast<char*>(nullptr));
  });
  // A site's own start-up code may print before it.
  std::string_view rest = run.printed;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    if (!line.starts_with("found\t")) continue;
    const std::string_view found = line.substr(6);
    const auto tab = found.find('\t');
    if (tab == std::string_view::npos) continue;
    return {std::string(found.substr(tab + 1)),
            "the nvidia-nccl package of " + std::string(found.substr(0, tab))};
  }
  return {"libnccl.so.2", "the loader's libnccl.so.2"};
}

}  // namespace rdmaguard::nccl
