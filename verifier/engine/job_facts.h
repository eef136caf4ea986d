// Everything an input says of a job: the readers fill it, judge_job.h judges it. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/log_facts.h"
#include "verifier/engine/place.h"
#include "verifier/engine/port_facts.h"
#include "verifier/engine/run_facts.h"
#include "verifier/engine/spec_facts.h"

namespace rdmaguard::engine {

struct JobFacts {
  std::vector<std::string> files;  ///< names as the user gave them, "-" for standard input
  LogFacts log;
  SpecFacts specs;
  PortFacts ports;
  RunFacts run;
  std::vector<Setting> settings;  ///< of `env` output and nccl.conf, source "env.txt:3"
  std::vector<Setting>
      hostFacts;  ///< other facts as name and value: "ulimit -l", "package librdmacm1"
  std::uint64_t linesRead = 0;
  std::uint64_t linesUnknown = 0;  ///< belonged to no kind of input

  /// "log.txt:12"; the file's name alone for line 0.
  std::string source(Place at) const {
    const std::string& f = at.file < files.size() ? files[at.file] : unknownFile();
    return at.line == 0 ? f : f + ":" + std::to_string(at.line);
  }

 private:
  static const std::string& unknownFile() {
    static const std::string name = "input";
    return name;
  }
};

}  // namespace rdmaguard::engine
