// What launchers, log collectors and programs put in front of a line that is not NCCL's: torchrun,
// mpirun, srun, pdsh, Ray, the kubelet, syslog, dmesg, mail quoting, box drawing. Takes it off
// and keeps what it tells. Pure.
#pragma once

#include <string_view>

namespace rdmaguard::readers {

struct LinePrefix {
  std::string_view rest;  ///< the line without what was recognised, without blanks at either end
  int rank = -1;          ///< "[rank3]:", "[1,3]<stdout>:", "3: ", "[default3]:"; -1 = none
  std::string_view host;  ///< syslog's or pdsh's; empty = none
  std::string_view time;  ///< as written, without brackets; empty = none
};

LinePrefix takePrefix(std::string_view line) noexcept;

/// Without blanks, tabs and carriage returns at either end.
std::string_view trimmed(std::string_view text) noexcept;

}  // namespace rdmaguard::readers
