// The variables that NCCL reads, with the releases that read them. Data and its look-up; pure,
// any thread. Source: the names in src/ of NCCL's tags v2.3.5 to v2.30.7, those in the libraries
// 2.31.2 and 2.32.3, and NCCL's user guide for what went before 2.3.
#pragma once

#include <span>
#include <string_view>

namespace rdmaguard::engine {

struct NcclVariable {
  std::string_view name;
  int first = 0;        ///< the first release that reads it, as ncclGetVersion counts; 0: 2.3 or
                        ///< before
  int last = 0;         ///< the last one; 0 = the newest still does
  bool number = false;  ///< read by strtoll(): a word is 0
};

/// All of them, sorted by name.
std::span<const NcclVariable> ncclVariables() noexcept;

/// The entry of that name, or null.
const NcclVariable* ncclVariable(std::string_view name) noexcept;

/// The variable that `name`, which is none, was probably meant to be: a letter or two differ.
/// Empty where there is no such, or where `name` belongs to a plugin or a framework.
std::string_view meantVariable(std::string_view name) noexcept;

}  // namespace rdmaguard::engine
