// What ibstat, ibstatus, ibv_devinfo, rdma link, show_gids and their like list: filled by
// verifier/readers/ports, judged by the rows of rules_listing.h. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verifier/engine/facts.h"
#include "verifier/engine/place.h"

namespace rdmaguard::engine {

/// Who printed a listing. ibstat and ibstatus read sysfs, ibv_devinfo opens the devices.
enum class ListingTool : std::uint8_t {
  Ibstat,
  Ibstatus,
  IbvDevinfo,
  IbvDevices,  ///< names only
  RdmaLink,
  Ibdev2netdev,  ///< states only with -v
  RdmaDev,       ///< names only
  ShowGids,      ///< GIDs only
  Sysfs,         ///< not a listing: this node itself, read by preflight
};

/// Whether a tool says of every port what state it is in.
constexpr bool listsStates(ListingTool t) {
  return t == ListingTool::Ibstat || t == ListingTool::Ibstatus || t == ListingTool::IbvDevinfo ||
         t == ListingTool::RdmaLink || t == ListingTool::Sysfs;
}

constexpr std::string_view name(ListingTool t) {
  switch (t) {
    case ListingTool::Ibstat:
      return "ibstat";
    case ListingTool::Ibstatus:
      return "ibstatus";
    case ListingTool::IbvDevinfo:
      return "ibv_devinfo";
    case ListingTool::IbvDevices:
      return "ibv_devices";
    case ListingTool::RdmaLink:
      return "rdma link";
    case ListingTool::Ibdev2netdev:
      return "ibdev2netdev";
    case ListingTool::RdmaDev:
      return "rdma dev";
    case ListingTool::ShowGids:
      return "show_gids";
    case ListingTool::Sysfs:
      return "/sys/class/infiniband";
  }
  return "listing";
}

/// A GID of a port. The tools leave out the entries of the table that are empty.
struct ListedGid {
  int port = 1;
  int index = 0;
  int roceVersion = 0;  ///< 1 or 2; 0 = not said, or an InfiniBand port
  std::string gid;
  Place at;
};

/// What a listing says of a device beside RdmaDevice.
struct ListedHardware {
  std::string model;   ///< "MT4129" (ibstat's CA type, ibv_devinfo's vendor_part_id); may be empty
  int portsSaid = -1;  ///< the number of ports it claims to have, -1 = not said
  bool named = true;   ///< false: the line with its name was cut off
  std::vector<ListedGid> gids;  ///< of all its ports; empty: the tool lists none
  int zeroLidPort = 0;          ///< an ACTIVE Ethernet port whose LID is listed as 0; 0 = none
  Place at;
};

/// One listing as one tool printed it on one host.
struct PortListing {
  ListingTool tool = ListingTool::Ibstat;
  std::string host;                 ///< of a tag before the lines or of the prompt; empty = none
  std::vector<RdmaDevice> devices;  ///< in the order listed; `source` as "file:line"
  std::vector<ListedHardware> hardware;  ///< parallel to devices
  bool complete = true;                  ///< false: cut off at either end, elided, or the tool died
  Place cutAt;      ///< where something is missing; line 0: nowhere, or not to be told
  Place panic;      ///< "ibpanic: ..."; line 0: none
  Place noDevices;  ///< "No IB devices found"; line 0: none
  Place at;
};

/// All listings of the input.
struct PortFacts {
  std::vector<PortListing> listings;
};

}  // namespace rdmaguard::engine
