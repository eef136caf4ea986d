// `rdmaguard preflight`: exit codes, the report, nodes read from trees, the spec beside the node.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/shell.h"
#include "tests/cli/verify_inputs.h"
#include "tests/probe/tree_file.h"

namespace rdmaguard::cli::test {
namespace {

using rdmaguard::test::TreeFile;

/// The command on a tree, by a shell that has none of this machine's NCCL_ variables.
ShellResult preflight(const TreeFile& tree, const std::string& more = "",
                      const std::string& variables = "") {
  return shell("unset ${!NCCL_@}; " + variables + " $RDMAGUARD preflight --root " + tree.at("/") +
               " " + more);
}

nlohmann::json parsed(const ShellResult& r) {
  auto json = nlohmann::json::parse(r.out, nullptr, false);
  return json.is_object() ? json : nlohmann::json{{"not_json", r.out}, {"err", r.err}};
}

struct Tree {
  const char* name;
  const char* transport;
  int exitCode;
  const char* firstMissing;  ///< null: nothing is missing
  std::size_t devices;
};

constexpr Tree kTrees[] = {
    {"h100", "IB", 0, nullptr, 8},
    {"gb300", "RoCE", 1, nullptr, 16},   // RoCE v1 GIDs
    {"vf_pod", "RoCE", 1, nullptr, 10},  // a small /dev/shm
    {"soft_roce", "RoCE", 1, nullptr, 1},
    {"efa", "Socket", 2, "efa-needs-plugin", 4},
    {"laptop", "Socket", 2, "libibverbs-missing", 0},
};

TEST(Preflight, KindsOfNodesHaveTheirTransportExitCodeAndFirstMissingCondition) {
  for (const Tree& t : kTrees) {
    const TreeFile tree(t.name);
    const auto r = preflight(tree, "--json");
    auto json = parsed(r);
    EXPECT_EQ(r.exitCode, t.exitCode) << t.name << json.dump(1);
    EXPECT_EQ(json["exit_code"], t.exitCode) << t.name;
    EXPECT_EQ(json["transport"], t.transport) << t.name;
    EXPECT_EQ(json["node"]["rdma_devices"].size(), t.devices) << t.name;
    EXPECT_FALSE(json.contains("nccl")) << t.name << ": it was not asked";
    if (t.firstMissing == nullptr)
      EXPECT_TRUE(json["missing_conditions"].empty()) << t.name << json["missing_conditions"];
    else
      EXPECT_EQ(json["missing_conditions"][0]["id"], t.firstMissing) << t.name;
  }
}

TEST(Preflight, TheTextSaysTheSameAndShowsEveryPort) {
  const TreeFile tree("h100");
  const auto r = preflight(tree);
  EXPECT_EQ(r.exitCode, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out.substr(0, r.out.find('(')),
            "NCCL should run a job of several nodes over InfiniBand ");
  for (const char* part :
       {"\nThis node\n", "gpu-07", "mlx5_0:1 ACTIVE", "mlx5_7:1 ACTIVE", "preflight --nccl auto"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
}

TEST(Preflight, TheEnvironmentOfTheJobCounts) {
  const TreeFile tree("h100");
  const auto off = preflight(tree, "--json", "NCCL_IB_DISABLE=1");
  EXPECT_EQ(off.exitCode, 2);
  EXPECT_EQ(parsed(off)["missing_conditions"][0]["id"], "ib-disabled-by-env");
  const auto filtered = preflight(tree, "--json", "NCCL_IB_HCA=mlx4");
  EXPECT_EQ(filtered.exitCode, 2);
  EXPECT_EQ(parsed(filtered)["missing_conditions"][0]["id"], "hca-filter-matches-nothing");
  EXPECT_EQ(preflight(tree, "", "NCCL_IB_HCA==mlx5_0,mlx5_1").exitCode, 0);
}

TEST(Preflight, SoDoesTheConfFileOfTheNode) {
  TreeFile tree("h100");
  tree.add("/etc/nccl.conf = NCCL_IB_DISABLE=1");
  const auto r = preflight(tree);
  EXPECT_EQ(r.exitCode, 2);
  EXPECT_NE(r.out.find("/etc/nccl.conf:1"), std::string::npos) << r.out;
}

TEST(Preflight, ARequirementThatIsNotMetIsTwo) {
  const TreeFile tree("h100");
  EXPECT_EQ(preflight(tree, "--require ib").exitCode, 0);
  const auto r = preflight(tree, "--require roce");
  EXPECT_EQ(r.exitCode, 2);
  EXPECT_NE(r.out.find("requirement"), std::string::npos) << r.out;
}

TEST(Preflight, WrongUsageIs64AndSaysWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--require tcp", "--require tcp"},
      {"--root /no/such/folder", "/no/such/folder"},
      {"--root /etc/passwd", "/etc/passwd"},
      {"--root /tmp --nccl auto", "--root"},
      {"--listen --peer host", "--peer"},
      {"--listen port", "port"},
      {"--listen 65536", "65536"},
      {"--listen --root /tmp", "--root"},
      {"--listen --watch 1", "--watch"},
      {"--listen --pod x", "--pod"},
      {"--peer :18520", "--peer"},
      {"--peer host:port", "host:port"},
      {"--peer host --bytes 0", "--bytes"},
      {"--peer host --seconds -1", "--seconds"},
      {"--peer host --timeout nan", "--timeout"},
      {"--watch -1", "--watch"},
      {"--watch nan", "--watch"},
      {"--watch soon", "--watch"},
      {"--limit 0", "--limit"},
      {"--limit 601", "--limit"},
      {"extra", "extra"},
  };
  for (const auto& [options, part] : wrong) {
    const auto r = shell(std::string("$RDMAGUARD preflight ") + options);
    EXPECT_EQ(r.exitCode, 64) << options << "\n" << r.out << r.err;
    EXPECT_EQ(r.out, "") << options;
    EXPECT_NE(r.err.find(part), std::string::npos) << options << "\n" << r.err;
  }
}

TEST(Preflight, QuietPrintsNothingAtAll) {
  const TreeFile tree("laptop");
  for (const char* more : {"-q", "-q --json", "-q --pod /no/such/file"}) {
    const auto r = preflight(tree, more);
    EXPECT_EQ(r.out + r.err, "") << more;
  }
  EXPECT_EQ(preflight(tree, "-q").exitCode, 2);
}

std::string without(std::string text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

/// kPod with this NCCL_IB_HCA.
std::string podWithHca(const std::string& hca) {
  std::string pod = kPod;
  return pod.replace(pod.find("value: ibp"), 10, "value: " + hca);
}

/// A pod on a node of eight HCAs called mlx5_0 to mlx5_7.
ShellResult withPod(const std::string& pod) {
  const TreeFile tree("h100");
  const std::string file = tree.at("/pod.yaml");
  return shell(write(file, pod) + "unset ${!NCCL_@}; $RDMAGUARD preflight --json --root " +
               tree.at("/") + " --pod " + file);
}

TEST(Preflight, APodThatLacksTheResourceIsTwoThoughTheNodeIsHealthy) {
  const auto r = withPod(without(podWithHca("mlx5"), ", rdma/ib: 1"));
  auto json = parsed(r);
  EXPECT_EQ(r.exitCode, 2) << json["verdict"];
  EXPECT_EQ(json["transport"], "IB") << "the node's own";
  EXPECT_EQ(json["missing_conditions"][0]["id"], "rdma-resource-absent");
  EXPECT_NE(json["verdict"].get<std::string>().find(" The spec: "), std::string::npos);
  EXPECT_EQ(withPod(podWithHca("mlx5")).exitCode, 0);
}

TEST(Preflight, ThePodsFilterIsHeldAgainstTheDevicesOfTheNode) {
  EXPECT_EQ(parsed(withPod(podWithHca("mlx5")))["missing_conditions"].size(), 0U);
  auto json = parsed(withPod(podWithHca("ibp")));
  EXPECT_EQ(json["missing_conditions"][0]["id"], "nccl-ib-hca-matches-nothing");
  EXPECT_EQ(json["exit_code"], 1) << json["verdict"];
  EXPECT_EQ(json["fix"][0].get<std::string>().find("Set NCCL_IB_HCA=mlx5,"), 0U) << json["fix"];
}

TEST(Preflight, ASpecThatCannotBeReadIs66) {
  const TreeFile tree("h100");
  const auto missing = preflight(tree, "--pod /no/such/pod.yaml");
  EXPECT_EQ(missing.exitCode, 66) << missing.out;
  EXPECT_NE(missing.err.find("/no/such/pod.yaml"), std::string::npos) << missing.err;
  EXPECT_EQ(missing.out, "");
  const auto noSpec = preflight(tree, "--pod /etc/hosts");
  EXPECT_EQ(noSpec.exitCode, 66) << noSpec.out;
  EXPECT_NE(noSpec.err.find("no pod or batch script"), std::string::npos) << noSpec.err;
}

TEST(Preflight, AReaderThatGoesAwayIsNoFailure) {
  const TreeFile tree("gb300");
  const auto r = preflight(tree, "--json | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(r.exitCode, 1) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(preflight(tree, ">/dev/full").exitCode, 74);
}

TEST(Preflight, ALibraryThatIsNoNcclIsNamedAndTheFactsAnswer) {
  for (const char* file : {"/bin/ls", "/etc/passwd", "/no/such/libnccl.so.2"}) {
    const auto plain = shell("$RDMAGUARD preflight --json");
    const auto r = shell(std::string("$RDMAGUARD preflight --json --nccl ") + file);
    auto json = parsed(r);
    EXPECT_EQ(r.exitCode, plain.exitCode) << file << r.err;
    EXPECT_NE(json["nccl"]["outcome"], "done") << file;
    EXPECT_FALSE(json["nccl"]["failure"].get<std::string>().empty()) << file;
    EXPECT_EQ(json["transport"], parsed(plain)["transport"]) << file;
    const auto text = shell(std::string("$RDMAGUARD preflight --nccl ") + file);
    EXPECT_NE(text.out.find("The real NCCL"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find(file), std::string::npos) << text.out;
  }
}

TEST(Preflight, CountersAreWatchedAsLongAsAsked) {
  TreeFile tree("h100");
  const std::string counter = tree.at("/sys/class/infiniband/mlx5_3/ports/1/counters/symbol_error");
  const auto r = preflight(tree, "--watch 1 & sleep 0.4; echo 4711 >" + counter + "; wait $!");
  EXPECT_NE(r.out.find("mlx5_3:1 symbol_error grew by"), std::string::npos) << r.out << r.err;
}

TEST(Preflight, TheSameNodeGivesTheSameBytes) {
  const TreeFile tree("gb300");
  for (const char* form : {"", "--json"})
    EXPECT_EQ(preflight(tree, form).out, preflight(tree, form).out);
}

TEST(Preflight, ANodeOfSixteenDevicesTakesLessThanTwoSeconds) {
  const TreeFile tree("gb300");
  const auto r = preflight(tree, ">/dev/null; echo $SECONDS");
  EXPECT_LE(std::stoi(r.out), 2) << r.out;
}

TEST(Preflight, HelpNamesEveryExitCode) {
  const auto r = shell("$RDMAGUARD preflight --help");
  EXPECT_EQ(r.exitCode, 0);
  for (const char* part :
       {"\n   0  ", "\n   1  ", "\n   2  ", "\n   3  ", "\n  64  ", "\n  66  ", "\n  74  ",
        "--nccl", "--listen", "--peer", "--pod", "--watch", "Examples:"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace rdmaguard::cli::test
