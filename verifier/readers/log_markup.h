// What other programs put around a message of NCCL's: Ray, mail programs, collectors. Used by
// log.cc. Pure.
#pragma once

#include <string>
#include <string_view>

namespace rdmaguard::readers::nccl_log {

/// "text [repeated 15x across cluster]": Ray prints what several processes said once. `repeated`
/// becomes true where it did.
std::string_view withoutRepeated(std::string_view text, bool& repeated);

/// Mail programs make links of what looks like one: "[net_ib.cc:101](http://net_ib.cc:101/)".
/// False: there was none, and `out` holds nothing of use.
bool withoutLinks(std::string_view line, std::string& out);

/// A copy of a message that stands twice on a line is divided from the first by " |". Blanks at
/// the ends go too.
std::string_view withoutDivider(std::string_view text);

}  // namespace rdmaguard::readers::nccl_log
