// See output.h.
#include "verifier/cli/output.h"

#include <cerrno>
#include <cstdio>
#include <map>

namespace rdmaguard::cli {

void addOutputOptions(CLI::App& sub, OutputOptions& options) {
  sub.add_option("--require", options.require,
                 "The network wanted: rdma, ib or roce, [,gdr]. Not met: exit code 2.")
      ->capture_default_str();
  sub.add_flag("--json", options.json, "One JSON object (docs/verdict.schema.json).");
  sub.add_flag("-q,--quiet", options.quiet, "Print nothing: the exit code says it.");
  sub.add_option("--color", options.color,
                 "auto, always or never; auto: on a terminal, unless NO_COLOR is set.")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, ColorChoice>{{"auto", ColorChoice::Auto},
                                             {"always", ColorChoice::Always},
                                             {"never", ColorChoice::Never}},
          CLI::ignore_case));
}

bool print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return true;
  return errno == EPIPE;
}

}  // namespace rdmaguard::cli
