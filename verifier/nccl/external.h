// Net plugins that a libnccl would load before its own transports: which files, by which release,
// and what they export. The names are pure; loading is for a child process of the command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "verifier/nccl/net.h"

namespace rdmaguard::nccl {

/// The files that NCCL of version code `version` tries for each plugin of NCCL_NET_PLUGIN, in its
/// order; of one plugin's files the first that opens counts. `value`: null where it is not set.
/// A plugin without files is one that lies in the program itself (STATIC_PLUGIN). Sources: NCCL
/// src/net.cc of 2.19 to 2.26, src/plugin/plugin_open.cc and src/plugin/net.cc of 2.26 to 2.32.
std::vector<std::vector<std::string>> pluginFiles(int version, const char* value);

struct ExternalNet {
  std::string library;       ///< the file that opened, or the one that was asked for
  std::string symbol;        ///< "ncclNetPlugin_v8"; empty: it exports none that this NCCL takes
  std::unique_ptr<Net> net;  ///< null: see `why`
  std::string why;           ///< a whole sentence where there is no net to try
};

/// Opens what NCCL `version` would open with this process's NCCL_NET_PLUGIN. A default plugin that
/// is not there is no entry: that is the normal case.
std::vector<ExternalNet> loadExternalNets(int version);

}  // namespace rdmaguard::nccl
