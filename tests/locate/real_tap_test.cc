// The tap on real NCCL releases: their own net functions, called through the tapped structs as NCCL
// calls them. This machine needs neither a GPU nor an HCA: init, devices, getProperties and listen
// run without; connections and bytes are tested in the Soft-RoCE guest.
#include <gtest/gtest.h>

#include <cctype>

#include "child.h"

namespace {

/// The lines that NCCL's functions themselves produced, in order: all of an untapped run.
std::string ncclsOwnLines(const ChildOutput& child) {
  std::string lines;
  std::istringstream in(child.text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("IB.", 0) == 0 || line.rfind("Socket.", 0) == 0) lines += line + "\n";
  }
  return lines;
}

class RealTap : public testing::TestWithParam<NcclRelease> {};

TEST_P(RealTap, LeavesEveryAnswerOfNcclAsItWas) {
  const ChildOutput plain = runChild({"call", GetParam().path});
  const ChildOutput tapped = runChild({"tap", GetParam().path});
  EXPECT_EQ(plain.status, 0) << plain.text;
  EXPECT_EQ(tapped.status, 0) << tapped.text;
  EXPECT_NE(plain.text.find("Socket.device 0 0 "), std::string::npos) << plain.text;
  EXPECT_EQ(ncclsOwnLines(plain), ncclsOwnLines(tapped));
}

TEST_P(RealTap, IsPutInOnceAndKeepsNullSlotsNull) {
  const ChildOutput child = runChild({"tap", GetParam().path});
  EXPECT_EQ(child.of("installed"), "1 0") << child.text;
  EXPECT_EQ(child.of("found"), "1") << "a tapped NCCL is found again by the next init";
  EXPECT_EQ(child.of("again"), "1 1");
  EXPECT_EQ(child.of("pattern"), "1");
}

TEST_P(RealTap, RecordsInitDevicesPropertiesAndListen) {
  const ChildOutput child = runChild({"tap", GetParam().path});
  std::istringstream devices(child.of("Socket.devices"));
  int result = -1;
  int count = 0;
  devices >> result >> count;
  ASSERT_EQ(result, 0) << child.text;
  ASSERT_GE(count, 1) << "Socket finds no interface here";
  const std::string n = std::to_string(count);
  EXPECT_EQ(child.of("before"), "ib=-1 socket=-1");
  EXPECT_EQ(child.of("tap.Socket.calls"), "init=1 devices=1 getProperties=" + n + " listen=1");
  EXPECT_EQ(child.of("tap.Socket.lastDevices"), n);
  EXPECT_EQ(child.of("tap.Socket.used"), "1");
  EXPECT_EQ(child.of("open"), "Socket listen 0");
  EXPECT_NE(child.of("after").find(" socket=" + n + " list=" + n), std::string::npos) << child.text;
  EXPECT_EQ(child.values.count("tap.Socket.seen"), static_cast<std::size_t>(count));
  // "Socket.device 0 0 eth0 ..." by NCCL, "tap.Socket.seen 0 eth0 ... opened=1 open=0" by the tap.
  const std::string told = child.values.find("Socket.device")->second;
  const std::string seen = child.values.find("tap.Socket.seen")->second;
  EXPECT_EQ(seen, "0 " + told.substr(4) + " opened=1 open=0");
  EXPECT_EQ(child.of("Socket.closeListen"), "0");
}

TEST_P(RealTap, TellsWhatTheInternalIbFound) {
  const ChildOutput child = runChild({"tap", GetParam().path});
  std::istringstream devices(child.of("IB.devices"));
  int result = -1;
  int count = -7;
  devices >> result >> count;
  ASSERT_EQ(result, 0) << child.text;
  EXPECT_EQ(child.of("tap.IB.lastDevices"), std::to_string(count));
  EXPECT_NE(child.of("after").find("ib=" + std::to_string(count) + " "), std::string::npos);
  EXPECT_EQ(child.of("tap.IB.used"), count > 0 ? "1" : "0");
}

INSTANTIATE_TEST_SUITE_P(Releases, RealTap, testing::ValuesIn(ncclReleases()),
                         [](const testing::TestParamInfo<NcclRelease>& info) {
                           std::string name = info.param.version;
                           for (char& c : name) c = std::isalnum(c) ? c : '_';
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealTap);

TEST(TwoNccls, AreTappedSideBySide) {
  const auto releases = ncclReleases();
  ASSERT_GE(releases.size(), 2u);
  const auto& oldest = releases.front();
  const auto& newest = releases.back();
  const ChildOutput child = runChild({"tapboth", oldest.path, newest.path});
  EXPECT_EQ(child.of("one"), "1 0") << child.text;
  EXPECT_EQ(child.of("two"), "1 1");
  EXPECT_NE(child.text.find("instance " + oldest.version), std::string::npos);
  EXPECT_NE(child.text.find("instance " + newest.version), std::string::npos);
}

}  // namespace
