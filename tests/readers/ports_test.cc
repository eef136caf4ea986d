// Port listings, each tool's documented form: text in, listings out.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "verifier/readers/input.h"

namespace rdmaguard::readers {
namespace {

using engine::ListedHardware;
using engine::PortListing;
using engine::RdmaDevice;
using engine::RdmaPort;

std::vector<PortListing> listingsOf(std::string_view text) {
  return readText(text, "ports.txt").facts.ports.listings;
}

std::string rate(double gbps) {
  return std::to_string(static_cast<int>(gbps));
}

std::string wordsOf(const PortListing& l) {
  std::string out(name(l.tool));
  if (!l.host.empty()) out += " on " + l.host;
  if (!l.complete) out += " cut";
  if (l.noDevices) out += " none";
  if (l.panic) out += " panic";
  for (std::size_t i = 0; i < l.devices.size(); ++i) {
    const RdmaDevice& d = l.devices[i];
    out += "; " + (d.name.empty() ? std::string("?") : d.name);
    if (!l.hardware[i].model.empty()) out += "(" + l.hardware[i].model + ")";
    for (const RdmaPort& p : d.ports) {
      out += " " + std::to_string(p.number) + ":" + std::string(name(p.state)) + "/" +
             std::string(name(p.physState));
      if (p.rateGbps > 0) out += " " + rate(p.rateGbps);
      if (!p.linkLayerText.empty()) out += " " + p.linkLayerText;
      if (!p.netdev.empty()) out += " " + p.netdev;
    }
    for (const engine::ListedGid& g : l.hardware[i].gids)
      out += " gid" + std::to_string(g.port) + "/" + std::to_string(g.index) + "v" +
             std::to_string(g.roceVersion) + "=" + g.gid;
  }
  return out;
}

/// A line for each listing.
std::string listed(std::string_view text) {
  std::string out;
  for (const PortListing& l : listingsOf(text)) out += wordsOf(l) + "\n";
  return out;
}

constexpr std::string_view kIbstat = R"(CA 'mlx5_0'
	CA type: MT4129
	Number of ports: 1
	Firmware version: 28.39.1002
	Hardware version: 0
	Node GUID: 0xb83fd20300a1b2c4
	System image GUID: 0xb83fd20300a1b2c4
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Base lid: 7
		LMC: 0
		SM lid: 1
		Capability mask: 0xa651e848
		Port GUID: 0xb83fd20300a1b2c4
		Link layer: InfiniBand
CA 'mlx5_1'
	CA type: MT4125
	Number of ports: 1
	Port 1:
		State: Down
		Physical state: Polling
		Rate: 40
		Base lid: 0
		SM lid: 0
		Link layer: Ethernet
)";

constexpr std::string_view kDevinfo = R"(hca_id:	mlx5_2
	transport:			InfiniBand (0)
	fw_ver:				28.39.1002
	node_guid:			b83f:d203:00a1:b2c4
	sys_image_guid:			b83f:d203:00a1:b2c4
	vendor_id:			0x02c9
	vendor_part_id:			4129
	hw_ver:				0x0
	board_id:			MT_0000000838
	phys_port_cnt:			1
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		4096 (5)
			sm_lid:			0
			port_lid:		0
			port_lmc:		0x00
			link_layer:		Ethernet

)";

constexpr std::string_view kVerbose = R"(hca_id:	mlx5_2
	transport:			InfiniBand (0)
	fw_ver:				28.39.1002
	vendor_part_id:			4129
	phys_port_cnt:			1
	max_mr_size:			0xffffffffffffffff
	page_size_cap:			0xfffffffffffff000
	device_cap_flags:		0xed721c36
					BAD_PKEY_CNTR
					BAD_QKEY_CNTR
					Unknown flags: 0xC8400000
	max_qp:				131072
	num_comp_vectors:		63
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		4096 (5)
			sm_lid:			0
			port_lid:		0
			link_layer:		Ethernet
			max_msg_sz:		0x40000000
			gid_tbl_len:		255
			active_width:		4X (2)
			active_speed:		100.0 Gbps (128)
			phys_state:		LINK_UP (5)
			GID[  0]:		fe80:0000:0000:0000:ba3f:d2ff:fea1:b2c4, RoCE v1
			GID[  1]:		fe80::ba3f:d2ff:fea1:b2c4, RoCE v2
			GID[  3]:		::ffff:192.0.2.5, RoCE v2

)";

// --- each tool -----------------------------------------------------------------------------------

TEST(Ports, OfIbstatHaveStateRateAndLinkLayer) {
  EXPECT_EQ(listed(kIbstat),
            "ibstat; mlx5_0(MT4129) 1:ACTIVE/LinkUp 400 InfiniBand; "
            "mlx5_1(MT4125) 1:DOWN/Polling 40 Ethernet\n");
  EXPECT_EQ(listingsOf(kIbstat)[0].devices[1].ports[0].source, "ports.txt:22");
}

TEST(Ports, OfIbstatForOnePortAreTheSame) {
  EXPECT_EQ(listed("CA: 'mlx5_0'\nPort 1:\nState: Active\nPhysical state: LinkUp\nRate: 400\n"
                   "Base lid: 7\nLMC: 0\nSM lid: 1\nCapability mask: 0xa651e848\n"
                   "Port GUID: 0xb83fd20300a1b2c4\nLink layer: InfiniBand\n"),
            "ibstat; mlx5_0 1:ACTIVE/LinkUp 400 InfiniBand\n");
}

TEST(Ports, OfIbstatusHaveNumberedStates) {
  EXPECT_EQ(listed("Infiniband device 'mlx5_0' port 1 status:\n"
                   "\tdefault gid:\t fe80:0000:0000:0000:b83f:d203:00a1:b2c4\n"
                   "\tbase lid:\t 0x7\n\tsm lid:\t\t 0x1\n"
                   "\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
                   "\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t InfiniBand\n\n"
                   "Infiniband device 'mlx5_0' port 2 status:\n"
                   "\tstate:\t\t 1: DOWN\n\tphys state:\t 3: Disabled\n"
                   "\trate:\t\t 10 Gb/sec (4X SDR)\n\tlink_layer:\t InfiniBand\n\n"),
            "ibstatus; mlx5_0 1:ACTIVE/LinkUp 400 InfiniBand 2:DOWN/Disabled 10 InfiniBand\n");
}

TEST(Ports, OfIbvDevinfoHaveVerbsStates) {
  EXPECT_EQ(listed(kDevinfo), "ibv_devinfo; mlx5_2(MT4129) 1:ACTIVE/unknown Ethernet\n");
  EXPECT_EQ(listingsOf(kDevinfo)[0].hardware[0].zeroLidPort, 1);
}

TEST(Ports, OfIbvDevinfoVerboseHaveRateAndGids) {
  EXPECT_EQ(listed(kVerbose),
            "ibv_devinfo; mlx5_2(MT4129) 1:ACTIVE/LinkUp 400 Ethernet"
            " gid1/0v1=fe80:0000:0000:0000:ba3f:d2ff:fea1:b2c4"
            " gid1/1v2=fe80::ba3f:d2ff:fea1:b2c4"
            " gid1/3v2=::ffff:192.0.2.5\n");
}

TEST(Ports, OfAnIwarpDeviceAreNoRoce) {
  EXPECT_EQ(listed("hca_id:\tiwp8s0\n\ttransport:\t\t\tiWARP (1)\n\tphys_port_cnt:\t\t\t1\n"
                   "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
                   "\t\t\tlink_layer:\t\tEthernet\n"),
            "ibv_devinfo; iwp8s0 1:ACTIVE/unknown iWARP\n");
}

TEST(Ports, OfIbvDevicesAreNamesOnly) {
  EXPECT_EQ(listed("    device          \t   node GUID\n"
                   "    ------          \t----------------\n"
                   "    mlx5_0          \tb83fd20300a1b2c4\n"
                   "    mlx5_1          \tb83fd20300a1b2c5\n"),
            "ibv_devices; mlx5_0; mlx5_1\n");
  EXPECT_EQ(listed("    device          \t   node GUID\n"
                   "    ------          \t----------------\n"),
            "ibv_devices none\n");
}

TEST(Ports, OfRdmaLinkAreOneLineEach) {
  EXPECT_EQ(
      listed("link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 7 sm_lid 1 lmc 0 state ACTIVE "
             "physical_state LINK_UP\n"
             "link mlx5_1/1 state DOWN physical_state DISABLED netdev eth2 \n"),
      "rdma link; mlx5_0 1:ACTIVE/LinkUp InfiniBand; mlx5_1 1:DOWN/Disabled Ethernet eth2\n");
  // Older iproute2.
  EXPECT_EQ(listed("0/1: mlx5_0/1: state ACTIVE physical_state LINK_UP netdev eth2 \n"),
            "rdma link; mlx5_0 1:ACTIVE/LinkUp Ethernet eth2\n");
}

TEST(Ports, OfRdmaLinkInJsonAreTheSame) {
  EXPECT_EQ(listed(R"([{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE",)"
                   R"("physical_state":"LINK_UP","netdev":"eth2","netdev_index":4}])"
                   "\n"),
            "rdma link; mlx5_0 1:ACTIVE/LinkUp Ethernet eth2\n");
}

TEST(Ports, OfRdmaDevAreNamesOnly) {
  EXPECT_EQ(listed("0: mlx5_0: node_type ca fw 28.39.1002 node_guid b83f:d203:00a1:b2c4 "
                   "sys_image_guid b83f:d203:00a1:b2c4 \n"
                   "1: rxe0: node_type ca node_guid 0242:acff:fe11:0002 sys_image_guid "
                   "0242:acff:fe11:0002 \n"),
            "rdma dev; mlx5_0; rxe0\n");
}

TEST(Ports, OfIbdev2netdevHaveTheStateOnlyWithV) {
  EXPECT_EQ(listed("mlx5_0 port 1 ==> ibs0 (Up)\nmlx5_1 port 1 ==> eth2 (Down)\n"),
            "ibdev2netdev; mlx5_0 1:unknown/unknown ibs0; mlx5_1 1:unknown/unknown eth2\n");
  EXPECT_EQ(listed("0000:19:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 fw "
                   "28.39.1002 port 1 (ACTIVE) ==> ibs0 (Up)\n"),
            "ibdev2netdev; mlx5_0(MT4129) 1:ACTIVE/unknown ibs0\n");
}

TEST(Ports, OfShowGidsHaveTheirTable) {
  EXPECT_EQ(listed("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
                   "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
                   "mlx5_0\t1\t0\tfe80:0000:0000:0000:ba3f:d2ff:fea1:b2c4\t\t\tv1\teth2\n"
                   "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:c000:0205\t192.0.2.5  \tv2\teth2\n"
                   "n_gids_found=2\n"),
            "show_gids; mlx5_0 gid1/0v1=fe80:0000:0000:0000:ba3f:d2ff:fea1:b2c4"
            " gid1/3v2=0000:0000:0000:0000:0000:ffff:c000:0205\n");
}

TEST(Ports, AreNoneWhereTheToolFindsNoDevice) {
  EXPECT_EQ(listed("No IB devices found\n"), "ibv_devinfo none\n");
  EXPECT_EQ(listed("$ ibv_devinfo\nFailed to get IB devices list: Function not implemented\n"),
            "ibv_devinfo none\n");
}

// --- cut, moved, mixed ---------------------------------------------------------------------------

TEST(Ports, CutAtTheEndAreIncomplete) {
  const std::string text(kIbstat);
  // Behind the first device nothing shows that more follows.
  const std::size_t second = text.find("CA 'mlx5_1'");
  const std::size_t state = text.find("State: Down");
  for (std::size_t n = second + 12; n < state; ++n)
    EXPECT_NE(listed(text.substr(0, n)).find(" cut"), std::string::npos) << n;
  EXPECT_EQ(listed(text).find(" cut"), std::string::npos);
}

TEST(Ports, CutAtTheBeginningHaveADeviceWithoutAName) {
  const std::string text(kIbstat);
  const std::string rest = text.substr(text.find("\tPort 1:"));
  EXPECT_EQ(listed(rest),
            "ibstat cut; ? 1:ACTIVE/LinkUp 400 InfiniBand; "
            "mlx5_1(MT4125) 1:DOWN/Polling 40 Ethernet\n");
  EXPECT_FALSE(listingsOf(rest)[0].hardware[0].named);
}

TEST(Ports, WithAnElisionAreIncomplete) {
  std::string text(kIbstat);
  text.insert(text.find("CA 'mlx5_1'"), "...\n");
  EXPECT_EQ(listed(text).substr(0, 10), "ibstat cut");
}

TEST(Ports, OfAToolThatDiedAreIncomplete) {
  EXPECT_EQ(listed(std::string(kIbstat) +
                   "ibpanic: [90211] main: stat of IB device 'mlx5_2' failed: No such file or "
                   "directory\n")
                .substr(0, 16),
            "ibstat cut panic");
}

TEST(Ports, OfTwoRunsAreTwoListings) {
  const std::string twice = std::string(kDevinfo) + std::string(kDevinfo);
  EXPECT_EQ(listingsOf(twice).size(), 2U);
  EXPECT_EQ(listingsOf(std::string(kIbstat) + std::string(kDevinfo)).size(), 2U);
}

TEST(Ports, BehindPdshTagsBelongToTheirHost) {
  std::string text;
  for (std::string_view rest = kIbstat; !rest.empty();) {
    const auto end = rest.find('\n');
    for (const std::string_view host : {"node-1", "node-2"})
      text += std::string(host) + ": " + std::string(rest.substr(0, end)) + "\n";
    rest.remove_prefix(end + 1);
  }
  // Line by line from both, as pdsh mixes them.
  const std::string ports =
      "; mlx5_0(MT4129) 1:ACTIVE/LinkUp 400 InfiniBand; "
      "mlx5_1(MT4125) 1:DOWN/Polling 40 Ethernet\n";
  EXPECT_EQ(listed(text), "ibstat on node-1" + ports + "ibstat on node-2" + ports);
}

TEST(Ports, OfAPromptHaveItsHost) {
  EXPECT_EQ(listed("root@node-3:~# ibstat\n" + std::string(kIbstat)).substr(0, 16),
            "ibstat on node-3");
}

TEST(Ports, WithLogLinesBetweenAreStillOne) {
  std::string text(kIbstat);
  text.insert(text.find("\t\tRate: 400"),
              "na:71:80 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.2<0>\n");
  const JobFacts f = readText(text, "ports.txt").facts;
  ASSERT_EQ(f.ports.listings.size(), 1U);
  EXPECT_EQ(wordsOf(f.ports.listings[0]) + "\n", listed(kIbstat));
  EXPECT_EQ(f.log.processes.size(), 1U);
}

TEST(Ports, LeaveOtherKindsAlone) {
  const JobFacts f = readText(std::string(kIbstat) + "NCCL_IB_HCA=mlx5_0\n" +
                                  "[Wed Mar  4 10:00:00 2026] NVRM: Xid (PCI:0000:1b:00): 79, "
                                  "pid=9, GPU has fallen off\n",
                              "ports.txt")
                         .facts;
  EXPECT_EQ(f.ports.listings.size(), 1U);
  EXPECT_EQ(f.settings.size(), 1U);
  EXPECT_EQ(f.run.events.size(), 1U);
}

TEST(Ports, AreNotMadeOfProseAndYaml) {
  EXPECT_EQ(listed("state: running\nrate: 5\nport: 8080\n"), "");
  EXPECT_EQ(listed("The link went down. State: unknown to me.\n"), "");
  EXPECT_EQ(listed("Port 8080: already in use\n").find("ACTIVE"), std::string::npos);
}

// --- any bytes -----------------------------------------------------------------------------------

TEST(Ports, OfNonsenseComeBack) {
  std::string bytes;
  unsigned state = 99;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525U + 1013904223U;
    bytes += static_cast<char>(state >> 24);
  }
  EXPECT_EQ(listed("CA 'x'\n" + bytes + "\n").substr(0, 10), "ibstat cut");
  // Numbers past any device's.
  EXPECT_NE(listed("CA 'x'\n\tNumber of ports: 99999999999999999999\n\tPort "
                   "99999999999999999999:\n\t\tState: Active\n\t\tRate: 1e999\n"),
            "");
  EXPECT_NE(listed("hca_id:\tx\n\t\tport:\t1\n\t\t\tGID[-1]:\tz\n\t\t\tGID[99999999]:\tz\n"), "");
}

TEST(Ports, ManyDevicesStayBounded) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "CA 'd" + std::to_string(i) + "'\n";
  const auto listings = listingsOf(text);
  ASSERT_EQ(listings.size(), 1U);
  EXPECT_LE(listings[0].devices.size(), 4096U);
  EXPECT_FALSE(listings[0].complete);
}

}  // namespace
}  // namespace rdmaguard::readers
