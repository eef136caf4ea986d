// Builds PortListings out of the lines of port listings, one listing a tool, host and run; those
// of several tasks of a launcher may be mixed line by line. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "verifier/readers/ports_words.h"
#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

class ListingBuilder {
 public:
  explicit ListingBuilder(JobFacts& out) : out_(out) {}

  void take(const PortLine& l, Place at);
  /// `cut`: the text ends within a listing, whose last line was `last`.
  void finish(bool cut, Place last);

 private:
  // A listing that goes on, with what its last lines said.
  struct Open {
    engine::PortListing listing;
    bool open = false;
    bool table = false;     // the head of ibv_devices or show_gids came: rows follow
    long lid = -1;          // of the last port
    double laneGbps = 0;    // of the last port
    int lanes = 0;          // of the last port
    std::string transport;  // of the last device
    std::string host;       // of the prompt before it
  };

  engine::PortListing& listing(const PortLine& l, Place at);
  void device(const PortLine& l, std::string_view name, Place at);
  engine::RdmaDevice& deviceNow(const PortLine& l, Place at);
  engine::ListedHardware& hardware(const PortLine& l, Place at);
  void port(const PortLine& l, int number, Place at);
  void addGid(engine::ListedGid gid);
  void portField(const PortLine& l, Place at);
  void setLinkLayer(engine::RdmaPort& p, std::string_view value) const;
  void setRate(engine::RdmaPort& p) const;
  engine::RdmaPort* oneLine(const PortLine& l, std::string_view name, int number, Place at);
  void rdmaLink(const PortLine& l, Place at);
  void ibdev2netdev(const PortLine& l, Place at);
  void gid(const PortLine& l, Place at);
  void gidRow(const PortLine& l, Place at);
  bool wholeLastPort() const;
  void missing(Place at);
  void close();

  JobFacts& out_;
  std::map<std::string, Open, std::less<>> speakers_;
  Open* now_ = nullptr;
};

}  // namespace rdmaguard::readers
