// What ibstat, ibstatus, ibv_devinfo, rdma link and ibdev2netdev list: filled by
// verifier/readers/ports, judged by the rows of rules_listing.h. Values only.
#pragma once

#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/place.h"

namespace rdmaguard::engine {

/// One listing as one tool printed it.
struct PortListing {
  std::string tool;  ///< "ibstat", "ibstatus", "ibv_devinfo", "rdma link", "ibdev2netdev"
  std::vector<RdmaDevice> devices;  ///< in the order listed; `source` as "file:line"
  bool complete = true;             ///< false: cut off, or the tool died
  Place at;
};

/// All listings of the input.
struct PortFacts {
  std::vector<PortListing> listings;
};

}  // namespace rdmaguard::engine
