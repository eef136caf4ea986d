// See setting_sources.h.
#include "verifier/engine/setting_sources.h"

namespace rdmaguard::engine {
namespace {

using Take = std::function<bool(const SeenSetting&)>;

bool each(const JobFacts& job, const std::vector<SpecSetting>& settings, SettingPlace place,
          const Take& take) {
  for (const SpecSetting& s : settings)
    if (s.valueKnown && !take({s.name, s.value, place, job.source(s.at)})) return false;
  return true;
}

bool eachOfSpecs(const JobFacts& job, const Take& take) {
  for (const SpecRole& role : job.specs.roles)
    for (const SpecContainer& c : role.containers)
      if (!each(job, c.env, SettingPlace::Spec, take) ||
          !each(job, c.command.settings, SettingPlace::Script, take))
        return false;
  for (const SpecConfigMap& map : job.specs.configMaps)
    if (!each(job, map.data, SettingPlace::Spec, take)) return false;
  if (!each(job, job.specs.looseSettings, SettingPlace::Spec, take)) return false;
  for (const BatchScript& script : job.specs.scripts)
    if (!each(job, script.shell.settings, SettingPlace::Script, take)) return false;
  return true;
}

}  // namespace

void eachSetting(const JobFacts& job, const Take& take) {
  for (const Setting& s : job.settings)
    if (!take({s.name, s.value, SettingPlace::Paste, s.source})) return;
  for (const ProcessLog& p : job.log.processes)
    for (std::size_t i = 0; i < p.settings.size(); ++i) {
      const Setting& s = p.settings[i];
      const std::string source = i < p.settingsAt.size() ? job.source(p.settingsAt[i]) : s.source;
      if (!take({s.name, s.value, SettingPlace::Log, source})) return;
    }
  eachOfSpecs(job, take);
}

}  // namespace rdmaguard::engine
