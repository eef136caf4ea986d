// Every variable that an input shows, wherever it is set. Pure, any thread.
#pragma once

#include <functional>
#include <string>

#include "verifier/engine/job_facts.h"

namespace rdmaguard::engine {

/// Where a variable was seen.
enum class SettingPlace : std::uint8_t {
  Paste,   ///< env output or a conf file
  Log,     ///< NCCL's "X set by environment to Y"
  Spec,    ///< a container's env, a ConfigMap, a values file
  Script,  ///< an export or a launcher's option
};

struct SeenSetting {
  const std::string& name;
  const std::string& value;
  SettingPlace place;
  std::string source;  ///< "env.txt:3"
};

/// Calls `take` for each, in the order paste, log, specs, scripts, until it returns false.
/// Variables whose value is not to be seen are left out.
void eachSetting(const JobFacts& job, const std::function<bool(const SeenSetting&)>& take);

}  // namespace rdmaguard::engine
