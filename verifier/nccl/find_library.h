// Which libnccl a job started here would load.
#pragma once

#include <string>

namespace rdmaguard::nccl {

struct FoundLibrary {
  std::string name;  ///< a path, or a name for the loader
  std::string how;   ///< "the nvidia-nccl package of /usr/bin/python3"
};

/// The library of the Python package index in the environment of the python3 that PATH names
/// (where PyTorch's wheels take it from), else the loader's libnccl.so.2. Runs python3 in a child
/// for at most 3 s. The caller must have one thread.
FoundLibrary findLibrary();

}  // namespace rdmaguard::nccl
