// What --listen and --peer take and print.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "verifier/cli/command.h"
#include "verifier/cli/preflight_exchange.h"

namespace rdmaguard::cli {
namespace {

struct Split {
  bool fits;
  std::string host;
  int port;

  friend bool operator==(const Split&, const Split&) = default;
};

Split split(const std::string& peer) {
  Split out{false, "", nccl::kExchangePort};
  out.fits = splitPeer(peer, out.host, out.port);
  return out;
}

TEST(PeerOption, TakesNamesAddressesAndPorts) {
  EXPECT_EQ(split("node7"), (Split{true, "node7", nccl::kExchangePort}));
  EXPECT_EQ(split("node7.example:1234"), (Split{true, "node7.example", 1234}));
  EXPECT_EQ(split("10.0.0.1:65535"), (Split{true, "10.0.0.1", 65535}));
  EXPECT_EQ(split("fe80::1%eth0"), (Split{true, "fe80::1%eth0", nccl::kExchangePort}));
  EXPECT_EQ(split("[2001:db8::1]:77"), (Split{true, "2001:db8::1", 77}));
  EXPECT_EQ(split("[2001:db8::1]"), (Split{true, "2001:db8::1", nccl::kExchangePort}));
  for (const char* wrong :
       {"", ":77", "a:", "a:x", "a:0", "a:65536", "a:1x", "[::1", "[]:1", "[::1]7"})
    EXPECT_FALSE(split(wrong).fits) << wrong;
}

struct Parsed {
  ExchangeOptions options;
  int error = 0;
};

Parsed parsed(std::vector<std::string> arguments) {
  Parsed out;
  CLI::App app;
  addExchangeOptions(app, out.options);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::Error& e) {
    out.error = e.get_exit_code();
  }
  return out;
}

TEST(ExchangeOptions, ListenTakesAPortOrNone) {
  EXPECT_FALSE(parsed({}).options.asked());
  EXPECT_TRUE(parsed({"--listen"}).options.listens);
  EXPECT_EQ(parsed({"--listen"}).options.port, nccl::kExchangePort);
  EXPECT_EQ(parsed({"--listen", "1234"}).options.port, 1234);
  EXPECT_EQ(parsed({"--listen", "--hca", "mlx5_0"}).options.hca, "mlx5_0");
  for (const char* wrong : {"x", "-1", "65536", "12x"})
    EXPECT_NE(parsed({"--listen", wrong}).error, 0) << wrong;
  EXPECT_NE(parsed({"--listen", "--peer", "b"}).error, 0);
}

TEST(ExchangeOptions, BytesTakeAUnit) {
  EXPECT_EQ(parsed({"--peer", "b", "--bytes", "64K"}).options.bytes, 65536U);
  EXPECT_EQ(parsed({"--peer", "b", "--bytes", "4 MiB"}).options.bytes, 4U << 20);
  EXPECT_NE(parsed({"--peer", "b", "--bytes", "x"}).error, 0);
}

TEST(ExchangeOptions, WhatIsOutOfBoundsIsWrongUsage) {
  ExchangeOptions options;
  options.peer = "127.0.0.1:1";
  options.quiet = true;
  const auto with = [&](auto change) {
    ExchangeOptions other = options;
    change(other);
    return exchange(other);
  };
  EXPECT_EQ(with([](auto& o) { o.peer = "a:b"; }), kUsage);
  EXPECT_EQ(with([](auto& o) { o.bytes = 0; }), kUsage);
  EXPECT_EQ(with([](auto& o) { o.bytes = (std::uint64_t{64} << 20) + 1; }), kUsage);
  EXPECT_EQ(with([](auto& o) { o.seconds = -1; }), kUsage);
  EXPECT_EQ(with([](auto& o) { o.timeout = 0; }), kUsage);
  EXPECT_EQ(with([](auto& o) { o.timeout = std::numeric_limits<double>::quiet_NaN(); }), kUsage);
}

nccl::HcaResult rightHca(const std::string& name) {
  nccl::HcaResult r;
  r.name = r.peerName = name;
  r.port = r.peerPort = 1;
  r.lineRateGbps = 400;
  r.bandwidthGbps = 388;
  r.latencyUs = 2.25;
  r.sentBytes = 48'500'000'000;
  r.receivedBytes = 17'000'000;
  r.verified = true;
  return r;
}

nccl::HcaResult failedHca(const std::string& name) {
  nccl::HcaResult r;
  r.name = name;
  r.port = 1;
  r.failure = "It failed.\x1b[2J";
  return r;
}

nccl::ExchangeRun runOf(std::vector<nccl::HcaResult> hcas) {
  nccl::ExchangeRun run;
  run.outcome = nccl::ExchangeRun::Outcome::Done;
  run.versionText = "2.27.7";
  run.host = "a";
  run.peerHost = "b";
  run.hcas = std::move(hcas);
  return run;
}

TEST(ExchangeText, HasALineForEachHcaBesideItsLineRate) {
  EXPECT_EQ(
      exchangeText(runOf({rightHca("mlx5_0"), failedHca("mlx5_1")})),
      "NCCL 2.27.7 on a and b: messages of 1048576 bytes through its IB transport, host "
      "memory\n"
      "  mlx5_0:1     with mlx5_0:1     388.00 Gb/s (97 % of the line's 400), latency 2.2 us, "
      "48.5 GB sent and 17.0 MB received, all right\n"
      "  mlx5_1:1     with none         FAILED: It failed.?[2J\n"
      "1 of 2 HCAs moved the right bytes.\n");
}

TEST(ExchangeText, SaysNothingWhereNoHcaWasTried) {
  EXPECT_EQ(exchangeText(runOf({})), "");
}

TEST(ExchangeJson, HasNullForWhatIsNotKnown) {
  const auto json =
      nlohmann::json::parse(exchangeJson(runOf({rightHca("mlx5_0"), failedHca("mlx5_1")})));
  EXPECT_EQ(json["outcome"], "done");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_TRUE(json["failure"].is_null());
  const auto& right = json["hcas"][0];
  EXPECT_EQ(right["name"], "mlx5_0");
  EXPECT_EQ(right["port"], 1);
  EXPECT_EQ(right["line_rate_gbps"], 400);
  EXPECT_EQ(right["bandwidth_gbps"], 388);
  EXPECT_EQ(right["latency_us"], 2.25);
  EXPECT_EQ(right["bytes"], 48'517'000'000);
  EXPECT_EQ(right["verified"], true);
  EXPECT_TRUE(right["failure"].is_null());
  const auto& failed = json["hcas"][1];
  EXPECT_TRUE(failed["peer_name"].is_null());
  EXPECT_TRUE(failed["bandwidth_gbps"].is_null());
  EXPECT_EQ(failed["verified"], false);
}

TEST(ExchangeExitCode, FollowsFromTheHcasAndTheOutcome) {
  EXPECT_EQ(exchangeExitCode(runOf({rightHca("a"), rightHca("b")})), 0);
  EXPECT_EQ(exchangeExitCode(runOf({rightHca("a"), failedHca("b")})), 1);
  EXPECT_EQ(exchangeExitCode(runOf({failedHca("a")})), 2);
  EXPECT_EQ(exchangeExitCode(runOf({})), 2);
  auto run = runOf({rightHca("a")});
  run.outcome = nccl::ExchangeRun::Outcome::Failed;
  EXPECT_EQ(exchangeExitCode(run), 2);
  run.outcome = nccl::ExchangeRun::Outcome::CannotTell;
  EXPECT_EQ(exchangeExitCode(run), 3);
}

}  // namespace
}  // namespace rdmaguard::cli
