// The rules that look at port listings: see rule_inputs.h.
#include "rule_inputs.h"

namespace rdmaguard::verify {
namespace {

// Two InfiniBand rails, both well.
constexpr std::string_view kRails = R"(CA 'ibp0'
	CA type: MT4129
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Base lid: 7
		SM lid: 1
		Link layer: InfiniBand
CA 'ibp1'
	CA type: MT4129
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Base lid: 8
		SM lid: 1
		Link layer: InfiniBand
)";

// One port of a front-end card beside them.
constexpr std::string_view kFrontend = R"(CA 'mlx5_9'
	CA type: MT4127
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 25
		Base lid: 0
		SM lid: 0
		Link layer: Ethernet
)";

constexpr std::string_view kRoce = R"(CA 'mlx5_2'
	CA type: MT4129
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Base lid: 0
		SM lid: 0
		Link layer: Ethernet
)";

constexpr std::string_view kDevinfo = R"(hca_id:	iwp8s0
	transport:			iWARP (1)
	phys_port_cnt:			1
		port:	1
			state:			PORT_ACTIVE (4)
			link_layer:		Ethernet
)";

std::string railsAnd(std::string_view text) {
  return std::string(kRails) + std::string(text);
}

}  // namespace

std::vector<RuleInput> listingRuleInputs() {
  const std::string rails(kRails);
  const std::string frontend = railsAnd(kFrontend);
  const std::string down = "State: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 25";
  return {
      {"slow-nic", with(kRails, {{"Rate: 400", "Rate: 100"}}), rails},
      {"possible-frontend-port",
       with(frontend, {{down, "State: Down\n\t\tPhysical state: Disabled\n\t\tRate: 25"}}),
       with(kRails, {{"State: Active", "State: Down"}})},
      {"frontend-ethernet-hca", frontend, rails},
      {"roce-lid-zero-normal", std::string(kRoce), rails},
      {"ibpanic-incomplete-output",
       railsAnd(
           "ibpanic: [90211] main: stat of IB device 'ibp2' failed: No such file or directory\n"),
       railsAnd("ibwarn: [90211] main: one of the ports has no name\n")},
      {"truncated-output", railsAnd("CA 'ibp2'\n\tCA type: MT4129\n\tNumber of ports: 1\n"), rails},
      {"unknown-link-layer", std::string(kDevinfo),
       with(kDevinfo, {{"iWARP (1)", "InfiniBand (0)"}})},
      {"ibdev2netdev-netdev-state-only", "ibp0 port 1 ==> ibs0 (Down)\n",
       "link ibp0/1 state ACTIVE physical_state LINK_UP netdev ibs0\n"},
      {"ibstat-reads-sysfs", railsAnd("$ ibv_devinfo\nNo IB devices found\n"), rails},
      {"device-name-missing",
       rails.substr(rails.find("\tPort 1:"), rails.find("CA 'ibp1'") - rails.find("\tPort 1:")),
       rails},
  };
}

}  // namespace rdmaguard::verify
