// Lets one process of a node speak for all of them. Init and report threads.
#pragma once

#include <string>

namespace rdmaguard::guard {

/// True in the first process of this node (network namespace) that asks with this
/// `topic`; false in every later one, for as long as the first one lives. True as well
/// when it can't be found out: said twice is better than not said.
bool firstOnNode(const std::string& topic) noexcept;

}  // namespace rdmaguard::guard
