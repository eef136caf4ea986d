// What the user asked the guard to do, read from the environment by the table in
// rdmaguard/params.h. Pure: the caller says how a variable is looked up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::guard {

enum class OnFallback : unsigned char { Off, Warn, Abort };

struct Policy {
  bool enabled = true;
  bool tap = true;
  OnFallback onFallback = OnFallback::Warn;
  std::string require = "rdma";  ///< as engine::parseRequirement takes it
  int exitCode = 78;
  std::string log;  ///< file pattern; empty is standard error
  int intervalSeconds = 60;
  std::string directory;  ///< empty: no JSON lines
  long maxMebibytes = 1024;
};

/// A policy and one sentence for each value that was not understood and so was
/// replaced by its default.
struct PolicyReading {
  Policy policy;
  std::vector<std::string> complaints;
};

using Lookup = std::function<std::optional<std::string>(std::string_view)>;

/// Reads every parameter through `lookup`. An empty value counts as unset. Init
/// thread; allocates.
PolicyReading readPolicy(const Lookup& lookup);

/// The process's own environment as a Lookup.
Lookup environmentLookup();

}  // namespace rdmaguard::guard
